"""How the verbs of studies write numbers of things."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
