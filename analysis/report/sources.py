"""What the files of a report are: runs, experiments, or histories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hindmost.analysis.history.dates import SECONDS_A_DAY, newest
from hindmost.analysis.readers.read import (
    DEPTH_OF_HISTORY,
    EXPERIMENT_FORMATS,
    HISTORY_FORMATS,
    is_ours,
    read_history,
    recognise,
)
from hindmost.errors import DataError, NotARunFileError, UsageError
from hindmost.text import by_number, either

RUNS, EXPERIMENT, HISTORY = "runs", "experiment", "history"
EARLIEST = 20 * 365.25 * SECONDS_A_DAY
"""Seconds since 1970. What a table calls a time and lies before it is no date but a measurement."""
RUN_SUFFIX = ".h5"


def sort_sources(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Return files and folders by what they contain: all nightly results are of one history.

    Raises
    ------
    UsageError
        A path does not exist.
    NotARunFileError
        A file has no known format.
    """
    found: dict[str, list[Path]] = {RUNS: [], EXPERIMENT: [], HISTORY: []}
    for path in dict.fromkeys(paths):
        found[kind_of(path)].append(path)
    return found


def kind_of(path: Path) -> str:
    """Return what a file or folder contains."""
    if not path.exists():
        raise UsageError(f"{path} does not exist.")
    if path.is_dir():
        return kind_of_folder(path)
    if path.suffix == RUN_SUFFIX:
        return RUNS
    kind = kind_of_file(path)
    if kind is None:
        names = sorted({each.name for each in (*EXPERIMENT_FORMATS, *HISTORY_FORMATS)})
        raise NotARunFileError(
            f"The format of {path} is unknown. A report takes run files, experiments and "
            f"histories: {either(names)}."
        )
    return kind


def kind_of_folder(folder: Path) -> str:
    """Return what a folder contains; one with run files is read for them alone."""
    files = [
        path
        for level in range(DEPTH_OF_HISTORY + 1)
        for path in sorted(folder.glob("/".join(["*"] * (level + 1))), key=by_number)
        if path.is_file() and not path.name.startswith(".")
    ]
    if any(file.suffix == RUN_SUFFIX and file.parent == folder for file in files):
        return RUNS
    kinds = {kind_of_file(file) for file in files if not is_ours(file)}
    return next((kind for kind in (HISTORY, EXPERIMENT) if kind in kinds), RUNS)


def kind_of_file(path: Path) -> str | None:
    """Return what a file contains by its format; None if that is unknown."""
    experiment, history = (recognise(path, each) for each in (EXPERIMENT_FORMATS, HISTORY_FORMATS))
    if experiment is not None and history is not None:  # a table of either kind
        try:
            found = read_history([path], format=history.name)
        except DataError:
            return EXPERIMENT
        return EXPERIMENT if newest(found) < EARLIEST else HISTORY
    if history is not None:
        return HISTORY
    return None if experiment is None else EXPERIMENT
