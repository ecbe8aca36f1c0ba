"""What recorded numbers may be taken for on other ranks: the cases that are simulated."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hindmost.models.simulation.change import Change
from hindmost.models.simulation.scaleup import Case, CostScenarios, Placement

CAPPED = "recorded noise"
"""The scenario in which no deviation exceeds the largest recorded one."""
FLOORS = ("quiet", "quiet, cheap network", "quiet, less work", "quiet, lower quartile")
"""Readings without noise, which makes nothing faster: no interval begins below all of them."""
PARTS = ("no network", "undisturbed", *FLOORS)
"""Readings that only say what a time consists of, or where an interval ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFactor:
    """The undisturbed work of a rank on the target, over the recorded one.

    Attributes
    ----------
    typical, low, high : float
    """

    typical: float = 1.0
    low: float = 1.0
    high: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a solve is to run.

    Attributes
    ----------
    placement : Placement
    work : WorkFactor
    halo_bytes : float
        Size of a message between neighbours.
    """

    placement: Placement
    work: WorkFactor = WorkFactor()
    halo_bytes: float = 0.0


def scenarios_of(
    change: Change, target: Target, quartiles: tuple[float, float], costs: CostScenarios
) -> dict[str, Case]:
    """Return the cases of a change: the typical one, its scenarios, and what it consists of.

    Parameters
    ----------
    quartiles : tuple of float
        Of the undisturbed work, over its median. Deviations that change do so from any of these.
    """
    factor = target.work
    slow = 1.0 / change.every_speed
    typical = Case(
        latency=costs.typical,
        work=slow * factor.typical,
        noise=change.noise,
        detours=change.detours,
        lag=0 if change.depth is None else change.depth - 1,
        progress=change.progress,
    )
    nothing = np.zeros_like(costs.typical)
    quiet = replace(typical, noise=0.0, detours=None)
    lower, upper = (
        max(1.0 + (1.0 - change.noise) * (each - 1.0), 0.0) * typical.work for each in quartiles
    )
    return {
        "typical": typical,
        "cheap network": replace(typical, latency=costs.low),
        "costly network": replace(typical, latency=costs.high),
        CAPPED: replace(typical, capped=True),
        "noise in proportion": replace(typical, noise_scales=True),
        "less work": replace(typical, work=slow * factor.low),
        "more work": replace(typical, work=slow * factor.high),
        "lower quartile": replace(typical, work=lower),
        "upper quartile": replace(typical, work=upper),
        "no network": replace(typical, latency=nothing, capped=True),
        "undisturbed": replace(typical, latency=nothing, noise=0.0, detours=None),
        "quiet": quiet,
        "quiet, cheap network": replace(quiet, latency=costs.low),
        "quiet, less work": replace(quiet, work=slow * factor.low),
        "quiet, lower quartile": replace(quiet, work=quartiles[0] * typical.work),
    }
