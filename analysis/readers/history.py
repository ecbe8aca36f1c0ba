"""A history of nightly results: series of timers, failed runs and the hierarchy of timers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

FIRST_TIME, LAST_TIME = -62135596800.0, 253402300799.0
"""Seconds since 1970 of the first and the last day that a date can be written for."""
Time = Annotated[float, Meta(ge=FIRST_TIME, le=LAST_TIME)]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SeriesName:
    """Machine, case and timer of a series.

    Attributes
    ----------
    machine : str
        Empty if neither the file nor its folder gives it.
    case : str
        Test case or benchmark, with its parameters.
    timer : str
        Also another metric, as a number of bytes; its parent is in `History.parents`.
    """

    machine: str
    case: str
    timer: str

    @property
    def place(self) -> tuple[str, str]:
        """Machine and case."""
        return self.machine, self.case

    @property
    def parts(self) -> tuple[str, str, str]:
        """All three."""
        return self.machine, self.case, self.timer

    def __str__(self) -> str:
        """Write the name for a person."""
        return ", ".join(filter(None, self.parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchTimers:
    """What a run knows of the work of a stretch besides its longest time.

    Attributes
    ----------
    mean : str
        The timer of the mean over ranks.
    place : str
        Where it is in the source, with lines.
    longest : int
        The rank that takes longest.
    """

    mean: str
    place: str
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of a run besides its results: a change of these may explain one of those.

    Attributes
    ----------
    question : str
        Program, solver and ranks: what remains the same if its input and its machine change; empty
        if that is not known.
    inputs, machine, software : mapping
        Name to value: what was asked for, the machine, and the libraries.
    place : str
        Where in the source the iterations are.
    iterations, ranks : int
        0 if unknown.
    load : float or None
        Runnable tasks of the host for each of its cores, before the run.
    stretches : mapping
        Timer of the longest work of a stretch to what else is known of it.
    repositories : mapping
        Name of a repository to the address of its page.
    """

    question: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    iterations: int = 0
    ranks: int = 0
    load: float | None = None
    stretches: Mapping[str, StretchTimers] = field(default_factory=dict)
    repositories: Mapping[str, str] = field(default_factory=dict)


NOT_KNOWN = Circumstances()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NightlySeries:
    """One timer of one case on one machine over time.

    Attributes
    ----------
    name : SeriesName
    unit : str
        ``s`` for every time, whatever unit of time the file has; other units as the file writes
        them; empty if it has none.
    smaller_is_better : bool
    times : float64 array, shape (observation,), seconds
        UTC since 1970, ascending; observations of the same time are in the order of the files and
        of their places there. Read-only.
    values : float64 array, shape (observation,)
        Finite and above zero, in the series' unit. Read-only.
    commits : tuple of str, one per observation
        The measured commits in words: ``Albany abc123, Trilinos def456``; empty if unknown.
    commit_parts : tuple of mapping, one per observation
        Repository to commit or version, with an empty name for a repository that the file does not
        name. Timers of one run share one mapping.
    spread : float64 array, shape (observation,), or None
        Standard error of each value, in the series' unit; NaN where it is unknown, None where it is
        unknown everywhere. Read-only.
    freedom : float64 array, shape (observation,), or None
        Degrees of freedom of each spread, infinite where they are not stated; None where they are
        stated nowhere. Read-only.
    work : frozenset of str
        What the values are times of, ``400 iterations``, where that was chosen; empty if unknown.
    circumstances : tuple of Circumstances, one per observation
        Timers of one run share one object; none if nothing is known of any.
    """

    name: SeriesName
    unit: str
    smaller_is_better: bool
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    commits: tuple[str, ...]
    commit_parts: tuple[Mapping[str, str], ...]
    spread: NDArray[np.float64] | None
    freedom: NDArray[np.float64] | None = None
    work: frozenset[str] = frozenset()
    circumstances: tuple[Circumstances, ...] = ()

    def at(self, places: NDArray[np.intp]) -> NightlySeries:
        """Return the observations at some places, in their order."""
        return replace(
            self,
            times=frozen(self.times[places]),
            values=frozen(self.values[places]),
            commits=tuple(self.commits[at] for at in places),
            commit_parts=tuple(self.commit_parts[at] for at in places),
            spread=None if self.spread is None else frozen(self.spread[places]),
            freedom=None if self.freedom is None else frozen(self.freedom[places]),
            circumstances=tuple(self.circumstances[at] for at in places if self.circumstances),
        )


def joined(parts: Sequence[NightlySeries], named: NightlySeries) -> NightlySeries:
    """Return the observations of several series, in the order of time, as those of another."""

    def known(columns: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
        if all(column is None for column in columns):
            return None
        filled = [
            np.full(part.times.size, math.nan) if column is None else column
            for part, column in zip(parts, columns, strict=True)
        ]
        return np.asarray(np.concatenate(filled))

    is_known = any(part.circumstances for part in parts)
    times = np.concatenate([part.times for part in parts])
    whole = replace(
        named,
        times=times,
        values=np.concatenate([part.values for part in parts]),
        commits=tuple(text for part in parts for text in part.commits),
        commit_parts=tuple(commits for part in parts for commits in part.commit_parts),
        spread=known([part.spread for part in parts]),
        freedom=known([part.freedom for part in parts]),
        work=frozenset().union(*(part.work for part in parts)),
        circumstances=tuple(
            circumstance
            for part in parts
            for circumstance in (part.circumstances or [NOT_KNOWN] * len(part.times))
            if is_known
        ),
    )
    return whole.at(np.argsort(times, kind="stable"))


def frozen(numbers: ArrayLike) -> NDArray[np.float64]:
    """Return numbers as a read-only array."""
    array = np.array(numbers, np.float64)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRun:
    """A run without a result.

    Attributes
    ----------
    time : float
        Seconds since 1970, UTC.
    machine, case : str
    reason : str
    file : str
    """

    time: Time
    machine: str
    case: str
    reason: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything that was read of a history.

    Attributes
    ----------
    source : str
        The files and folders, for messages.
    series : tuple of NightlySeries
        In the order of their names; none if every run failed.
    failures : tuple of FailedRun
        In the order of their times.
    parents : mapping
        Timer to the timer that it is a part of, both among the series; roots are not in it.
    warnings : tuple of str
        What was left out, merged or assumed, with the reason and the place, in sentences.
    """

    source: str
    series: tuple[NightlySeries, ...]
    failures: tuple[FailedRun, ...]
    parents: Mapping[str, str]
    warnings: tuple[str, ...]
