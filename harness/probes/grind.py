"""Grind time: the kernel's seconds per cell against cells per rank, on one rank and a busy node.

Ranks of a busy node share caches and memory, so a cell takes longer there; the difference is the
memory contention of the SAGE model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.decks import DECKS, application_of
from hindmost.harness.adaptive.kernel import Kernel, pulse_reader, start_kernel
from hindmost.harness.adaptive.phases import Phase, PhaseClock
from hindmost.harness.probes.section import SEED, ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.recorder.library import NS
from hindmost.harness.turns import among
from hindmost.models.adaptive.machine import EventCost, GrindPoint, SpeedPoint, pace_of
from hindmost.text import counted, seconds, signed_percent

CELLS = tuple(100 * round(float(each) / 100) for each in np.geomspace(1400, 300_000, 12))
"""Per rank, even in the logarithm."""
QUICK_CELLS = (1400, 20_000)
CALLS = {"exchange": "call", "reduce": "call", "loop": "step"}
"""Events that take as long as the caches allow that the cells leave to them, and what is one."""
DECK = "timing-b"
"""Flow, heat and adaption: the deck whose phases are timed."""
CELL_STEPS = 1_500_000
"""Of a cycle: some 50 ms of flow."""
STEPS_A_SOLVE = 10
"""As in the deck: heat finds the caches as flow leaves them."""
WARM, CYCLES = 2, 3
"""Cycles that do not count, in which the mesh grows and finds memory for it, and that do."""
LEAST = 1e-3
"""Of an iteration: what stands for a part that noise makes vanish."""
FEW, MANY = 1e-2, 1e-11
"""Tolerances of the solver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTimes:
    """Times of the kernel on one rank.

    Attributes
    ----------
    cells : float
        Actual cells per rank; may differ from the requested number.
    phases : mapping of str to float
        Seconds per cell of each phase; see `GrindPoint.phase`.
    events : mapping of str to float
        Seconds of each event; see `EventCost.event`.
    pulse_s : float
        A pulse of the core while the times were measured; see `hindmost.harness.adaptive.pulse`.
    """

    cells: float
    phases: Mapping[str, float]
    events: Mapping[str, float]
    pulse_s: float


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
            seconds += NS * np.array(clock.take()[0])
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
        exchanges = sum(exchange.count.of(*done) for exchange in application.exchanges)
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
            found.append(clock.take()[0][Phase.HEAT] * NS)
    more = iterations[MANY] - iterations[FEW]
    if more <= 0:
        return 0.0
    longer = median(seconds[MANY]) - median(seconds[FEW])
    return max(0.0, longer / (more * kernel.mesh.owned))


@dataclass(frozen=True, slots=True, kw_only=True)
class GrindTimes:
    """The times at one number of cells, on some busy ranks of a node.

    Attributes
    ----------
    asked : int
        Requested cells per rank.
    times : sequence of sequence of CellTimes, shape (rank, repeat)
    """

    asked: int
    times: Sequence[Sequence[CellTimes]]

    @property
    def cells(self) -> float:
        """Actual cells: median over repeats and ranks."""
        return float(np.median([[each.cells for each in rank] for rank in self.times]))

    @property
    def pulses_s(self) -> list[list[float]]:
        """The pulses by rank and repeat, seconds."""
        return [[each.pulse_s for each in rank] for rank in self.times]

    def values(self, kind: str) -> dict[str, list[list[float]]]:
        """Return the ``phases`` or ``events`` by their names, by rank and repeat."""
        return {
            name: [[getattr(each, kind)[name] for each in rank] for rank in self.times]
            for name in getattr(self.times[0][0], kind)
        }

    def scaled_s(self, values: list[list[float]], pulse_s: float) -> NDArray[np.float64]:
        """Return times scaled to the speed at which a pulse takes so long, shape (rank, repeat).

        Ranks wait for the slowest one, so its pulse is the pace of all.
        """
        slowest = np.max(self.pulses_s, axis=0)
        return np.array(values) / [pace_of(each, pulse_s) for each in slowest.tolist()]


def on_ranks(
    communicator: Any,
    measure: Callable[[int, Any], CellTimes],
    cells: Sequence[int],
    repeats: int,
) -> list[GrindTimes]:
    """Time the kernel on the ranks of a communicator; collective.

    Every repeat visits the sizes in random order; a warm-up repeat does not count.
    """
    random = np.random.default_rng(SEED)
    mine: dict[int, list[CellTimes]] = {count: [] for count in cells}
    for repeat in range(repeats + 1):
        for count in random.permutation(np.asarray(cells)).tolist():
            communicator.Barrier()
            times = measure(count, communicator)
            if repeat > 0:
                mine[count].append(times)
    everybody: list[dict[int, list[CellTimes]]] = communicator.allgather(mine)
    return [GrindTimes(asked=count, times=[rank[count] for rank in everybody]) for count in cells]


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the curves on the first node: on one rank, then on all of its ranks; collective."""
    communicator, nodes = setting.communicator, setting.nodes
    here = [rank for rank, node in enumerate(nodes) if node == nodes[0]]
    cells, found = QUICK_CELLS if setting.quick else CELLS, []
    for count in sorted({1, len(here)}):
        with among(communicator, here[:count]) as busy:
            if busy is not None:
                found += on_ranks(busy, measure, cells, setting.repeats)
    return described(found) if communicator.rank == 0 else None


def described(times: Sequence[GrindTimes]) -> ProbeResult:
    """Combine the times of all sizes, by busy ranks of the node, and report."""
    points: list[GrindPoint] = []
    events: list[EventCost] = []
    pulses, warnings = [], []
    for ranks, group in groupby(times, key=lambda each: len(each.times)):
        sizes = list(group)
        slowest = [np.max(size.pulses_s, axis=0) for size in sizes]
        pulse_s = float(np.quantile(np.concatenate(slowest), 0.1))
        pulses.append(SpeedPoint(ranks_per_node=ranks, seconds=pulse_s))
        changes = []
        for size in sizes:
            for phase, values in size.values("phases").items():
                # Ranks meet in every phase, many times: what is left of it waits for the slowest.
                each_s = float(np.median(size.scaled_s(values, pulse_s).max(axis=0)))
                points.append(
                    GrindPoint(
                        phase=phase,
                        ranks_per_node=ranks,
                        cells=size.cells,
                        seconds_per_cell=each_s,
                    )
                )
                longest = np.max(values, axis=0)
                changes.append(longest[-1] / longest[0])
        events += event_costs(sizes, ranks, pulse_s)
        drift = float(np.median(changes)) - 1.0
        # Points of the curve would belong to different states of the machine.
        if abs(drift) > 0.05:
            warnings.append(
                f"times changed by {signed_percent(drift)} while grind was measured with "
                f"{counted(ranks, 'rank')} at work, so the points of the curve are not comparable; "
                "probe again on an idle machine"
            )
    samples = [
        {
            "ranks_per_node": len(size.times),
            "asked": size.asked,
            "cells": size.cells,
            "phases": size.values("phases"),
            "events": size.values("events"),
            "pulses_s": size.pulses_s,
        }
        for size in times
    ]
    rows = [
        (
            f"{point.phase}, {point.cells:.0f} cells per rank, "
            f"{counted(point.ranks_per_node, 'rank')}",
            f"{seconds(point.seconds_per_cell)} per cell",
        )
        for point in sorted(points, key=lambda each: (each.phase, each.ranks_per_node, each.cells))
    ]
    for each in events:
        place = "" if each.cells is None else f", {each.cells:.0f} cells per rank"
        rows.append(
            (
                f"{each.event}{place}, {counted(each.ranks_per_node, 'rank')}",
                f"{seconds(each.seconds)} per {CALLS.get(each.event, 'look')}",
            )
        )
    return ProbeResult(
        changes={"grind": tuple(points), "events": tuple(events), "pulse": tuple(pulses)},
        samples={"sizes": samples},
        rows=tuple(rows),
        warnings=tuple(warnings),
    )


def event_costs(sizes: Sequence[GrindTimes], ranks: int, pulse_s: float) -> list[EventCost]:
    """Return the median of every event over ranks and repeats, and over sizes but for calls.

    Nobody waits in an event.
    """
    found = []
    for name in sizes[0].times[0][0].events:
        medians = []
        for size in sizes:
            scaled_s = size.scaled_s(size.values("events")[name], pulse_s)
            medians.append(float(np.median(np.median(scaled_s, axis=1))))
        chosen: list[tuple[float | None, float]] = [(None, float(np.median(medians)))]
        if name in CALLS:
            chosen = [(size.cells, each) for size, each in zip(sizes, medians, strict=True)]
        found += [
            EventCost(event=name, ranks_per_node=ranks, seconds=each, cells=cells)
            for cells, each in chosen
        ]
    return found


GRIND = ProbeSection(
    name="grind",
    summary="time per cell against cells, on one rank and with every rank of a node busy",
    take=take,
)
