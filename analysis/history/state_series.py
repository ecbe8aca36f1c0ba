"""A series of a state as plain data, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.labels import SECONDS_A_DAY
from hindmost.analysis.history.merging import KeptSeries, frozen
from hindmost.analysis.history.records import NightlySeries, SeriesName
from hindmost.analysis.history.state_fields import FIRST_TIME, LAST_TIME, Fields
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.events import KINDS, Verdict

LARGEST = float(np.finfo(float).max)
NEEDED = (
    *("machine", "case", "timer", "unit", "smaller_is_better"),
    *("times", "values", "commits", "spread", "verdicts", "log"),
)
OF_VERDICT = ("index", "interval", "effect", "effect_interval", "confirmed", "since")
OF_EVENT = ("kind", "at", "time", "index", "effect", "was", "reason")

Commits = tuple[str, Mapping[str, str]]
"""What was measured, in words and by repository."""


class CommitTable:
    """Commits that were measured, each once, by number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._known: dict[int, int] = {}
        # As long as they are kept, no other mapping has the same id.
        self._kept: list[Mapping[str, str]] = []

    def numbers(self, texts: Sequence[str], parts: Sequence[Mapping[str, str]]) -> list[int]:
        """Return the numbers of the commits of a series; many observations share one mapping."""
        known = self._known
        for text, each in zip(texts, parts, strict=True):
            if id(each) not in known:
                key = (text, tuple(each.items()))
                known[id(each)] = self._numbers.setdefault(key, len(self._numbers))
                self._kept.append(each)
        return [known[id(each)] for each in parts]

    def records(self) -> list[dict[str, Any]]:
        """Return them as plain data, in the order of their numbers."""
        return [{"text": text, "parts": dict(parts)} for text, parts in self._numbers]


def commits_from(records: Sequence[Any], path: Path) -> list[Commits]:
    """Read what `CommitTable.records` wrote.

    Raises
    ------
    DamagedFileError
        It is not what was written.
    """
    found: list[Commits] = []
    for at, record in enumerate(records):
        fields = Fields(record, path, f"commits[{at}]", ("text", "parts"))
        found.append((fields.text("text"), fields.texts("parts")))
    return found


def kept_to(kept: KeptSeries, table: CommitTable) -> dict[str, Any]:
    """Return a series as plain data; its commits go into a table that all series share."""
    series = kept.series
    return {
        "machine": series.name.machine,
        "case": series.name.case,
        "timer": series.name.timer,
        "unit": series.unit,
        "smaller_is_better": series.smaller_is_better,
        "times": series.times.tolist(),
        "values": series.values.tolist(),
        "commits": table.numbers(series.commits, series.commit_parts),
        "spread": None if series.spread is None else unknown_as_none(series.spread),
        **({} if series.freedom is None else {"freedom": unknown_as_none(series.freedom)}),
        "verdicts": [verdict.to_json() for verdict in kept.verdicts],
        "log": [event.to_json() for event in kept.log],
    }


def unknown_as_none(array: NDArray[np.float64]) -> list[float | None]:
    """Return numbers as JSON has them."""
    return [each if math.isfinite(each) else None for each in array.tolist()]


def kept_from(record: Any, table: Sequence[Commits], path: Path, place: str) -> KeptSeries:
    """Read what `kept_to` wrote.

    Parameters
    ----------
    record : Any
    table : sequence of Commits
    path, place
        For messages.

    Raises
    ------
    DamagedFileError
        It is not what was written.
    """
    fields = Fields(record, path, place, NEEDED, ("freedom",))
    times = fields.array("times")
    inside = (times >= FIRST_TIME) & (times <= LAST_TIME)
    fields.all_of("times", times, inside, "seconds since 1970 of a year from 1 to 9999")
    rises = np.append(True, np.diff(times) >= 0.0)
    fields.all_of("times", times, rises, "no earlier than the one before")
    size = times.size
    values = fields.array("values", size)
    fields.all_of("values", values, values > 0.0, "above zero")
    commits = [table[number] for number in numbers_of(fields, size, len(table))]
    series = NightlySeries(
        name=SeriesName(
            machine=fields.text("machine"), case=fields.text("case"), timer=fields.text("timer")
        ),
        unit=fields.text("unit"),
        smaller_is_better=fields.flag("smaller_is_better"),
        times=frozen(times),
        values=frozen(values),
        commits=tuple(text for text, _ in commits),
        commit_parts=tuple(parts for _, parts in commits),
        spread=maybe(fields, "spread", size, math.nan),
        freedom=maybe(fields, "freedom", size, math.inf),
    )
    return KeptSeries(
        series=series,
        verdicts=tuple(
            verdict_from(each, path, f"{place}.verdicts[{at}]", size)
            for at, each in enumerate(fields.items("verdicts"))
        ),
        log=tuple(
            event_from(each, path, f"{place}.log[{at}]", size)
            for at, each in enumerate(fields.items("log"))
        ),
    )


def numbers_of(fields: Fields, size: int, known: int) -> list[int]:
    """Return the numbers of commits of all observations."""
    numbers = fields.items("commits")
    if (
        len(numbers) != size
        or set(map(type, numbers)) != {int}
        or not 0 <= min(numbers) <= max(numbers) < known
    ):
        raise fields.wrong("commits", f"{size} whole numbers from 0 to {known - 1}")
    return numbers


def maybe(fields: Fields, key: str, size: int, unknown: float) -> NDArray[np.float64] | None:
    """Return an array that may be missing, and in which numbers may be."""
    if fields.record.get(key) is None:
        return None
    array = fields.array(key, size, gaps=True)
    fields.all_of(key, array, np.isnan(array) | (array >= 0.0), "0 or more, or null")
    array[np.isnan(array)] = unknown
    return frozen(array)


def verdict_from(record: Any, path: Path, place: str, size: int) -> Verdict:
    """Read a verdict on a series of so many observations."""
    fields = Fields(record, path, place, OF_VERDICT)
    return Verdict(
        index=fields.place_in("index", size),
        interval=fields.places_in("interval", size),
        effect=fields.number("effect", -1.0, LARGEST),
        effect_interval=fields.range("effect_interval", -1.0),
        confirmed=fields.flag("confirmed"),
        since=fields.place_in("since", size),
    )


def event_from(record: Any, path: Path, place: str, size: int) -> Event:
    """Read an entry of the log of a series of so many observations."""
    fields = Fields(record, path, place, OF_EVENT)
    return Event(
        kind=fields.choice("kind", KINDS),
        at=fields.place_in("at", size),
        time=fields.number("time", FIRST_TIME / SECONDS_A_DAY, LAST_TIME / SECONDS_A_DAY),
        index=fields.place_in("index", size),
        effect=fields.number("effect", -1.0, LARGEST),
        was=None if record["was"] is None else fields.place_in("was", size),
        reason=fields.text("reason"),
    )
