"""The kernel's time per cell, for ``hindmost probe grind``."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from hindmost.harness.adaptive.decks import DECKS, application_of
from hindmost.harness.adaptive.kernel import Kernel, pulse_reader, start_kernel
from hindmost.harness.adaptive.phases import Phase, PhaseClock
from hindmost.harness.probes.cell_times import CellTimes
from hindmost.harness.recorder.library import NS

DECK = "timing-b"
"""Flow, heat and adaption: the deck whose phases are timed."""
CELL_STEPS = 1_500_000
"""Of a cycle: some 50 ms of flow."""
STEPS_A_SOLVE = 10
"""As in the deck: heat finds the caches as flow leaves them."""
WARM = 2
"""Cycles that do not count: the mesh grows in them, and finds memory for it."""
CYCLES = 3
LEAST = 1e-3
"""Of an iteration: what stands for a part that noise makes vanish."""
FEW, MANY = 1e-2, 1e-11
"""Tolerances of the solver."""


def measure(cells: int, communicator: Any) -> CellTimes:
    """Return the times of the kernel on about `cells` cells per rank; collective.

    Returns
    -------
    CellTimes
        The cells that it had on average, and ``hydro`` per cell and step, ``heat`` per cell and
        iteration, ``heat-solve`` per cell and solve, ``adaption`` per cell. What the parts of heat
        add up to is what cycles took; how they share it was timed apart.
    """
    clock = PhaseClock()
    kernel = kernel_of(cells, communicator, clock)
    deck = kernel.deck
    for _ in range(WARM):
        kernel.cycle()
    reader = pulse_reader()
    begin_time, rows, pulses = kernel.time, [], []
    seconds = np.zeros(len(Phase))
    for number in range(CYCLES + 1):
        communicator.Barrier()
        pulses.append(reader.read())
        if number < CYCLES:
            clock.take()
            counts = kernel.cycle()
            seconds += NS * np.array(clock.take()[1])
            rows.append((counts["cells"], counts["heat_iterations"]))
    here, iterations = np.array(rows, float).T  # of each cycle
    total = float(here.sum())
    an_iteration_s = iteration_s(kernel, clock, (kernel.time - begin_time) / (CYCLES * deck.heats))
    heat_s, solve_s = heat_costs(
        float(seconds[Phase.HEAT]), float(here @ iterations), total * deck.heats, an_iteration_s
    )
    events = {"balance": seconds[Phase.BALANCE] / CYCLES}
    if communicator.size == 1:  # calls on one rank, which waits for nobody
        application, done = application_of(deck), (CYCLES * deck.steps, float(iterations.sum()))
        exchanges = sum(each.count.of(*done) for each in application.exchanges)
        events["exchange"] = seconds[Phase.HALO] / exchanges
        events["reduce"] = seconds[Phase.REDUCTION] / application.reductions.of(*done)
        events["loop"] = seconds[Phase.REST] / (CYCLES * deck.steps)
    return CellTimes(
        cells=communicator.allreduce(total) / (CYCLES * communicator.size),
        phases={
            "hydro": float(seconds[Phase.HYDRO]) / (total * deck.steps),
            "heat": heat_s,
            "heat-solve": solve_s,
            "adaption": float(seconds[Phase.ADAPTION]) / total,
        },
        events={name: float(each) for name, each in events.items()},
        pulse_s=float(np.median(pulses)),
    )


def heat_costs(
    seconds: float, iterations: float, solves: float, an_iteration_s: float
) -> tuple[float, float]:
    """Share what heat took: return the seconds per cell of an iteration and of a solve.

    Parameters
    ----------
    seconds : float
        Of all cycles.
    iterations, solves : float
        Times cells.
    an_iteration_s : float
        Per cell, timed separately; 0 if it could not be separated from the iterations.
    """
    if not iterations:
        solve_s = seconds / solves
        return an_iteration_s or LEAST * solve_s, solve_s
    mean_s = seconds / iterations
    each_s = min(an_iteration_s or mean_s, mean_s)
    return each_s, max((seconds - each_s * iterations) / solves, LEAST * each_s)


def kernel_of(cells: int, communicator: Any, clock: PhaseClock) -> Kernel:
    """Return a kernel with about `cells` cells per rank; collective.

    Not every number can be had: below some 2,500 cells a base mesh is too coarse to see what the
    deck refines.
    """
    solves = max(1, round(CELL_STEPS / cells / STEPS_A_SOLVE))
    steps = solves * min(STEPS_A_SOLVE, max(1, CELL_STEPS // cells))
    side, best, closest = max(2, round(math.sqrt(cells))), None, math.inf
    for _ in range(4):  # until the deck refines a base mesh to about the cells that are wanted
        deck = replace(
            DECKS[DECK], columns=side, rows=side, steps=steps, heats=solves, spacing=1.0 / side
        )
        kernel = start_kernel(deck, deck.base(communicator.size), communicator, clock)
        here = communicator.allreduce(kernel.mesh.owned) / communicator.size
        off = abs(math.log(here / cells))
        if off < closest:
            best, closest = kernel, off
        if off < 0.03:
            break
        side = max(2, round(side * math.sqrt(cells / here)))
    assert best is not None  # there was one round at least
    return best


def iteration_s(kernel: Kernel, clock: PhaseClock, dt: float) -> float:
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
    heat, state = kernel.heat, np.empty_like(kernel.state)
    assert heat is not None  # the deck has heat
    seconds: dict[float, list[float]] = {FEW: [], MANY: []}
    iterations = dict.fromkeys(seconds, 0)
    for _ in range(5):
        for heat.tolerance, found in seconds.items():
            state[:] = kernel.state
            clock.take()
            clock.switch(Phase.HEAT)
            iterations[heat.tolerance] = heat.step(state, dt)
            clock.switch(Phase.REST)
            found.append(clock.take()[1][Phase.HEAT] * NS)
    more = iterations[MANY] - iterations[FEW]
    if more <= 0:
        return 0.0
    longer = median(seconds[MANY]) - median(seconds[FEW])
    return max(0.0, longer / (more * kernel.mesh.owned))
