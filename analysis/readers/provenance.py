"""What files, and their names and folders, say of results: time, machine, parameters, commits.

A date without an offset counts as UTC: such files seldom say where they were written, and a history
depends only on the order of its nights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.remarks import Remarks
from hindmost.errors import DataError
from hindmost.files import data_errors

LAST_S = 7258118400.0
"""The year 2200, after which no date is right."""

SHOULD_BE = "a date is written as 2021-01-24, 2021-01-24T05:34:11Z or in seconds since 1970"

_DAY = re.compile(r"(\d{4})([-./])(\d{1,2})\2(\d{1,2})(?!\d)")
_COMPACT = re.compile(r"\d{8}(?:[T_-]?\d{6}Z?)?")
_IN_NAME = re.compile(
    r"(?<!\d)((?:19|20|21)\d{2})([-_.]?)([01]\d)\2([0-3]\d)"
    r"(?:[T_.-]*([0-2]\d)([-:_.]?)([0-5]\d)\6([0-5]\d)Z?)?(?!\d)"
)
_LARGEST = ((1e11, 1.0), (1e14, 1e-3), (1e17, 1e-6), (1e20, 1e-9))
"""Counts since 1970 up to which the unit is seconds, milliseconds, microseconds, nanoseconds."""


def seconds_since_1970(value: Any, where: str) -> float:
    """Return a point in time: a text or a number.

    Parameters
    ----------
    value : text or number
        ISO 8601, also with dots or slashes for hyphens, also compact as 20210124 (eight digits
        are a day); or a count of seconds since 1970, of milliseconds, microseconds or nanoseconds
        if it is that large.

    Raises
    ------
    DataError
        It is not a date, or one before 1970 or after 2200.
    """
    found = None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        found = _parsed(value.strip() if isinstance(value, str) else value)
    if found is None or not 0.0 <= found < LAST_S:
        raise DataError(f"{where}: {str(value)[:40]!r} is not a date; {SHOULD_BE}.")
    return found


@lru_cache(maxsize=1 << 14, typed=True)
def _parsed(value: str | float) -> float | None:
    """Return a point in time; None if the value is not one."""
    text = str(value)
    try:
        if _DAY.match(text) or _COMPACT.fullmatch(text):
            return _of(text)
        count = float(value)  # whose size shows its unit
        return next((count * unit for most, unit in _LARGEST if 0.0 <= count < most), None)
    except (ValueError, OverflowError):
        return None


def _of(text: str) -> float:
    """Return a point in time that is written in a way of `seconds_since_1970`."""
    day = _DAY.match(text)
    if day is not None:  # ISO 8601 has hyphens, and two digits each
        year, _, month, date = day.groups()
        clock = text[day.end() :].strip().lstrip("T")
        clock = re.sub(r"^\d:", "0\\g<0>", clock).replace(" ", "").replace("UTC", "Z")
        text = f"{year}-{month:0>2}-{date:0>2}{f'T{clock}' if clock else ''}"
    moment = datetime.fromisoformat(text.replace("_", "T"))
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def date_in_name(name: str) -> float | None:
    """Return the point in time in a file's name, as of ``ctest-20210124.json``; None without."""
    for match in _IN_NAME.finditer(name):
        year, _, month, day, hour, _, minute, second = match.groups()
        try:
            clock = f"T{hour}:{minute}:{second}" if hour else ""
            return _of(f"{year}-{month}-{day}{clock}")
        except ValueError:
            continue
    return None


def without_date(name: str) -> str:
    """Return a file's name without dates and their separators."""
    rest = _IN_NAME.sub("", name)
    return re.sub(r"([-_. ])[-_. ]+", r"\1", rest).strip("-_. ") or name


_KEY = re.compile(
    r"(.*?)[\s_-]*(?:git[\s_-]*)?(?:commit|revision|sha1?|changeset)(?:[\s_-]*(?:id|hash|sha1?))?",
    re.IGNORECASE,
)
_FULL = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)

UNKNOWN = ("", "unversioned", "unknown", "none", "null", "n/a", "-")
"""Texts that files write for an unknown commit."""


@lru_cache(maxsize=4096)
def repository_in(key: str) -> str | None:
    """Return which repository the commit in a key or column belongs to.

    ``Albany git commit id`` is of Albany, ``commit`` and ``git_commit`` of a repository without a
    name (an empty text), and ``compiler`` of none (None).
    """
    match = _KEY.fullmatch(key.strip())
    return None if match is None else match[1]


def commits_in(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return repository to commit, of all keys with a known one."""
    commits: dict[str, str] = {}
    for key, value in fields.items():
        repository = repository_in(key)
        if repository is None or isinstance(value, bool) or not isinstance(value, str | int):
            continue
        commit = str(value).strip()
        if commit.lower() not in UNKNOWN:
            commits[repository] = commit
    return commits


def short_commit(text: str) -> str:
    """Shorten the full hashes in a text, as ``a1b2c3d4e5f6 with changes``; versions stay."""
    return _FULL.sub(lambda found: found[0][:12], text)


def commits_text(parts: Mapping[str, str]) -> str:
    """Write commits for a person: ``Albany abc123, Trilinos def456``."""
    return ", ".join(
        f"{repository} {short_commit(commit)}".strip() for repository, commit in parts.items()
    )


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
    with data_errors(path, "read"):
        return path.stat().st_mtime


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
