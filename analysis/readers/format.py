"""Formats: the declaration of a format, and the input and output of its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.gather_experiment import ExperimentGathering
from hindmost.analysis.readers.history import NOT_KNOWN, Circumstances, FailedRun
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import StandardError
from hindmost.errors import UsageError
from hindmost.text import choose

OVER_RANKS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "mean": lambda values: float(values.mean()),
    "maximum": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
}
"""How the values of all ranks and threads are combined, for formats that keep them separate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of files; subclasses declare what the reader yields.

    Attributes
    ----------
    name : str
    looks_like : str
        How a person recognises it, for messages.
    recognises : callable
        Tells from a path and the first 64 KiB of the file whether the file has this format.
    companions : tuple of str
        Names of files that belong to the format and contain no results.
    """

    name: str
    looks_like: str
    recognises: Callable[[Path, bytes], bool]
    companions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRequest:
    """The part of an experiment that is wanted.

    Attributes
    ----------
    metrics : tuple of str
        Empty for all; of run files, for their default.
    kernel : str or None
        A name, or a pattern with ``*`` and ``?``; None for all.
    parameters : tuple of str
        In the order that is wanted; empty for all that the files have.
    over_ranks : str
        A name of `OVER_RANKS`.
    inclusive : bool
        Include callees in a call path, if a format separates the two.
    """

    metrics: tuple[str, ...] = ()
    kernel: str | None = None
    parameters: tuple[str, ...] = ()
    over_ranks: str = "mean"
    inclusive: bool = False

    def __post_init__(self) -> None:
        """Refuse an unknown way to combine ranks."""
        if self.over_ranks not in OVER_RANKS:
            raise UsageError(f"Unknown way over ranks '{self.over_ranks}'; {choose(OVER_RANKS)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFormat(Format):
    """A format with measurements over parameters.

    Attributes
    ----------
    read : callable
        Puts all measurements of some files into a gathering.
    """

    read: Callable[[tuple[Path, ...], ExperimentRequest, ExperimentGathering], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the results of one machine at one time share; makes their entries.

    Attributes
    ----------
    machine : str
    time : float
        Seconds since 1970, UTC.
    file : str
        File, and line or place in it, for messages.
    commits : mapping
        Repository to commit.
    circumstances : Circumstances
    """

    machine: str
    time: float
    file: str
    commits: Mapping[str, str] = field(default_factory=dict)
    circumstances: Circumstances = NOT_KNOWN

    def result(self, case: str, values: Mapping[str, Any], **more: Any) -> CaseResult:
        """Return the results of a case; see `CaseResult` for what else may be given."""
        return CaseResult(session=self, case=case, values=values, **more)

    def failed(self, case: str, reason: str) -> FailedRun:
        """Return a failed run of a case."""
        return FailedRun(
            time=self.time, machine=self.machine, case=case, reason=reason, file=self.file
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The results of one case at one time.

    Attributes
    ----------
    session : Session
    case : str
    values : mapping
        Timer to value as in the file, even if not a number: the gathering checks it.
    units : mapping
        Timer to unit; a timer without one is in seconds.
    errors : mapping
        Timer to standard error, if known.
    parents : mapping
        Timer to parent, if the format knows.
    work : mapping
        Timer to what its value is the time of in words, if that was chosen: ``400 iterations``.
    smaller_is_better : mapping
        Timer to whether smaller values are better, where the file says it; elsewhere the name and
        the unit of the timer decide.
    """

    session: Session
    case: str
    values: Mapping[str, Any]
    units: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, StandardError] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    work: Mapping[str, str] = field(default_factory=dict)
    smaller_is_better: Mapping[str, bool] = field(default_factory=dict)


HistoryEntry = CaseResult | FailedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFormat(Format):
    """A format with nightly results.

    Attributes
    ----------
    read : callable
        Returns all results in a file, given the machine that the name of its folder gives (see
        `path_names`; may be empty), and remarks on omissions.
    """

    read: Callable[[Path, str, Remarks], Iterable[HistoryEntry]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankColumns:
    """Metrics of every rank, as a file has them.

    Attributes
    ----------
    ranks : int64 array, shape (rank,)
    values : mapping
        Metric to values, float64 array of shape (rank,), in the unit of the metric.
    units : mapping
        Metric to unit; empty if the file does not give it.
    hosts : tuple of str, one a rank
        Empty if the file does not give them.
    inclusive : bool
        Whether times contain one another, so that their sum is nobody's time.
    """

    ranks: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str]
    hosts: tuple[str, ...] = ()
    inclusive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFormat(Format):
    """A format with metrics per rank.

    Attributes
    ----------
    read : callable
        Returns the metrics in a file.
    """

    read: Callable[[Path], RankColumns]
