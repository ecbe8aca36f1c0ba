"""Attribution of a change to the machine or to the work, by the phases that changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from hindmost.models.adaptive.work import PHASES, Work

HYDRO, HEAT, ADAPTION = (PHASES.index(name) for name in ("hydro", "heat", "adaption"))
EXPLAINED = 0.5
"""Part of a change of the cycle that work must account for, in seconds, to be its cause."""


class CyclePhases(NamedTuple):
    """The phases of a cycle, in the order of `PHASES`; empty if they are unknown.

    Attributes
    ----------
    measured_s, baseline_s : sequence of float
        Seconds of each phase.
    cycle_s : float
        Measured time of the whole cycle.
    """

    measured_s: Sequence[float]
    baseline_s: Sequence[float]
    cycle_s: float

    @property
    def logs(self) -> tuple[float, ...]:
        """Logarithms of measured over baseline; NaN if a phase did not run."""
        return tuple(
            math.log(took / should) if took > 0.0 and should > 0.0 else math.nan
            for took, should in zip(self.measured_s, self.baseline_s, strict=False)
        )


def moved_phases(cycles: Iterable[CyclePhases], keep: int) -> tuple[float, ...]:
    """Return by how much each phase changed in the last ``keep`` cycles.

    Returns
    -------
    tuple of float
        Logarithms; NaN if a phase cannot be compared, empty if phases are unknown.
    """
    known = [each.logs for each in cycles]
    if not known or not all(known):
        return ()
    found = []
    for phase in range(min(map(len, known))):
        column = [row[phase] for row in known]
        after = [value for value in column[-keep:] if not math.isnan(value)]
        before = [value for value in column[:-keep] if not math.isnan(value)]
        found.append(median(after) - median(before) if after and before else math.nan)
    return tuple(found)


def work_behind(phases: tuple[float, ...], size: float, cycle: CyclePhases) -> str:
    """Return the work that the baseline misses; empty if hydro changed as well.

    Hydro does the same work for every cell and step: if its time is unchanged, so is the machine.
    The phases that are named must also be large enough to explain the change: if adaption takes a
    hundredth of a cycle, it does not double the time of the cycle.

    Parameters
    ----------
    phases : tuple of float
        See `moved_phases`.
    size : float
        Change of the whole cycle, a logarithm.
    cycle : CyclePhases
        The last cycle.
    """
    if len(phases) <= ADAPTION or not abs(phases[HYDRO]) <= 0.3 * abs(size):
        return ""
    moved = [phase for phase in (HEAT, ADAPTION) if abs(phases[phase]) > 0.7 * abs(size)]
    changed_s = -math.expm1(-size) * cycle.cycle_s
    theirs_s = sum(-math.expm1(-phases[phase]) * cycle.measured_s[phase] for phase in moved)
    if not moved or theirs_s * changed_s < EXPLAINED * changed_s**2:
        return ""
    words = [
        f"{PHASES[each]} takes {math.exp(phases[each]):.2f}x its baseline time" for each in moved
    ]
    return " and ".join(words) + ", hydro is unchanged for its cells"


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
