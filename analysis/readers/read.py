"""Experiments and histories, read from files of known formats and from folders of them.

All formats stand here by their kind of data, in the order in which they are tried. They are
recognised by contents. A file that is named is read or refused. In a folder, hidden files are
passed over, and so is what hindmost itself writes next to results; a remark lists other files that
have no known format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from hindmost.analysis.readers.experiment import Experiment, ExperimentGathering
from hindmost.analysis.readers.format import (
    ExperimentFormat,
    ExperimentRequest,
    Format,
    HistoryFormat,
    RankFormat,
)
from hindmost.analysis.readers.formats import (
    benchmark_tools,
    csv_tables,
    extrap,
    network_benchmarks,
    petsc_log,
    profiles,
    run_experiment,
    run_history,
    site_benchmarks,
    test_results,
)
from hindmost.analysis.readers.gather_history import HistoryGathering, select
from hindmost.analysis.readers.history import History
from hindmost.analysis.readers.provenance import machine_of
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import head_of
from hindmost.errors import DataError, UsageError
from hindmost.registry import Registry
from hindmost.text import by_number, first_of

BUILT_IN: tuple[Format, ...] = (
    *run_experiment.FORMATS,
    *run_history.FORMATS,
    *profiles.FORMATS,
    *extrap.FORMATS,
    *benchmark_tools.FORMATS,
    *petsc_log.FORMATS,
    *network_benchmarks.FORMATS,
    *site_benchmarks.FORMATS,
    *test_results.FORMATS,
    *csv_tables.FORMATS,
)


F = TypeVar("F", bound=Format)


def of_kind(kind: type[F]) -> Registry[F]:
    """Return the formats of a kind; an entry point of the group may be of any."""
    members = (each for each in BUILT_IN if isinstance(each, kind))
    return Registry("format", members, group="hindmost.readers", kind=kind, shared=Format)


EXPERIMENT_FORMATS = of_kind(ExperimentFormat)
"""Formats with measurements over parameters."""
HISTORY_FORMATS = of_kind(HistoryFormat)
"""Formats with nightly results."""
RANK_FORMATS = of_kind(RankFormat)
"""Formats with metrics per rank."""


KNOWN_CHANGES = "hindmost-acknowledged.toml"
"""The file in which ``hindmost history ack`` notes known changes of a history."""
OURS = ("collected.json", KNOWN_CHANGES)
"""That, and what ``hindmost study collect`` writes."""
PAGES = (".html", ".htm")
"""No page contains results, neither ours nor another's."""
FIGURES = (".png", ".pdf", ".svg")
"""Next to a figure is a CSV file of its name, with the numbers that were plotted."""


def find_files(
    paths: Sequence[Path],
    formats: Registry[F],
    names: Sequence[str],
    remarks: Remarks,
    *,
    depth: int,
    if_mixed: str,
) -> list[tuple[Path, Path, F]]:
    """Return the files to read, each once, in the order of their names on the command line.

    Each with the folder that was named, or that of a file that was named, and its format.

    Parameters
    ----------
    paths : sequence of Path
        Files and folders.
    formats : Registry
        Tried in their order.
    names : sequence of str
        Of the formats that are wanted; empty for any, and then all files need the same format.
    depth : int
        How many levels of folders below a named one are searched.
    if_mixed : str
        Advice for files of several formats.

    Raises
    ------
    UsageError
        A path does not exist, or a format is unknown.
    DataError
        A file has no known format, a folder contains none that has, or formats are mixed.
    """
    wanted = tuple(formats[name] for name in names)
    found: dict[Path, tuple[Path, Path, F]] = {}
    for path in paths:
        if path.is_dir():
            for each in _in_folder(path, formats, wanted, remarks, depth):
                found.setdefault(each[0].resolve(), each)
        elif not path.exists():
            raise UsageError(f"{path} does not exist.")
        else:
            format = required_format(path, formats, wanted)
            found.setdefault(path.resolve(), (path, root_of(path), format))
    kinds = {format.name: path for path, _, format in found.values()}
    if len(kinds) > 1 and not wanted:
        listed = "; ".join(f"{path} is {name}" for name, path in kinds.items())
        raise DataError(f"Files of several formats: {listed}. {if_mixed}")
    return list(found.values())


def recognise(path: Path, formats: Iterable[F]) -> F | None:
    """Return the format of a file by its content, None if it has none of these.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    head = head_of(path)
    return next((each for each in formats if each.recognises(path, head)), None)


def required_format(path: Path, formats: Registry[F], wanted: tuple[F, ...] = ()) -> F:
    """Return the format of a file: the requested one, else that found by `recognise`.

    Raises
    ------
    DataError
        The file cannot be read, or has no known format or none of several that are wanted.
    """
    format = wanted[0] if len(wanted) == 1 else recognise(path, formats)
    if format is None or (wanted and format not in wanted):
        raise DataError(_refusal(path, formats, wanted))
    return format


def root_of(path: Path) -> Path:
    """Return the absolute path of a folder, or of the folder of a file."""
    return path.absolute() if path.is_dir() else path.absolute().parent


def is_ours(path: Path) -> bool:
    """Tell whether a file in a folder is an output of hindmost, not a result."""
    if path.suffix == ".csv":
        return any(path.with_suffix(suffix).is_file() for suffix in FIGURES)
    return path.name in OURS or path.suffix in PAGES


def _below(folder: Path, depth: int, remarks: Remarks) -> Iterator[Path]:
    """Yield the files in a folder and below, except hidden ones."""
    try:
        inside = [
            path
            for path in sorted(folder.iterdir(), key=by_number)
            if not path.name.startswith(".")
        ]
    except OSError as error:
        remarks.add(
            "folders that cannot be read",
            f"{folder} cannot be read: {error.strerror or error}. The folder is left out.",
        )
        return
    yield from (path for path in inside if path.is_file())
    if depth:
        for inner in inside:
            if inner.is_dir():
                yield from _below(inner, depth - 1, remarks)


def _in_folder(
    folder: Path, formats: Registry[F], wanted: tuple[F, ...], remarks: Remarks, depth: int
) -> list[tuple[Path, Path, F]]:
    """Return the files in a folder and below that have a known format."""
    found: list[tuple[Path, Path, F]] = []
    others: list[str] = []
    for path in _below(folder, depth, remarks):
        if is_ours(path):
            continue
        try:
            format = recognise(path, formats)
        except DataError as error:
            remarks.add("files that cannot be read", f"{error} The file is left out.")
            continue
        if format is not None and (not wanted or format in wanted):
            found.append((path, root_of(folder), format))
        elif path.parent == folder:
            others.append(path.name)
    if not found:
        kind = f"the format {_listed(wanted)}" if wanted else "a known format"
        raise DataError(f"{folder} contains no file of {kind}. {_choices(formats)}")
    expected = {name for _, _, format in found for name in format.companions}
    if others := [name for name in others if name not in expected]:
        remarks.add(
            "folders with other files",
            f"{folder}: left out {first_of(others)} (different format).",
        )
    return found


def _listed(formats: Iterable[Format]) -> str:
    return " or ".join(each.name for each in formats)


def _refusal(path: Path, formats: Registry[F], wanted: tuple[F, ...]) -> str:
    """Say that a file has no known format or not the one that is wanted, and which there are."""
    if path.stat().st_size == 0:
        return f"{path} is empty; it contains no results."
    if wanted:
        return f"{path} does not have the format {_listed(wanted)}. {_choices(formats)}"
    return f"The format of {path} is unknown. {_choices(formats)}"


def _choices(formats: Registry[F]) -> str:
    known = "; ".join(f"{each.name}: {each.looks_like}" for each in formats)
    return " ".join(
        [
            f"Known formats are {known}. If it should be one of these, name the format.",
            *formats.complaints.values(),
        ]
    )


Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

DEPTH_OF_EXPERIMENT, DEPTH_OF_HISTORY = 1, 2
"""Levels of folders below a named one in which files are searched."""


def read_experiment(
    paths: Paths,
    *,
    format: str | None = None,
    metric: str | Sequence[str] | None = None,
    kernel: str | None = None,
    parameters: str | Sequence[str] | None = None,
    over_ranks: str = "mean",
    inclusive: bool = False,
) -> Experiment:
    """Read an experiment.

    Values that are not above zero and finite are left out, points are sorted, and values at one
    point are its repetitions, also those of several files; warnings report it.

    Parameters
    ----------
    paths : path, or paths
        All of one format. Of a folder, the files in it and in the folders in it are taken, except
        hidden ones.
    format : str, optional
        A name of `EXPERIMENT_FORMATS`; recognised by content if it is missing.
    metric : str or sequence of str, optional
        All by default; of run files the median iteration time.
    kernel : str, optional
        A name, or a pattern with ``*`` and ``?``, as ``main->*``.
    parameters : str or sequence of str, optional
        All that the files have by default; of run files the ranks, of Caliper files the number of
        ranks. A varying one that is not requested becomes part of the kernels' names.
    over_ranks : str
        ``mean``, ``maximum`` or ``sum``: how the values of ranks and threads are combined, in
        formats that keep them separate (CUBE, Caliper).
    inclusive : bool
        Include callees in a call path (CUBE).

    Raises
    ------
    UsageError
        A path, format, metric, kernel or parameter does not exist.
    DataError
        A file has no known format, is malformed or empty, files have several formats, a parameter
        is not above zero, or nothing is left to model.
    MissingError
        The format needs a package that is not installed.
    """
    given = list(dict.fromkeys(_paths(paths)))
    if not given:
        raise UsageError("No file to read an experiment from; name files or a folder.")
    request = ExperimentRequest(
        metrics=_names(metric),
        kernel=kernel,
        parameters=_names(parameters),
        over_ranks=over_ranks,
        inclusive=inclusive,
    )
    into = ExperimentGathering()
    files = find_files(
        given,
        EXPERIMENT_FORMATS,
        _names(format),
        into.remarks,
        depth=DEPTH_OF_EXPERIMENT,
        if_mixed="Read one format at a time.",
    )
    files[0][2].read(tuple(path for path, _, _ in files), request, into)
    return into.experiment(
        first_of([str(path) for path in given]), request.metrics, kernel, request.parameters
    )


def read_history(
    paths: Paths,
    *,
    format: str | Sequence[str] | None = None,
    machine: str | None = None,
    case: str | None = None,
    timer: str | None = None,
    larger_is_better: Sequence[str] = (),
) -> History:
    """Read a history of nightly results.

    Values that are not above zero and finite are left out, failed runs are kept separate from
    results, observations are sorted by time, and repeated ones (same time, value and commits) count
    once; warnings report it. A file that cannot be read is left out if others can.
    The order in which files are named does not matter.

    Parameters
    ----------
    paths : path, or paths
        Of a folder, the files in it and in folders up to two levels below are taken, except hidden
        ones.
    format : str or sequence of str, optional
        A name of `HISTORY_FORMATS`; recognised by content if it is missing, and then all files must
        have one format. Several names read files of these formats together, as one history.
    machine, case, timer : str, optional
        A name, or a pattern with ``*`` and ``?``, as ``ant-*``; all by default.
    larger_is_better : sequence of str
        Names or patterns of timers whose values should be large although neither their name nor
        their unit says so.

    Raises
    ------
    UsageError
        A path, format, machine, case or timer does not exist.
    DataError
        A file has no known format, files have several formats, no file can be read, or they contain
        no result.
    """
    given = sorted(set(_paths(paths)))
    if not given:
        raise UsageError("No file to read a history from; name files or a folder.")
    into = HistoryGathering()
    found = find_files(
        given,
        HISTORY_FORMATS,
        _names(format),
        into.remarks,
        depth=DEPTH_OF_HISTORY,
        if_mixed="Give the files of one format, or name the formats (hindmost history --format).",
    )
    found.sort(key=lambda each: each[0].resolve())
    _read_each(found, len({root_of(path) for path in given}) > 1, into)
    for pattern in larger_is_better:
        into.set_larger_is_better(pattern)
    history = into.history(first_of([str(path) for path in given]))
    return select(history, machine=machine, case=case, timer=timer)


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def _read_each(
    files: list[tuple[Path, Path, HistoryFormat]], several: bool, into: HistoryGathering
) -> None:
    """Read files, and remark on those that cannot be read if others can."""
    unreadable: list[DataError] = []
    for path, root, format in files:
        machine = machine_of(path, root, several)
        try:
            # All of a file or nothing.
            found = list(format.read(path, machine, into.remarks))
        except DataError as error:
            unreadable.append(error)
            continue
        into.add(found)
    if unreadable and len(unreadable) == len(files):
        raise unreadable[0]
    for fault in unreadable:
        into.remarks.add("files that cannot be read", f"{fault} The file is left out.")
