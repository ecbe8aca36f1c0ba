"""Words for more and less: times are slower or faster, all else is larger or smaller."""

from __future__ import annotations

OF_TIMES = ("slower", "faster")
OF_OTHERS = ("larger", "smaller")


def more_and_less(unit: str) -> tuple[str, str]:
    """Return the words for a value that rose and for one that fell.

    Parameters
    ----------
    unit : str
        Of the series: ``s`` for times, empty where it is unknown.
    """
    return OF_TIMES if unit == "s" else OF_OTHERS


def worse_noun(units: set[str]) -> tuple[str, str]:
    """Return what changes for the worse in series of these units are called: one, and several."""
    if units <= {"s"}:
        return "slowdown", "slowdowns"
    return "change for the worse", "changes for the worse"
