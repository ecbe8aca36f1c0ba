"""Contents of text files: lines, tables with a header, and JSON; a fault is told with its place.

Tables are CSV, also with semicolons or tabs. Numbers have a decimal point or comma: what a file
shows decides for all its numbers. ``0,160`` can only be a fraction, and ``1,234.5`` only a number
above a thousand. ``12,132`` may be either; it is read like the other numbers of its file, and where
these do not show it, `gather_history` decides by the other nights of the series.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.remarks import Remarks
from hindmost.errors import DataError
from hindmost.files import data_errors, open_regular, read_bytes
from hindmost.parsing import as_number, parse_json


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    with data_errors(path, "read"), open_regular(path) as file:
        return file.read(1 << 16)


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text, with or without a byte-order mark.

    Raises
    ------
    DataError
        It cannot be read, is empty, or is not UTF-8.
    """
    with data_errors(path, "read"):
        data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8. "
            "Save the file in this encoding (iconv -t UTF-8)."
        ) from error
    if not text.strip():
        raise DataError(f"{path} is empty; it contains no results.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: a zero byte; this is not a text file.")
    return text


def split_lines(text: str) -> list[str]:
    """Split at the ends of lines only, so that numbers of lines are those of an editor."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def first_line(head: bytes) -> str:
    """Return the first line of a file's first bytes that is neither blank nor a comment."""
    for line in split_lines(head.decode("utf-8-sig", errors="replace")):
        if line.strip() and not line.lstrip().startswith("#"):
            return line.strip()
    return ""


IN_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
"""Units of time, as tools write them."""

_OTHER_UNIT = re.compile(
    r"%|percent|[kmgtp]?i?(?:b|bit|byte|flop|op|hz|j|w|pa|m|g)s?|k?wh|joules?|watts?|celsius|°?c|k|v|a"
    r"|counts?|calls?|messages?|iterations?|(?:degrees of freedom|dofs?|cells?|elements?|points?)",
    re.IGNORECASE,
)
"""Units of other quantities, without what they are divided by."""

_RATE = re.compile(
    r"per[\s-]?(?:s|sec|second|min|minute|hour|day)\b|/\s?(?:s|sec|second|minute|hour|hr|day)\b"
    r"|/\s?(?:min|h|d)\]"  # in a unit; in a name it may be the end of a call path
    r"|throughput|bandwidth|flops|speed-?up|\bspeed\b|\bfps\b|\b[kmg]?hz\b|efficiency"
    r"|\b(?:[kmgt]?dofs?|mlups?|ops|iops|[tqr]ps|[kmgt]?teps|sypd|score|fom|figure of merit)\b"
    r"|\bhit[\s-]?(?:rate|ratio)\b",
    re.IGNORECASE,
)
"""Names and units of metrics that should be large."""
_TIME_PER = re.compile(
    r"\b(?:s|sec|seconds?|ms|min|minutes?|h|hours?|time)\s?(?:/|\bper\b)", re.IGNORECASE
)
"""Times of one unit of work, such as ``s/day``: they should be small, unlike ``ns/day``."""


def unit_of(text: str | None) -> str:
    """Write a unit as experiments do: ``s`` for all names of the second."""
    text = (text or "").strip()
    return "s" if IN_SECONDS.get(text.lower()) == 1.0 else text


def is_unit(text: str) -> bool:
    """Tell whether a text is a unit, as opposed to another remark in parentheses.

    ``s``, ``MB/s``, ``GFLOP/s`` and ``bytes`` are; ``mean`` and ``rank 0`` are not.
    """
    parts = [part.strip() for part in re.split(r"/|\bper\b|\*", text)]
    return all(
        part.lower() in IN_SECONDS or _OTHER_UNIT.fullmatch(part) is not None for part in parts
    )


def plain_unit(text: str) -> tuple[str, float]:
    """Return the unit of a series, and the factor for values in the file's unit.

    Every time becomes seconds, so that a benchmark whose unit is changed from one night to the next
    stays one series.
    """
    text = text.strip()
    factor = IN_SECONDS.get(text.lower())
    return ("s", factor) if factor is not None else (text, 1.0)


def smaller_is_better(timer: str, unit: str) -> bool:
    """Tell from name and unit whether a metric should be small (times) or large (rates)."""
    if unit == "s":
        return True
    name = f"{timer} [{unit}]".replace("_", " ")
    return _TIME_PER.search(name) is not None or _RATE.search(name) is None


COMMA, POINT = ",", "."
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")
"""A whole number with a mark before every three digits."""
_SPACED = re.compile(r"[-+]?\d{1,3}(?:[\s'’]\d{3})+(?:[.,]\d*)?")
"""A number with a space or an apostrophe before every three digits."""


def decimal_mark(texts: Iterable[str]) -> str | None:
    """Return the decimal mark that all numbers among some texts agree on; None if none shows it."""
    marks = {mark for text in texts if (mark := _shown_by(_closed(text))) is not None}
    return marks.pop() if len(marks) == 1 else None


def _closed(text: str) -> str:
    """Return a text without spaces around it, and without those before thousands."""
    text = text.strip()
    return re.sub(r"[\s'’]", "", text) if _SPACED.fullmatch(text) else text


def _shown_by(text: str) -> str | None:
    """Return the decimal mark that a number shows; None if both are possible, or none."""
    if not _NUMBER.fullmatch(text):
        return None
    last = max(COMMA, POINT, key=text.rfind)
    other = COMMA if last == POINT else POINT
    if text.rfind(last) < 0:
        return None
    grouped = _GROUPED.fullmatch(text)
    if text.count(last) > 1:
        return other if grouped else None
    if other in text:
        return last if _GROUPED.fullmatch(text.rpartition(last)[0]) else None
    return None if grouped else last


def number_in(text: str, mark: str | None) -> float | None:
    """Return the number that a text is; None if it is none, or if its comma may mean either.

    Parameters
    ----------
    mark : str or None
        The decimal mark of the file; None if it is unknown: a single point is decimal then.
    """
    text = _closed(text)
    shown = _shown_by(text) or mark
    if shown is None and COMMA in text:
        return None
    decimal = shown or POINT
    grouping = COMMA if decimal == POINT else POINT
    whole, mark, fraction = text.partition(decimal)
    if grouping in text:
        if not _GROUPED.fullmatch(whole):
            return None
        whole = whole.replace(grouping, "")
    return as_number(f"{whole}{POINT if mark else ''}{fraction}")


def as_fraction(text: str) -> float | None:
    """Return the number of a text whose comma may mean either, read as a decimal comma."""
    plain = text.strip()
    grouped = _GROUPED.fullmatch(plain)
    is_either = grouped is not None and grouped[1] == COMMA and plain.count(COMMA) == 1
    return as_number(plain.replace(COMMA, POINT)) if is_either else None


_UNIT = re.compile(r"^(.*?)\s*(?:\[([^\]]*)\]|\(([^()]*)\))$")

_LIKE_NUMBER = re.compile(r"^[-+]?[.,]?\d[\d.,]*(?:[eE][-+]?\d+)?$|^(?:nan|[-+]?inf)$", re.I)

RANK, HOST, REPETITION = "rank", "host", "repetition"
ROLES = {
    RANK: ("rank", "rank id", "process", "proc", "process rank", "pe", "task", "task id"),
    HOST: ("host", "hostname", "host name", "node", "nodename", "node name", "machine"),
    REPETITION: ("repetition", "rep", "repeat", "replicate", "trial", "run", "sample"),
    "identifier": (
        "id",
        "index",
        "seed",
        "timestamp",
        "date",
        "pid",
        "tid",
        "job",
        "jobid",
        "commit",
    ),
    "place": ("core", "cpu", "socket", "slot", "thread"),
}
"""Columns that are no measurement, by their usual names: ``MPI Rank``, ``rank_id``, ``host``."""

Row = tuple[int, list[str]]
"""The number of a row's last line, and its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table with a header.

    Attributes
    ----------
    path : Path
    line : int
        Of the header.
    header : list of str
    rows : list of Row
        As long as the header.
    decimal : str or None
        The decimal mark of numbers, a point or a comma; None if no number shows it.
    """

    path: Path
    line: int
    header: list[str]
    rows: list[Row]
    decimal: str | None

    def number(self, field: str) -> float | None:
        """Return the number in a field, None of other text."""
        return number_in(field, self.decimal)

    def is_text(self, column: int) -> bool:
        """Tell whether a column has texts, and nothing that looks like a number."""
        fields = [row[column] for _, row in self.rows if row[column]]
        return bool(fields) and not any(_LIKE_NUMBER.match(field) for field in fields)


def read_text_table(path: Path, should_be: str, remarks: Remarks | None = None) -> TextTable:
    """Read a table.

    Parameters
    ----------
    should_be : str
        How a table of this sort looks, for the message.
    remarks : Remarks or None
        Rows that are shorter or longer than the header are left out with a remark, if there are
        remarks; otherwise they are refused.

    Raises
    ------
    DataError
        The file cannot be read, a line is not a row, or no row is below the header.
    """
    text = "\n".join(with_header(split_lines(read_text(path))))
    separator = separator_of(first_line(text[: 1 << 16].encode())) or ","
    rows = list(numbered_rows(text, separator, path))
    if len(rows) < 2:
        raise DataError(f"{path} has no rows below its header; {should_be}.")
    (line, header), *rows = rows
    for number, fields in rows:
        if len(fields) != len(header):
            fault = (
                f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}"
            )
            if remarks is None:
                raise DataError(f"{fault}; {should_be}.")
            remarks.add("rows whose length differs from the header", f"{fault}; left out.")
    rows = [row for row in rows if len(row[1]) == len(header)]
    decimal = decimal_of([field for _, fields in rows for field in fields], separator)
    return TextTable(path=path, line=line, header=header, rows=rows, decimal=decimal)


def with_header(lines: list[str]) -> list[str]:
    """Return the lines of a table with its header, if that is a comment, as one of them.

    Some programs write ``# ranks, time`` above rows of numbers.
    """
    bare = [line.lstrip() for line in lines]
    first = next((at for at, line in enumerate(bare) if line and not line.startswith("#")), 0)
    separator = separator_of(bare[first]) if first else None
    if separator is None:
        return lines
    header = split_row(bare[first - 1].lstrip("# "), separator)
    row = split_row(bare[first], separator)
    if (
        len(header) != len(row)
        or not all(map(_LIKE_NUMBER.match, row))
        or any(map(_LIKE_NUMBER.match, header))
    ):
        return lines
    return [*lines[: first - 1], bare[first - 1].lstrip("# "), *lines[first:]]


def decimal_of(fields: list[str], separator: str) -> str | None:
    """Return the decimal mark of a table: what its numbers show, else that of its separator.

    Semicolons separate fields where commas are decimal.
    """
    if not any(COMMA in field for field in fields):
        return None
    shown = decimal_mark(fields)
    if shown is None and separator == ";" and not any(POINT in field for field in fields):
        return COMMA
    return shown


def separator_of(line: str) -> str | None:
    """Return the separator of a header: a tab, a semicolon or a comma."""
    return next((each for each in ("\t", ";", ",") if each in line), None)


def split_row(line: str, separator: str) -> list[str]:
    """Return the fields of one line, none if it is not a row."""
    try:
        rows = list(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return []
    return [field.strip() for field in rows[0]] if rows else []


def header_and_first_row(head: bytes) -> tuple[list[str], list[str] | None] | None:
    """Return the header of a table and its first row, if there is one; None of another file.

    Parameters
    ----------
    head : bytes
        As returned by `head_of`.
    """
    if b"\0" in head:
        return None
    lines = with_header(split_lines(head.decode("utf-8-sig", errors="replace")))
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:2]
    separator = separator_of(lines[0]) if lines else None
    if separator is None or lines[0].lstrip().startswith(("{", "[")):
        return None
    return split_row(lines[0], separator), split_row(lines[1], separator) if lines[1:] else None


def name_and_unit(field: str) -> tuple[str, str]:
    """Return name and unit of a column, as of ``time [s]`` or ``time (s)``.

    The unit may be empty. In brackets anything is a unit; in parentheses only what is one, since
    ``time (mean)`` and ``time (max)`` are names.
    """
    match = _UNIT.match(field)
    if match is None or not match[1] or (match[2] is None and not is_unit(match[3])):
        return field, ""
    return match[1], match[3] if match[2] is None else match[2]


def role_of(name: str) -> str | None:
    """Return the role of a column that is no measurement; None of all others."""
    words = re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()
    plain = words.removeprefix("mpi ")
    for role, names in ROLES.items():
        if plain in names or plain.replace(" ", "") in names:
            return role
    return "identifier" if words.endswith(" id") else None


def numbered_rows(text: str, separator: str, path: Path) -> Iterator[Row]:
    """Yield the rows, each with the number of its last line, without blank lines and comments.

    Raises
    ------
    DataError
        A line is not a row.
    """
    number = 0

    def numbered() -> Iterator[str]:
        nonlocal number
        for line in split_lines(text):
            number += 1
            if line.strip() and not line.lstrip().startswith("#"):
                yield line + "\n"

    rows = csv.reader(numbered(), delimiter=separator, skipinitialspace=True)
    try:
        for fields in rows:
            yield number, [field.strip() for field in fields]
    except csv.Error as error:
        raise DataError(f"{path}, line {number}: not a row of a table ({error}).") from None


JsonObject = dict[str, Any]

_NOT_FINITE = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\w.])([-+]?)(?:(nan(?:\([\w]*\))?|1\.#\w+)|inf(?:inity)?)(?![\w.])',
    re.IGNORECASE,
)
"""A text, or a number that is not finite as C prints it: ``nan``, ``-inf``, ``-nan(ind)``."""


def _as_json(found: re.Match[str]) -> str:
    """Return such a number as Python reads it in JSON, and a text as it is."""
    if found[0].startswith('"'):
        return found[0]
    return "NaN" if found[2] else f"{found[1].strip('+')}Infinity"


SORTS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
"""Names of JSON types, by Python's types."""


def load(text: str, where: str, first_line: int = 1) -> Any:
    """Read JSON.

    Raises
    ------
    DataError
        It is not JSON, or an object has a key twice, of which one would be lost.
    """
    try:
        try:
            return parse_json(text)
        except json.JSONDecodeError:
            # Printed by C: one such number never costs the file.
            return parse_json(_NOT_FINITE.sub(_as_json, text))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}, line {error.lineno + first_line - 1}, column {error.colno}: not JSON "
            f"({error.msg}). The file may have been cut off."
        ) from None
    except ValueError as error:
        place = f"{where}, line {first_line}" if first_line > 1 else where
        raise DataError(f"{place}: not JSON that can be read ({error}).") from None


def read_object(path: Path) -> JsonObject:
    """Read a file that contains one object.

    Raises
    ------
    DataError
        The file cannot be read, is not JSON, or contains something else.
    """
    found: JsonObject = expect(load(read_text(path), str(path)), dict, f"{path}: the document")
    return found


def to_number(value: Any, where: str) -> float:
    """Return a number as a float; null is NaN, a number too large for a float is infinite.

    Raises
    ------
    DataError
        It is not a number.
    """
    if isinstance(value, float):
        return value
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"{where}: {json.dumps(value)[:40]} is not a number.")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_numbers(values: Any, where: str) -> list[float]:
    """Return a list of numbers, or a single one, as floats; see `to_number`."""
    if not isinstance(values, list):
        values = [values]
    return [value if type(value) is float else to_number(value, where) for value in values]


def expect(value: Any, kind: type, where: str) -> Any:
    """Return a value if it has the required type.

    Raises
    ------
    DataError
        It is not; the message says where.
    """
    if not isinstance(value, kind):
        raise DataError(f"{where} should be {SORTS[kind]}; it is {str(value)[:40]!r}.")
    return value


def member(holder: Any, name: str, kind: type | None, where: str) -> Any:
    """Return a member of an object, of a kind or of any.

    Raises
    ------
    DataError
        It is not an object, it lacks the member, or the member is of another kind.
    """
    expect(holder, dict, where)
    if name not in holder:
        there = ", ".join(list(holder)[:8]) or "nothing"
        raise DataError(f"{where} lacks '{name}'; it has: {there}.")
    return holder[name] if kind is None else expect(holder[name], kind, f"{where} {name}")


def entries_of(holder: Any, name: str, where: str) -> Iterator[tuple[Any, str]]:
    """Yield the entries of a list that is a member of an object, and their places."""
    for at, entry in enumerate(member(holder, name, list, where)):
        yield entry, f"{where} {name}[{at}]"


def name_in(holder: Any, name: str, where: str) -> str:
    """Return a member of an object that names it.

    Raises
    ------
    DataError
        As by `member`, or it is empty.
    """
    text: str = member(holder, name, str, where)
    if not text.strip():
        raise DataError(f"{where} has an empty '{name}', so its results belong to no case.")
    return text


def inner(data: Any, name: str) -> JsonObject:
    """Return an inner object, empty if there is none."""
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}
