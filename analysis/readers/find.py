"""Experiments found by what is in the files, whatever they are called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from hindmost.analysis.readers.beside import is_ours
from hindmost.analysis.readers.caliper import CALIPER
from hindmost.analysis.readers.cube import CUBE
from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.gathering import Gathering
from hindmost.analysis.readers.head import head_of
from hindmost.analysis.readers.json_document import JSON
from hindmost.analysis.readers.json_lines import JSON_LINES, TALPAS
from hindmost.analysis.readers.remarks import some
from hindmost.analysis.readers.request import Format, Request
from hindmost.analysis.readers.run_files import RUNS
from hindmost.analysis.readers.table import TABLE
from hindmost.analysis.readers.text import TEXT
from hindmost.errors import DataError, UsageError

FORMATS = {each.name: each for each in (RUNS, CUBE, CALIPER, JSON_LINES, TALPAS, JSON, TEXT, TABLE)}
"""Every format by its name, in the order in which they are tried."""


def read_experiment(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    metric: str | Sequence[str] | None = None,
    kernel: str | None = None,
    parameters: str | Sequence[str] | None = None,
    over_ranks: str = "mean",
    inclusive: bool = False,
) -> Experiment:
    """Read an experiment from files of any known format, and from folders of them.

    Values that are not above zero and finite are left out, points are sorted, and values at one
    point are its repetitions, also those of several files; the warnings say what was done.

    Parameters
    ----------
    paths : path, or paths
        All of one format. Of a folder, the files in it and in the folders in it are taken, except
        hidden ones.
    format : str, optional
        A name of `FORMATS`; found by content if it is missing.
    metric : str or sequence of str, optional
        All by default; of run files the median iteration time.
    kernel : str, optional
        A name, or a pattern with ``*`` and ``?``, as ``main->*``.
    parameters : str or sequence of str, optional
        All that the files have by default; of run files the ranks, of Caliper files the number of
        ranks. One that is not asked for becomes part of the kernels' names where it varies.
    over_ranks : str
        ``mean``, ``maximum`` or ``sum``: how the values of ranks and threads become one, in
        formats that hold them apart (CUBE, Caliper).
    inclusive : bool
        Count into a call path what it calls (CUBE).

    Raises
    ------
    UsageError
        A path, format, metric, kernel or parameter that there is not.
    DataError
        A file that is of no known format, malformed or empty, files of several formats, a
        parameter that is not above zero, or nothing left to model.
    MissingError
        The format needs a package that is not installed.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    given = [Path(path) for path in paths]
    if not given:
        raise UsageError("No file to read an experiment from; name files or a folder.")
    request = Request(
        metrics=_names(metric),
        kernel=kernel,
        parameters=_names(parameters),
        over_ranks=over_ranks,
        inclusive=inclusive,
    )
    if format is not None and format not in FORMATS:
        raise UsageError(f"Unknown format '{format}'; choose from: {', '.join(FORMATS)}.")
    into = Gathering()
    files, found = _files(given, None if format is None else FORMATS[format], into)
    found.read(files, request, into)
    return into.experiment(
        some([str(path) for path in given]), request.metrics, kernel, request.parameters
    )


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def recognise(path: Path) -> Format | None:
    """Return the format of a file by its content, None if it is of no known one.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    head = head_of(path)
    return next((each for each in FORMATS.values() if each.recognises(path, head)), None)


def _files(
    given: list[Path], wanted: Format | None, into: Gathering
) -> tuple[tuple[Path, ...], Format]:
    """Return the files to read, each once, and their format."""
    formats: dict[Path, Format] = {}
    for path in given:
        if path.is_dir():
            formats.update(_in_folder(path, wanted, into))
        elif not path.exists():
            raise UsageError(f"{path} does not exist.")
        else:
            found = wanted or recognise(path)
            if found is None:
                raise DataError(_unknown(path))
            formats[path] = found
    kinds = {each.name: path for path, each in formats.items()}
    if len(kinds) > 1:
        told = "; ".join(f"{path} is {name}" for name, path in kinds.items())
        raise DataError(f"Files of several formats: {told}. Read one format at a time.")
    return tuple(formats), next(iter(formats.values()))


def _in_folder(folder: Path, wanted: Format | None, into: Gathering) -> dict[Path, Format]:
    """Return the files in a folder and the folders in it that are of a known format."""
    inside = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    deeper = [
        path
        for inner in inside
        if inner.is_dir()
        for path in sorted(inner.iterdir())
        if path.is_file() and not path.name.startswith(".")
    ]
    formats: dict[Path, Format] = {}
    strange: list[str] = []
    for path in [*(path for path in inside if path.is_file()), *deeper]:
        if is_ours(path):
            continue
        found = recognise(path)
        if found is not None and (wanted is None or found is wanted):
            formats[path] = found
        elif path.parent == folder:
            strange.append(path.name)
    if not formats:
        kind = "a known format" if wanted is None else f"the format {wanted.name}"
        raise DataError(f"{folder} holds no file of {kind}. {_choices()}")
    if strange:
        into.remarks.add(
            "folders with other files", f"{folder}: left out {some(strange)}, of another format."
        )
    return formats


def _unknown(path: Path) -> str:
    """Say that a file is of no known format, and which there are."""
    if path.stat().st_size == 0:
        return f"{path} is empty; there is nothing to model."
    return f"{path} is of no known format. {_choices()}"


def _choices() -> str:
    known = "; ".join(f"{each.name}: {each.looks_like}" for each in FORMATS.values())
    return f"Known are {known}. Name the format if it is one of these."
