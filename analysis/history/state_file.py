"""The state of a history as a file of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.acknowledgements import replace_file
from hindmost.analysis.history.merging import KeptSeries, frozen
from hindmost.analysis.history.records import FailedRun, NightlySeries, SeriesName
from hindmost.analysis.history.state import HistoryState
from hindmost.errors import DamagedFileError, DataError, UnknownSchemaError
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.events import Verdict

VERSION = 1
KIND = "hindmost-history-state"


def read_state(path: Path) -> HistoryState:
    """Read a state; where there is no file, a new one.

    Raises
    ------
    DamagedFileError
        It is cut off or altered.
    UnknownSchemaError
        A newer hindmost wrote it.
    DataError
        It is another file, or cannot be read.
    """
    if not path.exists():
        return HistoryState()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged(path, error) from error
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise DataError(f"{path} is no state of a history: name another file with --state.")
    if not isinstance(record.get("version"), int):
        raise damaged(path, "it has no version")
    if record["version"] > VERSION:
        raise UnknownSchemaError(
            f"{path} has version {record['version']}, and this hindmost reads up to {VERSION}: use "
            "the one that wrote it, or a newer one."
        )
    try:
        series = [kept_from(each, record["commits"]) for each in record["series"]]
        return HistoryState(
            method=str(record["method"]),
            settings=dict(record["settings"]),
            only_between=record["only_between"],
            series={each.series.name: each for each in series},
            parents=dict(record["parents"]),
            failures=tuple(FailedRun(**each) for each in record["failures"]),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise damaged(path, repr(error)) from error


def damaged(path: Path, why: object) -> DamagedFileError:
    """Return the error of a state that is cut off or altered."""
    return DamagedFileError(
        f"{path} is damaged ({why}): take it from a backup, or remove it to begin "
        "anew, which loses the log of revisions."
    )


def write_state(path: Path, state: HistoryState) -> None:
    """Write a state in one step: the old one stands until the new one is whole.

    Raises
    ------
    DataError
        It cannot be written.
    """
    table = CommitTable()
    series = [kept_to(kept, table) for kept in state.series.values()]
    record = {
        "kind": KIND,
        "version": VERSION,
        "method": state.method,
        "settings": dict(state.settings),
        "only_between": state.only_between,
        "parents": dict(state.parents),
        "commits": table.records(),
        "failures": [asdict(failure) for failure in state.failures],
        "series": series,
    }
    replace_file(path, json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")


class CommitTable:
    """Commits that were measured, each once, by number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._known: dict[int, tuple[Mapping[str, str], int]] = {}

    def number(self, text: str, parts: Mapping[str, str]) -> int:
        """Return the number of some commits; many observations share one mapping."""
        known = self._known.get(id(parts))
        if known is None or known[0] is not parts:
            key = (text, tuple(parts.items()))
            known = parts, self._numbers.setdefault(key, len(self._numbers))
            self._known[id(parts)] = known
        return known[1]

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
        "commits": list(map(table.number, series.commits, series.commit_parts)),
        "spread": None if series.spread is None else unknown_as_none(series.spread),
        **({} if series.freedom is None else {"freedom": unknown_as_none(series.freedom)}),
        "verdicts": [verdict.to_json() for verdict in kept.verdicts],
        "log": [event.to_json() for event in kept.log],
    }


def unknown_as_none(array: NDArray[np.float64]) -> list[float | None]:
    """Return numbers as JSON has them."""
    return [each if math.isfinite(each) else None for each in array.tolist()]


def kept_from(record: Mapping[str, Any], table: list[Mapping[str, Any]]) -> KeptSeries:
    """Read what `kept_to` wrote.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError
        It is not what was written.
    """
    times = frozen(np.array(record["times"], np.float64))
    values = frozen(np.array(record["values"], np.float64))
    commits = [table[number] for number in record["commits"]]
    spread = record["spread"]
    series = NightlySeries(
        name=SeriesName(machine=record["machine"], case=record["case"], timer=record["timer"]),
        unit=record["unit"],
        smaller_is_better=bool(record["smaller_is_better"]),
        times=times,
        values=values,
        commits=tuple(each["text"] for each in commits),
        commit_parts=tuple(each["parts"] for each in commits),
        spread=None if spread is None else frozen(np.array(spread, np.float64)),
    )
    lengths = {times.shape, values.shape, (len(commits),)}
    if len(lengths) > 1 or not np.all(np.isfinite(times)) or np.any(np.diff(times) < 0.0):
        raise ValueError(f"the observations of {series.name} do not fit together")
    kept = KeptSeries(
        series=series,
        verdicts=tuple(Verdict.from_json(each) for each in record["verdicts"]),
        log=tuple(Event(**each) for each in record["log"]),
    )
    places = [
        *(each.index for each in kept.verdicts),
        *(end for each in kept.verdicts for end in each.interval),
        *(each.at for each in kept.log),
    ]
    if any(not 0 <= place < times.size for place in places):
        raise ValueError(f"a verdict on {series.name} lies outside its observations")
    return kept
