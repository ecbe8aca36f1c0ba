"""Shares as people write them: ``5%`` or ``0.05``."""

from __future__ import annotations

import math

from hindmost.errors import UsageError


def read_share(text: str, option: str) -> float:
    """Return a part of a whole: a share above 0 and up to 1.

    Parameters
    ----------
    text : str
    option : str
        By which it was given, for messages.

    Raises
    ------
    UsageError
        It is none.
    """
    share = number_of(text)
    if not 0.0 < share <= 1.0:
        raise UsageError(f"{option} {text}: write a share above 0 and up to 1, such as 5% or 0.05.")
    return share


def read_increase(text: str, option: str) -> float:
    """Return by how much something may grow: a share of 0 or more.

    Raises
    ------
    UsageError
        It is none.
    """
    share = number_of(text)
    if not 0.0 <= share < math.inf:
        raise UsageError(f"{option} {text}: give a share of 0 or more, as 5% or 0.05.")
    return share


def number_of(text: str) -> float:
    """Return what is written; NaN for what is no number."""
    try:
        return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return math.nan
