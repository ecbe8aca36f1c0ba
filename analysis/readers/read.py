"""Experiments and histories, read from files of any known format and from folders of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.find import FoundFile, find_files, root_of
from hindmost.analysis.readers.format import ExperimentRequest, HistoryFile, HistoryFormat
from hindmost.analysis.readers.gather_experiment import ExperimentGathering
from hindmost.analysis.readers.gather_history import HistoryGathering
from hindmost.analysis.readers.history import History
from hindmost.analysis.readers.path_names import machine_of
from hindmost.analysis.readers.registry import EXPERIMENT_FORMATS, HISTORY_FORMATS
from hindmost.analysis.readers.remarks import Remarks, first_few
from hindmost.errors import DataError, UsageError
from hindmost.files import read_bytes

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
    files[0].format.read(tuple(each.path for each in files), request, into)
    return into.experiment(
        first_few([str(path) for path in given]), request.metrics, kernel, request.parameters
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
        if_mixed="Name the format to read, or name all of them to read them as one history.",
    )
    found = _without_copies(sorted(found, key=lambda each: each.path.resolve()), into.remarks)
    _read_each(found, len({root_of(path) for path in given}) > 1, into)
    for pattern in larger_is_better:
        into.set_larger_is_better(pattern)
    return into.history(first_few([str(path) for path in given]), machine, case, timer)


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def _without_copies(
    files: list[FoundFile[HistoryFormat]], remarks: Remarks
) -> list[FoundFile[HistoryFormat]]:
    """Return files without copies of others, for contents without a date."""
    dated_by = {each.path: each.format.dated_by for each in files}
    undated = {path: date_of(path) for path, date_of in dated_by.items() if date_of is not None}
    first: dict[bytes, Path] = {}
    copies: set[Path] = set()
    for path in sorted(undated, key=lambda path: (undated[path], path)):
        original = first.setdefault(hashlib.sha256(read_bytes(path)).digest(), path)
        if original != path:
            copies.add(path)
            remarks.add("copies", f"{path} is a copy of {original}; left out.")
    return [each for each in files if each.path not in copies]


def _read_each(
    files: list[FoundFile[HistoryFormat]], several: bool, into: HistoryGathering
) -> None:
    """Read files, and remark on those that cannot be read if others can."""
    unreadable: list[DataError] = []
    machines = [machine_of(each.path, each.root, several) for each in files]
    below = [
        each.path.parent
        for each, name in zip(files, machines, strict=True)
        if name and name == each.path.absolute().parent.name
    ]
    if below and not all(machines):
        into.remarks.add(
            "folders that name a machine",
            f"{below[0]} is taken for the results of a machine {below[0].name!r}, as its name is "
            "no date, while files outside it name no machine. If it is none, move its files.",
        )
    for each, name in zip(files, machines, strict=True):
        source = HistoryFile(path=each.path, folder_machine=name)
        try:
            # All of a file or nothing.
            found = list(each.format.read(source, into.remarks))
        except DataError as error:
            unreadable.append(error)
            continue
        into.add(found)
    if unreadable and len(unreadable) == len(files):
        raise unreadable[0]
    for fault in unreadable:
        into.remarks.add("files that cannot be read", f"{fault} The file is left out.")
