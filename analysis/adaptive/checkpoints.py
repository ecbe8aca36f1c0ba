"""Checkpoints of a recorded run by several rules: after which cycles, and their waste."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.cycles import DECIDES, AdaptiveRun
from hindmost.models.adaptive.checkpoints import (
    CheckpointPlan,
    best_plan,
    optimum_s,
    plan_by_rule,
    young_s,
)

MTBF_S = 600.0
"""Mean time between failures where none is given, as in the figure of Mathis and Kerbyson."""
ASSUMED_SHARE = 0.005
"""Assumed cost of a checkpoint as a share of the run, if the run wrote none."""


RULES = (
    ("Young, rounded down (the paper)", young_s, True),
    ("optimum, to the nearest cycle", optimum_s, False),
)
"""Names, intervals of (checkpoint_s, mtbf_s), and whether they are rounded down to whole cycles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The checkpoints of a run by one rule.

    Attributes
    ----------
    name : str
    plan : CheckpointPlan
    waste_percent, above_percent : float
        Expected wall time over computed time, less one; and its points above the minimum.
    """

    name: str
    plan: CheckpointPlan
    waste_percent: float
    above_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStudy:
    """The checkpoints of a run by every rule.

    Attributes
    ----------
    mtbf_s : float
    checkpoint_s : float64 array, shape (cycle,), seconds
        Cost of a checkpoint after each cycle.
    assumed : bool
        Whether the cost is assumed, because none was measured.
    planned : tuple of Planned
        One per rule, then the plan of minimum waste.
    """

    mtbf_s: float
    checkpoint_s: NDArray[np.float64]
    assumed: bool
    planned: tuple[Planned, ...]


def study_checkpoints(
    run: AdaptiveRun, *, mtbf_s: float = MTBF_S, checkpoint_s: float | None = None
) -> CheckpointStudy:
    """Plan the checkpoints of a run by every rule, from the predictions before each cycle.

    Parameters
    ----------
    mtbf_s : float
        Mean time between failures; by default the paper's 10 min.
    checkpoint_s : float, optional
        Cost of a checkpoint; by default that of the run's own, in proportion to the cells.
    """
    cost, assumed = costs(run, checkpoint_s)
    predicted = run.prediction(DECIDES) if DECIDES in run.predictors else run.seconds
    best = best_plan(run.seconds, cost, mtbf_s)
    least = 100.0 * best.expected_waste(mtbf_s)
    planned = []
    for name, interval_s, down in RULES:
        plan = plan_by_rule(run.seconds, predicted, cost, mtbf_s, interval_s, down=down)
        waste = 100.0 * plan.expected_waste(mtbf_s)
        planned.append(
            Planned(name=name, plan=plan, waste_percent=waste, above_percent=waste - least)
        )
    planned.append(
        Planned(
            name="least waste, known afterwards", plan=best, waste_percent=least, above_percent=0
        )
    )
    return CheckpointStudy(
        mtbf_s=mtbf_s, checkpoint_s=cost, assumed=assumed, planned=tuple(planned)
    )


def costs(run: AdaptiveRun, checkpoint_s: float | None) -> tuple[NDArray[np.float64], bool]:
    """Return the cost of a checkpoint after each cycle, and whether it is assumed."""
    cells = run.total_cells.astype(np.float64)
    if checkpoint_s is not None:
        return np.full(cells.size, checkpoint_s), False
    rates = [
        each.seconds / cells[min(max(0, each.cycle - run.first_cycle), cells.size - 1)]
        for each in run.checkpoints
    ]
    if rates:
        return float(np.median(rates)) * cells, False
    return np.full(cells.size, ASSUMED_SHARE * float(run.seconds.sum())), True
