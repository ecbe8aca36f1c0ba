"""Terms that the sentences on a history share: names of series, directions, differences."""

from __future__ import annotations

from hindmost.analysis.readers.history import SeriesName
from hindmost.models.changepoint.changes import OF_TIMES
from hindmost.text import quantity

FEW, MANY = 5, 30
"""Entries of a list within a report, and of a list that is the report; more are counted."""


def worse_noun(units: set[str]) -> tuple[str, str]:
    """Return the noun for a change for the worse in series of these units: singular, plural."""
    if units <= {"s"}:
        return "slowdown", "slowdowns"
    return "change for the worse", "changes for the worse"


def direction_word(units: set[str], *, worse: bool) -> str:
    """Return the adjective for series of these units: slower or faster, else worse or better."""
    if units <= {"s"}:
        return OF_TIMES[0] if worse else OF_TIMES[1]
    return "worse" if worse else "better"


def named(name: SeriesName) -> str:
    """Return a series' name without the colon at the end of some timers."""
    return timer_name(str(name))


def timer_name(timer: str) -> str:
    """Return a timer's name without a colon at its end."""
    return timer.rstrip(": ")


def signed(value: float, unit: str) -> str:
    """Return a difference with its sign and unit."""
    return f"{'+' if value >= 0.0 else '-'}{quantity(abs(value), unit)}"
