"""A series of a state as plain data, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.merging import KeptSeries, frozen
from hindmost.analysis.readers.history import FIRST_TIME, LAST_TIME, NightlySeries, SeriesName, Time
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.revisions import ReportedChange
from hindmost.records import RecordError, to_document


def check_all(key: str, array: NDArray[np.float64], good: NDArray[np.bool_], allowed: str) -> None:
    """Raise a RecordError about the first number of an array that is not what it may be."""
    if not good.all():
        at = int(np.argmin(good))
        raise RecordError(f"allowed: {allowed}", key, at, found=float(array[at]))


NumbersOrNull = list[Annotated[float, Meta(ge=0)] | None]
"""Null stands for a number that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """What was measured, in words and by repository."""

    text: str
    parts: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesRecord:
    """A series as a state file holds it.

    Attributes
    ----------
    times, values : list of float, one for each observation
        Seconds since 1970, and the unit's.
    commits : list of int
        Places in the table of commits.
    spread, freedom : list of float or None, one for each observation; or None
    """

    machine: str
    case: str
    timer: str
    unit: str
    smaller_is_better: bool
    times: Annotated[list[Time], Meta(min_length=1, description="a list of at least one number")]
    values: list[Annotated[float, Meta(gt=0)]]
    commits: list[Annotated[int, Meta(ge=0)]]
    spread: NumbersOrNull | None
    freedom: NumbersOrNull | None = None
    verdicts: tuple[ReportedChange, ...]
    log: tuple[Event, ...]


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
        "verdicts": to_document(kept.verdicts),
        "log": to_document(kept.log),
    }


def unknown_as_none(array: NDArray[np.float64]) -> list[float | None]:
    """Return numbers as JSON has them."""
    return [each if math.isfinite(each) else None for each in array.tolist()]


def kept_from(record: SeriesRecord, table: Sequence[CommitRecord]) -> KeptSeries:
    """Return the series of a record, or raise a RecordError where its parts do not go together."""
    times, size = np.array(record.times), len(record.times)
    rises = np.append(True, np.diff(times) >= 0.0)
    check_all("times", times, rises, "no earlier than the one before")
    for key in ("values", "commits", "spread", "freedom"):
        values = getattr(record, key)
        if values is not None and len(values) != size:
            why = f"allowed: a list of {size} numbers, as are times"
            raise RecordError(why, key, found=f"a list of {len(values)}")
    if max(record.commits) >= len(table):
        why = f"allowed: whole numbers from 0 to {len(table) - 1}"
        raise RecordError(why, "commits", found=max(record.commits))
    commits = [table[number] for number in record.commits]
    check_places(record, size)
    return KeptSeries(
        series=NightlySeries(
            name=SeriesName(machine=record.machine, case=record.case, timer=record.timer),
            unit=record.unit,
            smaller_is_better=record.smaller_is_better,
            times=frozen(times),
            values=frozen(np.array(record.values)),
            commits=tuple(each.text for each in commits),
            commit_parts=tuple(each.parts for each in commits),
            spread=filled(record.spread, math.nan),
            freedom=filled(record.freedom, math.inf),
        ),
        verdicts=record.verdicts,
        log=record.log,
    )


def filled(values: Sequence[float | None] | None, unknown: float) -> NDArray[np.float64] | None:
    """Return an array with a number in place of those that are unknown."""
    if values is None:
        return None
    return frozen(np.array([unknown if each is None else each for each in values]))


def check_places(record: SeriesRecord, size: int) -> None:
    """Raise a RecordError unless verdicts and events are about observations that there are."""
    first, last = FIRST_TIME / SECONDS_A_DAY, LAST_TIME / SECONDS_A_DAY
    for at, verdict in enumerate(record.verdicts):
        for key in ("index", "since"):
            if getattr(verdict, key) >= size:
                found = getattr(verdict, key)
                raise RecordError(inside(size), "verdicts", at, key, found=found)
        if not verdict.interval[0] <= verdict.interval[1] < size:
            found = list(verdict.interval)
            raise RecordError(inside(size), "verdicts", at, "interval", found=found)
        if verdict.effect_interval[0] > verdict.effect_interval[1]:
            why, found = "allowed: the smaller number first", list(verdict.effect_interval)
            raise RecordError(why, "verdicts", at, "effect_interval", found=found)
    for at, event in enumerate(record.log):
        for key in ("at", "index", "was"):
            if (getattr(event, key) or 0) >= size:
                raise RecordError(inside(size), "log", at, key, found=getattr(event, key))
        if not first <= event.time <= last:
            why = f"allowed: days since 1970, from {first:g} to {last:g}"
            raise RecordError(why, "log", at, "time", found=event.time)


def inside(size: int) -> str:
    """Say which places a series has."""
    return f"allowed: places from 0 to {size - 1} of its series, the smaller first"
