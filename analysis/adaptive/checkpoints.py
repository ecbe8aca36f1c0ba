"""Checkpoints of a recorded run by several rules: after which cycles, and what they waste."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.limits import DECIDES
from hindmost.analysis.adaptive.paper import MTBF_S
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.models.dynamic.application import Application
from hindmost.models.dynamic.checkpoints import INTERVALS
from hindmost.models.dynamic.machine import Machine
from hindmost.models.dynamic.simulate import Plan, best_plan, plan_by_rule

USUAL_SHARE = 0.005
"""Of the whole run: what a checkpoint is taken to cost where none was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How often to write checkpoints, and how to round that to whole cycles."""

    name: str
    interval: str
    rounding: str


RULES = (
    Rule(name="Young, rounded down (the paper)", interval="young", rounding="down"),
    Rule(name="Daly, to the nearest cycle", interval="daly", rounding="nearest"),
    Rule(name="optimum, to the nearest cycle", interval="optimum", rounding="nearest"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a rule does with a run.

    Attributes
    ----------
    name : str
    plan : Plan
    waste_percent, above_percent : float
        Expected wall time over computed time, less one; and its points above the least there is.
    """

    name: str
    plan: Plan
    waste_percent: float
    above_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStudy:
    """A run with checkpoints by every rule.

    Attributes
    ----------
    mtbf_s : float
    checkpoint_s : float64 array, shape (cycle,), seconds
        What one takes after each cycle.
    assumed : bool
        Whether that is assumed, because none was measured.
    planned : tuple of Planned
        One a rule, then the least waste of all plans.
    """

    mtbf_s: float
    checkpoint_s: NDArray[np.float64]
    assumed: bool
    planned: tuple[Planned, ...]


def study_checkpoints(
    run: AdaptiveRun,
    *,
    mtbf_s: float = MTBF_S,
    checkpoint_s: float | None = None,
    machine: Machine | None = None,
) -> CheckpointStudy:
    """Plan the checkpoints of a run by every rule, from what was predicted before each cycle.

    Parameters
    ----------
    mtbf_s : float
        Mean time between failures; the paper's 10 min if not given.
    checkpoint_s : float, optional
        What one takes; in proportion to the cells of those that the run wrote if not given.
    machine : Machine, optional
        Gives it where the run wrote none.
    """
    cost, assumed = costs(run, checkpoint_s, machine)
    predicted = run.prediction(DECIDES) if DECIDES in run.predictors else run.seconds
    best = best_plan(run.seconds, cost, mtbf_s)
    least = 100.0 * best.expected_waste(mtbf_s)
    planned = []
    for rule in RULES:
        tau_s: Callable[[float], float] = partial(of_cost, rule.interval, mtbf_s)
        plan = plan_by_rule(run.seconds, predicted, cost, tau_s, rounding=rule.rounding)
        waste = 100.0 * plan.expected_waste(mtbf_s)
        planned.append(
            Planned(name=rule.name, plan=plan, waste_percent=waste, above_percent=waste - least)
        )
    planned.append(
        Planned(
            name="least waste, known afterwards", plan=best, waste_percent=least, above_percent=0
        )
    )
    return CheckpointStudy(
        mtbf_s=mtbf_s, checkpoint_s=cost, assumed=assumed, planned=tuple(planned)
    )


def of_cost(interval: str, mtbf_s: float, checkpoint_s: float) -> float:
    """Return the time between checkpoints that take so long."""
    return INTERVALS[interval](checkpoint_s, mtbf_s, 0.0)


def costs(
    run: AdaptiveRun, checkpoint_s: float | None, machine: Machine | None
) -> tuple[NDArray[np.float64], bool]:
    """Return what a checkpoint takes after each cycle, and whether that is assumed."""
    cells = run.total_cells.astype(np.float64)
    if checkpoint_s is not None:
        return np.full(cells.size, checkpoint_s), False
    rates = [
        each["seconds"] / cells[min(max(0, int(each["cycle"]) - run.first_cycle), cells.size - 1)]
        for each in run.checkpoints
    ]
    if rates:
        return float(np.median(rates)) * cells, False
    if machine is not None and machine.checkpoint_bytes_per_s and "application" in run.spec:
        kept = Application.from_json(run.spec["application"]).bytes_kept
        latency_s = machine.checkpoint_latency_s or 0.0
        return latency_s + cells * kept / machine.checkpoint_bytes_per_s, False
    return np.full(cells.size, USUAL_SHARE * float(run.seconds.sum())), True
