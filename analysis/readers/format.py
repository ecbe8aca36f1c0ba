"""Formats: their declaration, the input and output of their readers, and nightly ones as layouts.

A `Layout` says where in a record of nightly results everything stands. A file is a sequence of
records, one for each result of a case; what a file says once is in all of them. A record is nested,
as JSON; ``session/host`` is ``host`` in ``session``. Time, machine and case may stand in one of
several places, of which the first that is there counts. Without a time, the file is dated by its
name (see `provenance.dated`), without a machine its folder names that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import ExperimentGathering
from hindmost.analysis.readers.history import NOT_KNOWN, Circumstances, FailedRun
from hindmost.analysis.readers.provenance import dated, seconds_since_1970
from hindmost.analysis.readers.remarks import Remarks
from hindmost.errors import DataError, UsageError
from hindmost.parsing import LARGEST
from hindmost.text import choose

OF_A_MEDIAN = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, of many normal values."""
OF_FEW = (1.0, 1.0, 1.16018, 1.09216, 1.19757, 1.13511, 1.21372, 1.15995, 1.22267, 1.17615)
"""The same of 1 to 10 values: the variance of the middle of normal values (David and Nagaraja,
Order Statistics, 2003, section 3.2), times their number."""
NORMAL_QUARTILES = 1.3489795003921634
"""Between the quartiles of a normal law of standard deviation 1."""

OF_QUARTILES = 0.37
"""Efficiency of the standard deviation from quartiles relative to that of the sample."""


class StandardError(NamedTuple):
    """The uncertainty of a value from repetitions.

    Attributes
    ----------
    error : float
        Standard error, in the unit of the value; NaN if unknown.
    freedom : float
        Degrees of freedom of that error; infinite if it is known well or not stated.
    """

    error: float
    freedom: float = math.inf


def error_of_median(deviation: float, count: float) -> float:
    """Return the standard error of the median of ``count`` normal values; NaN of one value."""
    if not count > 1.0:
        return math.nan
    factor = OF_FEW[int(count) - 1] if count <= len(OF_FEW) else OF_A_MEDIAN
    return factor * deviation / math.sqrt(count)


def summarise(values: Sequence[Any]) -> tuple[Any, StandardError | None]:
    """Return the median of repetitions and its spread, as of normal values.

    The median, because one disturbed repetition should not make the night look slow. Of
    repetitions of which one is no measurement that one, without a spread: the gathering says why.
    """
    bad = [
        value
        for value in values
        if isinstance(value, bool) or not (isinstance(value, int | float) and 0 < value < LARGEST)
    ]
    if bad or not values:
        return next(iter(bad), None), None
    each = np.asarray(values, np.float64)
    if len(each) < 2:
        return float(each[0]), StandardError(math.nan)
    error = error_of_median(float(each.std(ddof=1)), len(each))
    return float(np.median(each)), StandardError(error, len(each) - 1.0)


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

    def measured(self, case: str, values: Iterable[Value]) -> CaseResult:
        """Return the results of a case by its values, of which each has its repetitions."""
        by_timer = {value.timer: value for value in values}
        summaries = {timer: summarise(value.values) for timer, value in by_timer.items()}
        errors = {timer: each.error or summaries[timer][1] for timer, each in by_timer.items()}
        return self.result(
            case,
            {timer: value for timer, (value, _) in summaries.items()},
            units={timer: value.unit for timer, value in by_timer.items()},
            errors={timer: error for timer, error in errors.items() if error is not None},
            smaller_is_better={
                timer: value.smaller_is_better
                for timer, value in by_timer.items()
                if value.smaller_is_better is not None
            },
        )

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
        `provenance`; may be empty), and remarks on omissions.
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


Record = Mapping[str, Any]
UNREADABLE = "results that cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value of a case.

    Attributes
    ----------
    timer : str
    values : sequence
        Repetitions, as they stand in the file; their median counts.
    unit : str
    smaller_is_better : bool or None
        None: unit and name decide.
    error : StandardError or None
        Of a value without its repetitions, if the file says it.
    """

    timer: str
    values: Sequence[Any]
    unit: str
    smaller_is_better: bool | None = None
    error: StandardError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(HistoryFormat):
    """A format with nightly results by declaration: where the parts of a result stand.

    Attributes
    ----------
    records : callable
        Yields the records of a file, each with its place for messages.
    case : tuple of str
        Places of the case.
    values : callable
        Returns the values of a record.
    time, machine : tuple of str
        Places of the time and the machine; none if the format has none.
    failure : callable
        Returns why the run of a record failed; empty if it did not. A run without a value failed,
        too.
    parameters : tuple of str
        Places of what belongs to the name of the case, if a record has it.
    software, hardware, commits : mapping
        Name to place.
    """

    read: Callable[[Path, str, Remarks], Iterable[HistoryEntry]] = field(init=False)
    records: Callable[[Path, Remarks], Iterable[tuple[str, Record]]]
    case: tuple[str, ...]
    values: Callable[[Record], Iterable[Value]]
    time: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    failure: Callable[[Record], str] = lambda record: ""
    parameters: tuple[str, ...] = ()
    software: Mapping[str, str] | None = None
    hardware: Mapping[str, str] | None = None
    commits: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", self.entries)

    def entries(self, path: Path, machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
        """Yield the results of a file."""
        by_name: float | None = None
        for where, record in self.records(path, remarks):
            with remarks.leaving_out(UNREADABLE, "result"):
                if not isinstance(record, Mapping):
                    raise DataError(f"{where} is {str(record)[:40]!r}, and no record of a result.")
                stated = first(record, self.time)
                if stated is None:
                    by_name = by_name or dated(path, remarks)
                    time = by_name
                else:
                    time = seconds_since_1970(stated, where)
                software, hardware = texts(record, self.software), texts(record, self.hardware)
                session = Session(
                    machine=str(first(record, self.machine) or machine),
                    time=time,
                    file=where,
                    commits=texts(record, self.commits),
                    circumstances=Circumstances(software=software, machine=hardware)
                    if software or hardware
                    else NOT_KNOWN,
                )
                yield self.entry(record, session)

    def entry(self, record: Record, session: Session) -> HistoryEntry:
        """Return the result of a record, or that its run failed."""
        case = str(first(record, self.case) or "").strip()
        if not case:
            raise DataError(f"{session.file} names no case ({' or '.join(self.case)}).")
        parameters = [text for place in self.parameters if (text := first(record, (place,)))]
        case += "".join(f" [{text}]" for text in parameters)
        why = self.failure(record)
        values = [] if why else [each for each in self.values(record) if each.values]
        if not values:
            return session.failed(case, why or "no values")
        return session.measured(case, values)


def first(record: Record, places: Sequence[str]) -> Any:
    """Return what stands in the first of some places that a record has; None without."""
    for place in places:
        value: Any = record
        for key in place.split("/"):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None and value != "":
            return value
    return None


def texts(record: Record, places: Mapping[str, str] | None) -> dict[str, str]:
    """Return the texts in some places, by name, without those that are missing."""
    values = {name: first(record, (place,)) for name, place in (places or {}).items()}
    return {name: str(value) for name, value in values.items() if value is not None}
