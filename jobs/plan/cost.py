"""What a plan costs, in core-hours."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.jobs.plan.packing import expected
from hindmost.jobs.plan.plan import Allocation, Plan

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Core-hours of a plan.

    Attributes
    ----------
    most : float
        If every allocation takes its whole walltime.
    expected : float
        If every run takes what it is expected to, or else its limit.
    """

    most: float
    expected: float


def cost_of(plan: Plan) -> Cost:
    """Add up the core-hours of all allocations: of whole nodes where they are exclusive."""
    seconds: dict[str, float] = dict.fromkeys((each.id for each in plan.allocations), 0.0)
    for run in plan.runs:
        seconds[run.allocation] += expected(run)
    return Cost(
        most=sum(cores_of(each, plan) * each.walltime_s for each in plan.allocations) / HOUR_S,
        expected=sum(cores_of(each, plan) * seconds[each.id] for each in plan.allocations) / HOUR_S,
    )


def cores_of(allocation: Allocation, plan: Plan) -> int:
    """Return the cores that an allocation is charged for."""
    machine = plan.machine
    whole = machine.exclusive and machine.scheduler != "local"
    each = machine.cores_per_node
    return allocation.nodes * (each if whole else min(each, allocation.ranks_per_node))
