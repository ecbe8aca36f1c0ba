"""What a reader finds in a file, and what a format is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindmost.analysis.history.readers.repetitions import Spread
from hindmost.analysis.history.records import FailedRun
from hindmost.analysis.readers.remarks import Remarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to read.

    Attributes
    ----------
    path : Path
    folder : str
        The machine that the file's folder says, see `places`; empty without.
    """

    path: Path
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The results of one case at one time.

    Attributes
    ----------
    machine, case : str
    time : float
        Seconds since 1970, UTC.
    file : str
        File, and line or place in it, for messages.
    values : mapping
        Timer to value as the file has it, also if it is no number: that is judged in one place.
    commits : mapping
        Repository to commit.
    units : mapping
        Timer to unit; seconds for those that are not in it.
    spreads : mapping
        Timer to standard error in the same unit and its degrees of freedom, where it is known.
    parents : mapping
        Timer to parent, if the format knows.
    """

    machine: str
    case: str
    time: float
    file: str
    values: Mapping[str, Any]
    commits: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)


Found = Measured | FailedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFormat:
    """A format of files with nightly results.

    Attributes
    ----------
    name : str
    looks_like : str
        How a person recognises it, for messages.
    recognises : callable
        Tells by a path and the first 64 KiB there whether the file is of this format.
    read : callable
        Returns everything in a file, and remarks on what it leaves out.
    beside : tuple of str
        Names of files that belong to the format and hold no results.
    dated_by : callable or None
        Returns the date of a file in which there may be none, so that of copies the first counts.
    """

    name: str
    looks_like: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Source, Remarks], Iterable[Found]]
    beside: tuple[str, ...] = ()
    dated_by: Callable[[Path], float] | None = None
