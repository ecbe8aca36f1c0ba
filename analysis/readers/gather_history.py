"""Results of many files, put together into a history."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hindmost.analysis.readers.format import CaseResult, HistoryEntry, Session, StandardError
from hindmost.analysis.readers.history import (
    NOT_KNOWN,
    FailedRun,
    History,
    NightlySeries,
    SeriesName,
    frozen,
)
from hindmost.analysis.readers.provenance import commits_text
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import as_fraction, plain_unit, smaller_is_better
from hindmost.analysis.readers.timers import find_parents, is_label
from hindmost.errors import DataError, UsageError
from hindmost.parsing import LARGEST, shown
from hindmost.text import by_number, choose, counted

UNKNOWN = StandardError(math.nan)
Key = tuple[str, str, str]
"""Machine, case and timer."""


class _Observation(NamedTuple):
    """A value of a series; these sort by their time and then as they were read."""

    time: float
    number: int
    value: float
    commits: str
    spread: float
    freedom: float
    unit: str
    work: str
    is_either: bool
    """Whether the comma in its text may be decimal, as it is read here, or of thousands."""
    has_unit: bool
    """Whether the file states its unit."""
    session: Session


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
        commits = commits_text(session.commits)
        self._stated_parents.update(run.parents)
        self._number += 1
        not_finite = []
        for timer, value in run.values.items():
            name = run.units.get(timer, "s")
            if name not in self._units:
                self._units[name] = plain_unit(name)
            unit, factor = self._units[name]
            fraction = as_fraction(value) if isinstance(value, str) else None
            value = value if fraction is None else fraction
            if type(value) is not float or not 0.0 < value < math.inf:
                if isinstance(value, float) and not math.isfinite(value):
                    not_finite.append(f"{timer} is {shown(value)}")
                value = self._judge(value, f"{session.file}: {run.case}, {timer}")
                if value is None:
                    continue
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
                run.work.get(timer, ""),
                fraction is not None,
                bool(run.units.get(timer)),
                session,
            )
            if not 0.0 < observation.value < math.inf:  # too large or too small for a float
                self._judge(observation.value, f"{session.file}: {run.case}, {timer}")
                continue
            key = (session.machine, run.case, timer)
            self._series.setdefault(key, []).append(observation)
            if timer in run.smaller_is_better:
                self._smaller_is_better[key] = run.smaller_is_better[timer]
        if not_finite:
            self._failures.append(session.failed(run.case, ", ".join(not_finite)))

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
        self.remarks.add(*no_measurement(where, value))
        return None

    def history(self, source: str) -> History:
        """Return the gathered data.

        Raises
        ------
        DataError
            There are none.
        """
        again: Counter[tuple[str, str]] = Counter()
        made = (
            self._made(key, name, unit, observations, again)
            for key in sorted(self._series, key=by_number)
            for name, unit, observations in self._by_unit(key)
        )
        series = tuple(sorted(filter(None, made), key=lambda each: by_number(each.name)))
        failures = self._sorted_failures()
        if not series and not failures:
            said = " ".join(self.remarks.sentences())
            raise DataError(f"{source} contains no usable result. {said}".rstrip())
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
            parents=find_parents({each.name.timer for each in series}, self._stated_parents),
            warnings=self.remarks.sentences(),
        )

    def _sorted_failures(self) -> list[FailedRun]:
        """Return failed runs, each once, in the order of their times."""
        first: dict[tuple[Any, ...], FailedRun] = {}
        for failure in self._failures:
            first.setdefault((failure.time, failure.machine, failure.case, failure.reason), failure)
        return [first[key] for key in sorted(first)]

    def _by_unit(self, key: Key) -> Iterator[tuple[SeriesName, str, list[_Observation]]]:
        """Yield the series of a name: one of its usual unit, and one of each unit beside it.

        A unit that takes the place of the usual one on some nights is left out with a remark.
        """
        observations = sorted(self._series[key])
        units = Counter(observation.unit for observation in observations)
        usual = min(units, key=lambda name: (-units[name], name))
        times = {observation.time for observation in observations if observation.unit == usual}
        for unit in units:
            found = [observation for observation in observations if observation.unit == unit]
            name = SeriesName(machine=key[0], case=key[1], timer=key[2])
            if unit == usual:
                yield name, unit, found
            elif times & {each.time for each in found}:
                yield replace(name, timer=f"{key[2]} [{unit}]"), unit, found
            else:
                for each in found:
                    self.remarks.add(
                        "values whose unit differs from the rest of their series",
                        f"{each.session.file}: {name} has the unit '{unit}', elsewhere '{usual}'; "
                        "left out.",
                    )

    def _with_one_comma(
        self, name: SeriesName, observations: list[_Observation]
    ) -> list[_Observation]:
        """Read commas that may be decimal or of thousands as the other nights of a series say."""
        plain = [observation.value for observation in observations if not observation.is_either]
        either = [observation for observation in observations if observation.is_either]
        if not either:
            return observations
        where = f"{name}: {counted(len(either), 'value')} as '{either[0].value:.3f}' of "
        where = f"{where}{either[0].session.file}, written with a comma for the point,"
        sort = "commas that may be decimal or of thousands"
        if plain:
            level = float(np.median(plain))
            read = float(np.median([each.value for each in either]))
            if abs(math.log(1e3 * read / level)) < abs(math.log(read / level)):
                self.remarks.add(sort, f"{where} taken as thousands, near the other nights.")
                return [
                    observation._replace(value=observation.value * 1e3)
                    if observation.is_either
                    else observation
                    for observation in observations
                ]
            self.remarks.add(sort, f"{where} taken as fractions, near the other nights.")
            return observations
        if len(either) >= 5:
            self.remarks.add(sort, f"{where} taken as fractions: thousands would always be whole.")
            return observations
        self.remarks.add(sort, f"{where} may be fractions or thousands; left out.")
        return []

    def _made(
        self,
        key: Key,
        name: SeriesName,
        unit: str,
        observations: list[_Observation],
        again: Counter[tuple[str, str]],
    ) -> NightlySeries | None:
        """Make a series, and count repeated observations by the files of both; None without any."""
        first: dict[tuple[float, float, str], _Observation] = {}
        for each in self._with_one_comma(name, observations):
            there = first.setdefault((each.time, each.value, each.commits), each)
            if there is not each:
                again[each.session.file, there.session.file] += 1
        kept = list(first.values())
        if not kept:
            return None
        times = frozen([each.time for each in kept])
        values = frozen([each.value for each in kept])
        stated = any(each.has_unit for each in kept)
        if not stated and is_label(key[2], values, times):
            self.remarks.add(
                "numbers that name their runs",
                f"{kept[0].session.file}: {name} is the number or the moment of a run, not a "
                "measurement; left out.",
            )
            return None
        spread = frozen([each.spread for each in kept])
        known = np.isfinite(spread)
        freedom = frozen([each.freedom for each in kept])
        return NightlySeries(
            name=name,
            unit=unit,
            smaller_is_better=self._smaller_is_better.get(key, smaller_is_better(key[2], unit)),
            times=times,
            values=values,
            commits=tuple(each.commits for each in kept),
            commit_parts=tuple(each.session.commits for each in kept),
            spread=spread if known.any() else None,
            freedom=freedom if np.isfinite(freedom[known]).any() else None,
            work=frozenset(each.work for each in kept if each.work),
            circumstances=tuple(each.session.circumstances for each in kept)
            if any(each.session.circumstances is not NOT_KNOWN for each in kept)
            else (),
        )


def no_measurement(where: str, value: Any) -> tuple[str, str]:
    """Return the remark on a value that is left out."""
    return (
        "values that are not measurements",
        f"{where} is {shown(value)}, which is not a finite number above zero; left out.",
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
        names |= {getattr(run, word) for run in of_runs}
        chosen = _choose(sorted(names), word, wanted, history.source)
        series = tuple(each for each in series if getattr(each.name, word) in chosen)
        if of_runs:
            failures = tuple(run for run in of_runs if getattr(run, word) in chosen)
    parents = find_parents({each.name.timer for each in series}, history.parents)
    return replace(history, series=series, failures=failures, parents=parents)


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
