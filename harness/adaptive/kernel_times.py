"""The kernel's time per cell, for ``hindmost probe grind``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np

from hindmost.harness.adaptive.decks import DECKS, Deck, application_of
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
FITS = 4
"""Rounds in which a base mesh is found that the deck refines to the cells that are wanted."""
CLOSE = 0.03
LEAST = 1e-3
"""Of an iteration: what stands for a part that noise makes vanish."""
FEW, MANY = 1e-2, 1e-11
"""Tolerances of the solver."""
PAIRS = 5
"""Solves of either sort."""


@dataclass(slots=True, kw_only=True)
class Sums:
    """What cycles did and took, added up on this rank.

    Attributes
    ----------
    seconds : dict of Phase to float
    cells : float
        Cells of all cycles.
    steps, iterations, solves : float
        Times cells.
    iterations_done : float
    """

    seconds: dict[Phase, float] = field(default_factory=dict)
    cells: float = 0.0
    steps: float = 0.0
    iterations: float = 0.0
    solves: float = 0.0
    iterations_done: float = 0.0


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
    for _ in range(WARM):
        kernel.cycle()
    reader = pulse_reader()
    begin_time, sums, pulses = kernel.time, Sums(), []
    for number in range(CYCLES + 1):
        communicator.Barrier()
        pulses.append(reader.read())
        if number < CYCLES:
            clock.take()
            add_cycle(sums, kernel, clock)
    here: float = communicator.allreduce(sums.cells) / (CYCLES * communicator.size)
    solve_time = (kernel.time - begin_time) / (CYCLES * kernel.deck.heats)
    an_iteration_s = iteration_s(kernel, clock, solve_time)
    phases = {"hydro": sums.seconds[Phase.HYDRO] / sums.steps}
    phases |= heat_phases(sums, an_iteration_s)
    phases["adaption"] = sums.seconds[Phase.ADAPTION] / sums.cells
    events = {"balance": sums.seconds[Phase.BALANCE] / CYCLES}
    if communicator.size == 1:
        events |= call_costs(sums, kernel.deck)
    return CellTimes(cells=here, phases=phases, events=events, pulse_s=float(np.median(pulses)))


def call_costs(sums: Sums, deck: Deck) -> dict[str, float]:
    """Return what calls take on one rank, which waits for nobody."""
    application = application_of(deck)
    done = (CYCLES * deck.steps, sums.iterations_done)
    exchanges = sum(each.count.of(*done) for each in application.exchanges)
    return {
        "exchange": sums.seconds[Phase.HALO] / exchanges,
        "reduce": sums.seconds[Phase.REDUCTION] / application.reductions.of(*done),
        "loop": sums.seconds[Phase.REST] / (CYCLES * deck.steps),
    }


def add_cycle(sums: Sums, kernel: Kernel, clock: PhaseClock) -> None:
    """Do a cycle and add it; collective."""
    counts, deck = kernel.cycle(), kernel.deck
    _, wall, _ = clock.take()
    for phase in Phase:
        sums.seconds[phase] = sums.seconds.get(phase, 0.0) + wall[phase] * NS
    cells = counts["cells"]
    sums.cells += cells
    sums.steps += cells * deck.steps
    sums.iterations_done += counts["heat_iterations"]
    sums.iterations += cells * counts["heat_iterations"]
    sums.solves += cells * deck.heats


def heat_phases(sums: Sums, an_iteration_s: float) -> dict[str, float]:
    """Share what heat took between iterations and solves.

    Parameters
    ----------
    an_iteration_s : float
        Per cell, timed separately; 0 if it could not be separated from the iterations.
    """
    seconds = sums.seconds[Phase.HEAT]
    if not sums.iterations:
        solve_s = seconds / sums.solves
        return {"heat": an_iteration_s or LEAST * solve_s, "heat-solve": solve_s}
    mean_s = seconds / sums.iterations
    each_s = min(an_iteration_s or mean_s, mean_s)
    rest_s = (seconds - each_s * sums.iterations) / sums.solves
    return {"heat": each_s, "heat-solve": max(rest_s, LEAST * each_s)}


def kernel_of(cells: int, communicator: Any, clock: PhaseClock) -> Kernel:
    """Return a kernel with about `cells` cells per rank; collective.

    Not every number can be had: below some 2,500 cells a base mesh is too coarse to see what the
    deck refines.
    """
    solves = max(1, round(CELL_STEPS / cells / STEPS_A_SOLVE))
    steps = solves * min(STEPS_A_SOLVE, max(1, CELL_STEPS // cells))
    side = max(2, round(math.sqrt(cells)))
    for _ in range(FITS):
        deck = replace(
            DECKS[DECK], columns=side, rows=side, steps=steps, heats=solves, spacing=1.0 / side
        )
        kernel = start_kernel(deck, deck.base(communicator.size), communicator, clock)
        here = communicator.allreduce(kernel.mesh.owned) / communicator.size
        if abs(math.log(here / cells)) < CLOSE:
            break
        side = max(2, round(side * math.sqrt(cells / here)))
    return kernel


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
    for _ in range(PAIRS):
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
