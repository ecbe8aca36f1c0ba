"""Machine or work: which phases moved tells them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median

from hindmost.models.dynamic.work import PHASES, Work

HYDRO, HEAT, ADAPTION = (PHASES.index(name) for name in ("hydro", "heat", "adaption"))


def moved_phases(rows: Iterable[tuple[float, ...]], keep: int) -> tuple[float, ...]:
    """Return by how much each phase is off beyond what it was before the last ``keep`` cycles.

    Parameters
    ----------
    rows : iterable of tuples, one a cycle
        Logarithms of measured over baseline, phase by phase; NaN where a phase did not run.

    Returns
    -------
    tuple of float
        Logarithms, NaN where a phase cannot be compared; empty where phases are not known.
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
    """Return which work the baseline misses; nothing where hydro is off as well.

    Hydro does the same for every cell and step: if that is as fast as ever, so is the machine.

    Parameters
    ----------
    phases : tuple of float
        See `moved_phases`.
    size : float
        By how much the whole moved, a logarithm.
    """
    if len(phases) <= ADAPTION or not abs(phases[HYDRO]) <= 0.3 * abs(size):
        return ""
    moved = [
        f"{PHASES[phase]} takes {math.exp(phases[phase]):.2f} times what it should"
        for phase in (HEAT, ADAPTION)
        if abs(phases[phase]) > 0.7 * abs(size)
    ]
    return " and ".join(moved) + ", hydro as much as ever for its cells" if moved else ""


def where(phases: tuple[float, ...]) -> str:
    """Return where a slower machine loses its time."""
    if phases and abs(phases[HYDRO]) < math.log(1.05):
        return "not in computation: in communication, or waiting for other ranks"
    return "for the same work"


def moved_work(before: Work, before_iterations: float, now: Work, iterations: float) -> str:
    """Return which counts of the work moved by more than a tenth, or nothing."""
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
