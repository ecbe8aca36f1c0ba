"""Information in names of files and folders: a machine, a date, or the parameters of a run."""

from __future__ import annotations

import re
from pathlib import Path

from hindmost.analysis.readers.dates import date_in_name
from hindmost.analysis.readers.remarks import Remarks
from hindmost.errors import DataError

_LETTER = r"[^\W\d_]"
_PAIR = re.compile(rf"({_LETTER}(?:[^\d.,]*{_LETTER})?)(\d+(?:[.,]\d+)?)[.,]?")
_REPETITION = re.compile(r"\.r\d*$")
_RESULTS = re.compile(
    r"[-_. ]+(?:nightly|nightlies|results?|data|performance|perf|history|timings?|runs?).*",
    re.IGNORECASE,
)


def machine_in(folder: str) -> str:
    """Return the machine that a folder of results is of, empty if its name does not say it.

    ``blake_nightly_data`` and ``blake-results`` are of ``blake``.
    """
    match = _RESULTS.search(folder)
    return folder[: match.start()] if match is not None else ""


def machine_of(file: Path, root: Path, several: bool) -> str:
    """Return the machine that the folder of a file is of, empty if it does not say it.

    The first of: what `machine_in` reads from the name of the file's folder, the name of this
    folder if it is below the one that was asked for, and the latter's name if several were asked
    for, so that machines are never mixed. A folder named by a date does not name a machine.

    Parameters
    ----------
    root : Path
        The folder that was asked for, or that of a file that was.
    """
    folder = file.absolute().parent
    said = machine_in(folder.name)
    if said or not (several or folder != root.absolute()):
        return said
    is_dated = date_in_name(folder.name) is not None or not re.search("[^\\W\\d]", folder.name)
    return "" if is_dated else folder.name


def date_of(file: Path) -> float | None:
    """Return the date in the name of a file or of its folder, None without."""
    dates = (date_in_name(name) for name in (file.name, file.absolute().parent.name))
    return next((date for date in dates if date is not None), None)


def dated(path: Path, remarks: Remarks) -> float:
    """Return the date of a file that has none in it; of one dated by its modification, say so.

    Raises
    ------
    DataError
        The file is not there.
    """
    named = date_of(path)
    if named is not None:
        return named
    remarks.add(
        "files dated by their modification",
        f"{path} has no date in its contents, its name or its folder's name; dated by its "
        "last modification, which a copy may have changed. Put the date into the name: "
        f"NAME-2021-01-24{path.suffix}.",
    )
    try:
        return path.stat().st_mtime
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def parameters_in(name: str) -> dict[str, float]:
    """Return the parameters in the name of a folder, as Extra-P's users write them; may be empty.

    ``PREFIX.p4.n10.r1``: a prefix up to the first dot, pairs of a parameter's name and its value,
    together or separated by dots or commas, and the number of the repetition. Prefix and repetition
    may be missing. A value may have a decimal point or comma: ``mm.a1.5b2``, ``mm.x1,5.y2``.
    """
    pairs = _REPETITION.sub("", name)
    rest = pairs.partition(".")[2]
    if rest[:1].isalpha():
        pairs = rest
    parameters: dict[str, float] = {}
    at = 0
    while at < len(pairs):
        match = _PAIR.match(pairs, at)
        if match is None or match[1] in parameters:
            return {}
        parameters[match[1]] = float(match[2].replace(",", "."))
        at = match.end()
    return parameters
