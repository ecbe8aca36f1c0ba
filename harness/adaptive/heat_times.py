"""The time of one iteration of the heat solver, from solves with few and with many iterations."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from hindmost.harness.adaptive.kernel import Kernel
from hindmost.harness.adaptive.phases import Phase, PhaseClock, TimedExchange, timed_reduction
from hindmost.harness.adaptive.physics.heat import Conduction, FaceHeat

FEW, MANY = 1e-2, 1e-11
"""Tolerances of the solver."""
PAIRS = 4
"""Solves of either sort; one before them does not count."""
NS = 1e-9


def iteration_s(kernel: Kernel, communicator: Any, dt: float) -> float:
    """Return the seconds per cell and iteration on this rank; collective.

    The same system is solved to two tolerances: what the solves have in common, such as the
    coefficients and the first residual, falls out of the difference.

    Parameters
    ----------
    dt : float
        Of a solve, in the simulation.

    Returns
    -------
    float
        0 where both tolerances need the same iterations.
    """
    from mpi4py import MPI

    clock, deck = PhaseClock(), kernel.deck
    conduction = Conduction(
        kernel.mesh.patch,
        spacing=deck.spacing,
        conductivity=deck.conductivity,
        specific_heat=deck.specific_heat,
        exchange=TimedExchange(kernel.mesh.exchange, clock),
    )
    heat = FaceHeat(conduction, allsum=timed_reduction(communicator, MPI.SUM, clock))
    state = np.empty_like(kernel.state)
    seconds: dict[float, list[float]] = {FEW: [], MANY: []}
    iterations = dict.fromkeys(seconds, 0)
    for pair in range(PAIRS + 1):
        for tolerance, found in seconds.items():
            heat.tolerance = tolerance
            state[:] = kernel.state
            clock.take()
            clock.switch(Phase.HEAT)
            iterations[tolerance] = heat.step(state, dt)
            clock.switch(Phase.REST)
            _, wall, _ = clock.take()
            if pair > 0:
                found.append(wall[Phase.HEAT] * NS)
    more = iterations[MANY] - iterations[FEW]
    if more <= 0:
        return 0.0
    longer = median(seconds[MANY]) - median(seconds[FEW])
    return max(0.0, longer / (more * kernel.mesh.patch.owned))
