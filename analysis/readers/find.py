"""Files of known formats, recognised by their contents: those that are named, and those in folders.

A file that is named is read or refused. In a folder, hidden files are passed over, and so is what
hindmost itself writes next to results; a remark lists other files that have no known format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from hindmost.analysis.readers.format import Format
from hindmost.analysis.readers.remarks import Remarks, first_few
from hindmost.analysis.readers.text_files import head_of
from hindmost.errors import DataError, UsageError
from hindmost.registry import Registry

COLLECTED, MARK = "collected.json", b'"study_sha256"'
"""The table of ``hindmost study collect``: the run and the machine of each file."""
KNOWN_CHANGES = "hindmost-acknowledged.toml"
"""The file in which ``hindmost history ack`` notes known changes of a history."""
PAGES, HTML = (".html", ".htm"), b"<!doctype html"
"""No page contains results, neither ours nor another's."""
FIGURES = (".png", ".pdf", ".svg")
"""Next to a figure is a CSV file of its name, with the numbers that were plotted."""

F = TypeVar("F", bound=Format)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile(Generic[F]):
    """A file to read.

    Attributes
    ----------
    path : Path
    root : Path
        The folder that was named, or that of a file that was named.
    format : Format
    """

    path: Path
    root: Path
    format: F


def find_files(
    paths: Sequence[Path],
    formats: Registry[F],
    names: Sequence[str],
    remarks: Remarks,
    *,
    depth: int,
    if_mixed: str,
) -> list[FoundFile[F]]:
    """Return the files to read, each once, in the order of their names on the command line.

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
    found: dict[Path, FoundFile[F]] = {}
    for path in paths:
        if path.is_dir():
            for each in _in_folder(path, formats, wanted, remarks, depth):
                found.setdefault(each.path.resolve(), each)
        elif not path.exists():
            raise UsageError(f"{path} does not exist.")
        else:
            format = required_format(path, formats, wanted)
            found.setdefault(
                path.resolve(), FoundFile(path=path, root=root_of(path), format=format)
            )
    kinds = {each.format.name: each.path for each in found.values()}
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
    """Tell whether a file in a folder is an output of hindmost, not a result.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    if path.suffix == ".csv":
        return any(path.with_suffix(suffix).is_file() for suffix in FIGURES)
    if path.suffix in PAGES:
        return head_of(path).lstrip().lower().startswith(HTML)
    return path.name == COLLECTED and MARK in head_of(path)


def _below(folder: Path, depth: int, remarks: Remarks) -> Iterator[Path]:
    """Yield the files in a folder and below, except hidden ones."""
    try:
        inside = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
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
) -> list[FoundFile[F]]:
    """Return the files in a folder and below that have a known format."""
    found: list[FoundFile[F]] = []
    others: list[str] = []
    for path in _below(folder, depth, remarks):
        try:
            if is_ours(path):
                continue
            format = recognise(path, formats)
        except DataError as error:
            remarks.add("files that cannot be read", f"{error} The file is left out.")
            continue
        if format is not None and (not wanted or format in wanted):
            found.append(FoundFile(path=path, root=root_of(folder), format=format))
        elif path.parent == folder:
            others.append(path.name)
    if not found:
        kind = f"the format {_listed(wanted)}" if wanted else "a known format"
        raise DataError(f"{folder} contains no file of {kind}. {_choices(formats)}")
    expected = {KNOWN_CHANGES, *(name for each in found for name in each.format.companions)}
    if others := [name for name in others if name not in expected]:
        remarks.add(
            "folders with other files",
            f"{folder}: left out {first_few(others)} (different format).",
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
