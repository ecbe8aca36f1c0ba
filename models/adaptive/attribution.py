"""Attribution of a change to the machine or to the work, by the phases that changed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median

from hindmost.models.adaptive.work import PHASES, Work

HYDRO, HEAT, ADAPTION = (PHASES.index(name) for name in ("hydro", "heat", "adaption"))


def moved_phases(rows: Iterable[tuple[float, ...]], keep: int) -> tuple[float, ...]:
    """Return by how much each phase changed in the last ``keep`` cycles.

    Parameters
    ----------
    rows : iterable of tuples, one a cycle
        Logarithms of measured over baseline for each phase; NaN if a phase did not run.

    Returns
    -------
    tuple of float
        Logarithms; NaN if a phase cannot be compared, empty if phases are unknown.
    """
    known = list(rows)
    if not known or not all(known):
        return ()
    found = []
    for phase in range(min(map(len, known))):
        column = [row[phase] for row in known]
        after = [value for value in column[-keep:] if not math.isnan(value)]
        before = [value for value in column[:-keep] if not math.isnan(value)]
        found.append(median(after) - median(before) if after and before else math.nan)
    return tuple(found)


def work_behind(phases: tuple[float, ...], size: float) -> str:
    """Return the work that the baseline misses; empty if hydro changed as well.

    Hydro does the same work for every cell and step: if its time is unchanged, so is the machine.

    Parameters
    ----------
    phases : tuple of float
        See `moved_phases`.
    size : float
        Change of the whole cycle, a logarithm.
    """
    if len(phases) <= ADAPTION or not abs(phases[HYDRO]) <= 0.3 * abs(size):
        return ""
    moved = [
        f"{PHASES[phase]} takes {math.exp(phases[phase]):.2f}x its baseline time"
        for phase in (HEAT, ADAPTION)
        if abs(phases[phase]) > 0.7 * abs(size)
    ]
    return " and ".join(moved) + ", hydro is unchanged for its cells" if moved else ""


def where(phases: tuple[float, ...]) -> str:
    """Return where a slower machine spends more time."""
    if phases and abs(phases[HYDRO]) < math.log(1.05):
        return "in communication or in waiting for other ranks, not in computation"
    return "for the same work"


def moved_work(before: Work, before_iterations: float, now: Work, iterations: float) -> str:
    """Return the counts of the work that changed by more than a tenth; empty if none did."""
    counts = (
        ("cells", before.cells, now.cells),
        ("steps", before.steps, now.steps),
        ("heat iterations", before_iterations, iterations),
    )
    return ", ".join(
        f"{name} {old:,.0f} to {new:,.0f}"
        for name, old, new in counts
        if old > 0 and new > 0 and abs(math.log(new / old)) > math.log(1.1)
    )
