"""Histories found by what is in the files, whatever they are called."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hindmost.analysis.history.acknowledgements import FILE_NAME as KNOWN_CHANGES
from hindmost.analysis.history.readers.asv import ASV
from hindmost.analysis.history.readers.gathering import Gathering
from hindmost.analysis.history.readers.google_benchmark import GOOGLE_BENCHMARK
from hindmost.analysis.history.readers.hyperfine import HYPERFINE
from hindmost.analysis.history.readers.measured import HistoryFormat, Source
from hindmost.analysis.history.readers.nightly import NIGHTLY
from hindmost.analysis.history.readers.places import machine_of
from hindmost.analysis.history.readers.pytest_benchmark import PYTEST_BENCHMARK
from hindmost.analysis.history.readers.runs import RUNS
from hindmost.analysis.history.readers.table import TABLE
from hindmost.analysis.history.records import History
from hindmost.analysis.readers.beside import is_ours
from hindmost.analysis.readers.head import head_of
from hindmost.analysis.readers.remarks import some
from hindmost.errors import DataError, UsageError

FORMATS = {
    each.name: each
    for each in (RUNS, PYTEST_BENCHMARK, GOOGLE_BENCHMARK, ASV, HYPERFINE, NIGHTLY, TABLE)
}
"""Every format by its name, in the order in which they are tried."""

DEPTH = 2
"""Folders below the one that is named in which files are looked for."""


def read_history(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | Sequence[str] | None = None,
    machine: str | None = None,
    case: str | None = None,
    timer: str | None = None,
) -> History:
    """Read a history of nightly results from files of any known format, and from folders of them.

    Values that are not above zero and finite are left out, failed runs are told apart from results,
    observations are sorted by time, and what is there twice (same time, value and commits) counts
    once; the warnings say what was done. A file that cannot be read is left out if others can.
    The order in which files are named does not matter.

    Parameters
    ----------
    paths : path, or paths
        Of a folder, the files in it and in folders up to two levels below are taken, except hidden
        ones.
    format : str or sequence of str, optional
        A name of `FORMATS`; found by content if it is missing, and then all files have to be of one
        format. Several names read files of these formats together, as one history.
    machine, case, timer : str, optional
        A name, or a pattern with ``*`` and ``?``, as ``ant-*``; all by default.

    Raises
    ------
    UsageError
        A path, format, machine, case or timer that there is not.
    DataError
        A file that is of no known format, files of several formats, nothing that can be read, or no
        result in it.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    given = sorted({Path(path) for path in paths})
    if not given:
        raise UsageError("No file to read a history from; name files or a folder.")
    into = Gathering()
    files = _without_copies(_files(given, _wanted(format), into), into)
    _read(files, into)
    return into.history(some([str(path) for path in given]), machine, case, timer)


def recognise(path: Path) -> HistoryFormat | None:
    """Return the format of a file by its content, None if it is of no known one.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    head = head_of(path)
    return next((each for each in FORMATS.values() if each.recognises(path, head)), None)


def _wanted(format: str | Sequence[str] | None) -> tuple[HistoryFormat, ...]:
    """Return the formats that are asked for, none for any."""
    names = [] if format is None else [format] if isinstance(format, str) else list(format)
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"Unknown format '{name}'; choose from: {', '.join(FORMATS)}.")
    return tuple(FORMATS[name] for name in names)


def _files(
    given: list[Path], wanted: tuple[HistoryFormat, ...], into: Gathering
) -> dict[Source, HistoryFormat]:
    """Return the files to read, each once, and their formats."""
    found: dict[Path, tuple[Source, HistoryFormat]] = {}
    several = len({path.absolute() if path.is_dir() else _folder(path) for path in given}) > 1
    for path in given:
        if path.is_dir():
            for source, format in _in_folder(path, wanted, several, into):
                found.setdefault(source.path.resolve(), (source, format))
        elif not path.exists():
            raise UsageError(f"{path} does not exist.")
        else:
            source = Source(path=path, folder=machine_of(path, _folder(path), several))
            format_of = wanted[0] if len(wanted) == 1 else recognise(path)
            if format_of is None or (wanted and format_of not in wanted):
                raise DataError(_unknown(path, wanted))
            found.setdefault(path.resolve(), (source, format_of))
    formats = dict(found[path] for path in sorted(found))
    kinds = {format.name: source.path for source, format in formats.items()}
    if len(kinds) > 1 and not wanted:
        told = "; ".join(f"{path} is {name}" for name, path in kinds.items())
        raise DataError(
            f"Files of several formats: {told}. Name the format to read, or name all of them to "
            "read them as one history."
        )
    return formats


def _folder(path: Path) -> Path:
    return path.absolute().parent


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files in a folder and below, except hidden ones."""
    inside = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    yield from (path for path in inside if path.is_file())
    if depth:
        for inner in inside:
            if inner.is_dir():
                yield from _below(inner, depth - 1)


def _in_folder(
    folder: Path, wanted: tuple[HistoryFormat, ...], several: bool, into: Gathering
) -> list[tuple[Source, HistoryFormat]]:
    """Return the files in a folder and below that are of a known format."""
    found: list[tuple[Source, HistoryFormat]] = []
    strange: list[Path] = []
    for path in _below(folder, DEPTH):
        try:
            if is_ours(path):
                continue
            format = recognise(path)
        except DataError as error:
            into.remarks.add("files that cannot be read", f"{error} The file is left out.")
            continue
        if format is not None and (not wanted or format in wanted):
            machine = machine_of(path, folder, several)
            found.append((Source(path=path, folder=machine), format))
        elif path.parent == folder and path.name != KNOWN_CHANGES:
            strange.append(path)
    if not found:
        kind = "a known format" if not wanted else f"the format {_names(wanted)}"
        raise DataError(f"{folder} holds no file of {kind}. {_choices()}")
    known = {name for _, format in found for name in format.beside}
    others = [path.name for path in strange if path.name not in known]
    if others:
        into.remarks.add(
            "folders with other files", f"{folder}: left out {some(others)}, of another format."
        )
    return found


def _without_copies(
    files: dict[Source, HistoryFormat], into: Gathering
) -> dict[Source, HistoryFormat]:
    """Return files without copies of others, where the date is not in the contents."""
    kept: dict[Source, HistoryFormat] = {}
    first: dict[bytes, Source] = {}
    undated = [source for source, format in files.items() if format.dated_by is not None]
    for source in sorted(undated, key=lambda source: _date_of(files[source], source.path)):
        contents = hashlib.sha256(source.path.read_bytes()).digest()
        there = first.setdefault(contents, source)
        if there is not source:
            into.remarks.add("copies", f"{source.path} is a copy of {there.path}; left out.")
    for source, format in files.items():
        if format.dated_by is None or source in first.values():
            kept[source] = format
    return kept


def _date_of(format: HistoryFormat, path: Path) -> tuple[float, Path]:
    return (0.0 if format.dated_by is None else format.dated_by(path)), path


def _read(files: dict[Source, HistoryFormat], into: Gathering) -> None:
    """Read files, and remark on those that cannot be read if others can."""
    unreadable: list[DataError] = []
    for source, format in files.items():
        try:
            # All of a file or nothing.
            found = list(format.read(source, into.remarks))
        except DataError as error:
            unreadable.append(error)
            continue
        into.add(found)
    if unreadable and len(unreadable) == len(files):
        raise unreadable[0]
    for fault in unreadable:
        into.remarks.add("files that cannot be read", f"{fault} The file is left out.")


def _names(formats: Iterable[HistoryFormat]) -> str:
    return " or ".join(each.name for each in formats)


def _unknown(path: Path, wanted: tuple[HistoryFormat, ...]) -> str:
    """Say that a file is of no known format, and which there are."""
    if path.stat().st_size == 0:
        return f"{path} is empty; there is no result in it."
    if wanted:
        return f"{path} is not of the format {_names(wanted)}. {_choices()}"
    return f"{path} is of no known format. {_choices()}"


def _choices() -> str:
    known = "; ".join(f"{each.name}: {each.looks_like}" for each in FORMATS.values())
    return f"Known are {known}. Name the format if it is one of these."
