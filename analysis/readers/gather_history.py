"""Results of many files, put together into a history."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.commits import commits_text
from hindmost.analysis.readers.format import CaseResult, HistoryEntry
from hindmost.analysis.readers.history import FailedRun, History, NightlySeries, SeriesName
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import StandardError
from hindmost.analysis.readers.timers import find_parents
from hindmost.analysis.readers.units import plain_unit, smaller_is_better
from hindmost.errors import DataError, UsageError
from hindmost.parsing import LARGEST, shown
from hindmost.text import choose, counted

UNKNOWN = StandardError(math.nan)
Key = tuple[str, str, str]
"""Machine, case and timer."""


class _Commits(NamedTuple):
    """The measured software, one object for all timers of a run."""

    text: str
    parts: Mapping[str, str]


class _Observation(NamedTuple):
    """A value of a series; these sort by their time and then as they were read."""

    time: float
    number: int
    value: float
    commits: _Commits
    spread: float
    freedom: float
    unit: str
    file: str
    work: str


class HistoryGathering:
    """Observations by machine, case and timer, from one file or many.

    Attributes
    ----------
    remarks : Remarks
    """

    def __init__(self) -> None:
        self.remarks = Remarks()
        self._series: dict[Key, list[_Observation]] = {}
        self._failures: list[FailedRun] = []
        self._stated_parents: dict[str, str] = {}
        self._units: dict[str, tuple[str, float]] = {"s": ("s", 1.0)}
        self._smaller_is_better: dict[Key, bool] = {}
        self._number = 0

    def add(self, found: Iterable[HistoryEntry]) -> None:
        """Add the results of a file."""
        for each in found:
            if isinstance(each, FailedRun):
                self._failures.append(each)
            else:
                self._add(each)

    def _add(self, run: CaseResult) -> None:
        session = run.session
        commits = _Commits(commits_text(session.commits), dict(session.commits))
        self._stated_parents.update(run.parents)
        self._number += 1
        for timer, value in run.values.items():
            if type(value) is not float or not 0.0 < value < math.inf:
                value = self._judge(value, f"{session.file}: {run.case}, {timer}")
                if value is None:
                    continue
            name = run.units.get(timer, "s")
            if name not in self._units:
                self._units[name] = plain_unit(name)
            unit, factor = self._units[name]
            error = run.errors.get(timer, UNKNOWN)
            spread = error.error * factor
            if not 0.0 <= spread < math.inf:
                spread = math.nan
            observation = _Observation(
                session.time,
                self._number,
                value * factor,
                commits,
                spread,
                error.freedom,
                unit,
                session.file,
                run.work.get(timer, ""),
            )
            if not 0.0 < observation.value < math.inf:  # too large or too small for a float
                self._judge(observation.value, f"{session.file}: {run.case}, {timer}")
                continue
            key = (session.machine, run.case, timer)
            self._series.setdefault(key, []).append(observation)
            if timer in run.smaller_is_better:
                self._smaller_is_better[key] = run.smaller_is_better[timer]

    def set_larger_is_better(self, timer: str) -> None:
        """Declare that larger values of a timer, by name or by pattern, are better.

        Raises
        ------
        UsageError
            No such timer.
        """
        chosen = _choose(sorted({key[2] for key in self._series}), "timer", timer, "the results")
        self._smaller_is_better |= {key: False for key in self._series if key[2] in chosen}

    def _judge(self, value: Any, where: str) -> float | None:
        """Return a value that is a measurement as a float; remark on another."""
        if type(value) is int and 0 < value < LARGEST:
            return float(value)
        if type(value) is float and 0.0 < value < math.inf:
            return value
        self.remarks.add(
            "values that are not measurements",
            f"{where} is {shown(value)}, which is not a finite number above zero; left out.",
        )
        return None

    def history(self, source: str) -> History:
        """Return the gathered data.

        Raises
        ------
        DataError
            There are none.
        """
        keys, failures = sorted(self._series), self._sorted_failures()
        if not keys and not failures:
            said = " ".join(self.remarks.sentences())
            raise DataError(f"{source} contains no usable result. {said}".rstrip())
        again: Counter[tuple[str, str]] = Counter()
        series = tuple(self._made(key, again) for key in keys)
        for (file, first), count in sorted(again.items()):
            self.remarks.add(
                "files that repeat results",
                f"{file} repeats {counted(count, 'result')} of {first} (same time, "
                "value and commits); left out.",
            )
        return History(
            source=source,
            series=series,
            failures=tuple(failures),
            parents=find_parents({key[2] for key in keys}, self._stated_parents),
            warnings=self.remarks.sentences(),
        )

    def _sorted_failures(self) -> list[FailedRun]:
        """Return failed runs, each once, in the order of their times."""
        first: dict[tuple[Any, ...], FailedRun] = {}
        for each in self._failures:
            first.setdefault((each.time, each.machine, each.case, each.reason), each)
        return [first[key] for key in sorted(first)]

    def _made(self, key: Key, again: Counter[tuple[str, str]]) -> NightlySeries:
        """Make a series, and count repeated observations by the files of both."""
        observations = sorted(self._series[key])
        units = Counter(each.unit for each in observations)
        unit = min(units, key=lambda name: (-units[name], name))
        name = SeriesName(machine=key[0], case=key[1], timer=key[2])
        first: dict[tuple[float, float, str], _Observation] = {}
        for each in observations:
            if each.unit != unit:
                self.remarks.add(
                    "values whose unit differs from the rest of their series",
                    f"{each.file}: {name} has the unit '{each.unit}', elsewhere '{unit}'; "
                    "left out.",
                )
                continue
            there = first.setdefault((each.time, each.value, each.commits.text), each)
            if there is not each:
                again[each.file, there.file] += 1
        kept = list(first.values())
        spread = _frozen([each.spread for each in kept])
        known = np.isfinite(spread)
        freedom = _frozen([each.freedom for each in kept])
        return NightlySeries(
            name=name,
            unit=unit,
            smaller_is_better=self._smaller_is_better.get(key, smaller_is_better(key[2], unit)),
            times=_frozen([each.time for each in kept]),
            values=_frozen([each.value for each in kept]),
            commits=tuple(each.commits.text for each in kept),
            commit_parts=tuple(each.commits.parts for each in kept),
            spread=spread if known.any() else None,
            freedom=freedom if np.isfinite(freedom[known]).any() else None,
            work=frozenset(each.work for each in kept if each.work),
        )


def select(
    history: History,
    *,
    machine: str | None = None,
    case: str | None = None,
    timer: str | None = None,
) -> History:
    """Keep the series of a machine, case and timer; ``*`` and ``?`` are wildcards.

    Raises
    ------
    UsageError
        There is no such series.
    """
    series, failures = history.series, history.failures
    for word, wanted in (("machine", machine), ("case", case), ("timer", timer)):
        if wanted is None or (word == "timer" and not series):
            continue
        of_runs = failures if word != "timer" else ()
        names = {getattr(each.name, word) for each in series}
        names |= {getattr(each, word) for each in of_runs}
        chosen = _choose(sorted(names), word, wanted, history.source)
        series = tuple(each for each in series if getattr(each.name, word) in chosen)
        if of_runs:
            failures = tuple(each for each in of_runs if getattr(each, word) in chosen)
    parents = find_parents({each.name.timer for each in series}, history.parents)
    return replace(history, series=series, failures=failures, parents=parents)


def _frozen(numbers: list[float]) -> NDArray[np.float64]:
    array = np.array(numbers, np.float64)
    array.flags.writeable = False
    return array


def _choose(names: list[str], word: str, wanted: str, source: str) -> set[str]:
    """Return the names that are asked for, by name or by pattern."""
    if wanted in names:
        return {wanted}
    pattern = wanted.replace("[", "[[]")
    found = {name for name in names if fnmatch.fnmatchcase(name, pattern)}
    if not found:
        choices = choose(name or "''" for name in names)
        raise UsageError(
            f"No {word} '{wanted}' in {source}; {choices}. "
            "A pattern may have * and ?, as in 'ant-*'."
        )
    return found
