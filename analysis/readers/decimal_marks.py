"""Numbers in text with a decimal point or comma: what a file shows decides for all its numbers.

``0,160`` can only be a fraction, and ``1,234.5`` only a number above a thousand. ``12,132`` may be
either; it is read like the other numbers of its file, and where these do not show it,
`gather_history` decides by the other nights of the series.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hindmost.parsing import plain_number

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
    try:
        return plain_number(f"{whole}{POINT if mark else ''}{fraction}")
    except ValueError:
        return None


def as_fraction(text: str) -> float | None:
    """Return the number of a text whose comma may mean either, read as a decimal comma."""
    plain = text.strip()
    grouped = _GROUPED.fullmatch(plain)
    is_either = grouped is not None and grouped[1] == COMMA and plain.count(COMMA) == 1
    return plain_number(plain.replace(COMMA, POINT)) if is_either else None
