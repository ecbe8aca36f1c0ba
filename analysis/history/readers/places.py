"""Machines in the names of folders, for formats whose files do not name theirs."""

from __future__ import annotations

import re
from pathlib import Path

from hindmost.analysis.history.readers.dates import date_in_name

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
    for, so that machines are never mixed. A folder of a date is no machine's.

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
