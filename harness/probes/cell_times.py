"""Grind time: seconds per cell of each phase against cells per rank, on one rank and a busy node.

The kernel is any `CellTimer`; the adaptive kernel's is
``hindmost.harness.adaptive.kernel_times:measure``. Ranks of a busy node share caches and memory, so
a cell takes longer there; the difference is the memory contention of the SAGE model.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, HindmostError, MissingError, UsageError
from hindmost.harness.probes.sampling import SEED
from hindmost.harness.probes.section import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.probes.turns import among, nodes_of
from hindmost.models.adaptive.machine import EventCost, GrindPoint, SpeedPoint, pace_of
from hindmost.text import counted, plural, seconds, signed_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTimes:
    """Times of a kernel on one rank.

    Attributes
    ----------
    cells : float
        Actual cells per rank; may differ from the requested number.
    phases : mapping of str to float
        Seconds per cell of each phase; see `GrindPoint.phase`.
    events : mapping of str to float
        Seconds of each event; see `EventCost.event`.
    pulse_s : float or None
        A pulse of the core while the times were measured; see `hindmost.harness.probes.pulse`.
    """

    cells: float
    phases: Mapping[str, float]
    events: Mapping[str, float] = field(default_factory=dict)
    pulse_s: float | None = None


CellTimer = Callable[[int, Any], CellTimes | dict[str, float]]
"""A kernel, of cells per rank and a communicator on one node, over which it is collective.

It compiles and allocates before the timing begins. Seconds per cell of each phase suffice if it ran
on exactly the requested cells.
"""
SMALLEST, LARGEST, POINTS = 1400, 300_000, 12
CALLS = ("exchange", "reduce", "loop")
"""Events that take as long as the caches allow that the cells leave to them."""
FAST = 0.1
"""Quantile of the pulses to which times are scaled."""
OWN_KERNEL = "hindmost.harness.adaptive.kernel_times:measure"
DRIFT = 0.05
"""Change of times above which the points of a curve belong to different states of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrindTimes:
    """The times at one number of cells.

    Attributes
    ----------
    ranks_per_node, asked : int
        Busy ranks of the node, and requested cells per rank.
    cells : float
        Actual cells: median over repeats and ranks.
    phases : dict
        Phase -> rank -> repeat: seconds per cell.
    events : dict
        Event -> rank -> repeat: seconds.
    pulses : list of list of float
        Rank -> repeat: seconds; empty if the kernel read none.
    """

    ranks_per_node: int
    asked: int
    cells: float
    phases: dict[str, list[list[float]]]
    events: dict[str, list[list[float]]]
    pulses: list[list[float]] = field(default_factory=list)

    def points(self, pulse_s: float | None = None) -> list[GrindPoint]:
        """Return the median over repeats of the slowest rank's time of every phase.

        Ranks meet in every phase, many times: what is left of it waits for the slowest one.

        Parameters
        ----------
        pulse_s : float, optional
            Times are scaled to the speed at which a pulse takes so long.
        """
        return [
            GrindPoint(
                phase=phase,
                ranks_per_node=self.ranks_per_node,
                cells=self.cells,
                seconds_per_cell=float(np.median(self.scaled_s(values, pulse_s).max(axis=0))),
            )
            for phase, values in self.phases.items()
        ]

    def middle_s(self, values: list[list[float]], pulse_s: float | None = None) -> float:
        """Return the median of values over repeats and then over ranks, scaled as in `points`.

        Of events, in which nobody waits.
        """
        return float(np.median(np.median(self.scaled_s(values, pulse_s), axis=1)))

    def scaled_s(self, values: list[list[float]], pulse_s: float | None) -> NDArray[np.float64]:
        """Return values scaled as in `points`: float64 array, shape (rank, repeat), seconds."""
        found = np.asarray(values, float)
        if pulse_s is not None and self.pulses:
            # Ranks wait for the slowest one, so its pulse is the pace of all.
            slowest = np.max(self.pulses, axis=0)
            found = found / [pace_of(float(each), pulse_s) for each in slowest]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTimes:
    """The times with a number of busy ranks per node.

    Attributes
    ----------
    ranks_per_node : int
    sizes : tuple of GrindTimes
        By cells.
    """

    ranks_per_node: int
    sizes: tuple[GrindTimes, ...]

    @property
    def pulse_s(self) -> float | None:
        """The pulse of the slowest rank when the node was fast; None if none was read."""
        pulses = [np.max(size.pulses, axis=0) for size in self.sizes if size.pulses]
        return float(np.quantile(np.concatenate(pulses), FAST)) if pulses else None

    @property
    def drift(self) -> float:
        """Relative change from the first repeat to the last: median over sizes and phases."""
        slowest = [np.max(values, axis=0) for size in self.sizes for values in size.phases.values()]
        return float(np.median([each[-1] / each[0] for each in slowest])) - 1.0

    @property
    def events(self) -> list[EventCost]:
        """The median of every event over ranks and repeats, and over sizes but for calls."""
        medians: dict[str, list[tuple[float, float]]] = {}
        for size in self.sizes:
            for name, values in size.events.items():
                middle_s = size.middle_s(values, self.pulse_s)
                medians.setdefault(name, []).append((size.cells, middle_s))
        found: list[EventCost] = []
        for name, points in medians.items():
            if name in CALLS:
                chosen: list[tuple[float | None, float]] = list(points)
            else:
                chosen = [(None, float(np.median([each for _, each in points])))]
            found += [
                EventCost(event=name, ranks_per_node=self.ranks_per_node, seconds=each, cells=cells)
                for cells, each in chosen
            ]
        return found


def cell_counts(text: str | None = None) -> tuple[int, ...]:
    """Return the numbers of cells that a list names, or a grid that is even in the logarithm.

    Parameters
    ----------
    text : str, optional
        Comma-separated integers; by default the grid.

    Raises
    ------
    UsageError
        Not a list of integers.
    """
    if text is None:
        grid = np.geomspace(SMALLEST, LARGEST, POINTS)
        return tuple(100 * round(float(each) / 100) for each in grid)
    try:
        cells = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        cells = ()
    if not cells or cells[0] < 1:
        raise UsageError(
            f"--cells '{text}' is not a list of cells: give integers of at least 1 separated by "
            "commas, as --cells 1400,4800,80000."
        )
    return cells


def load_kernel(name: str = OWN_KERNEL) -> CellTimer:
    """Import the kernel that ``MODULE:FUNCTION`` names.

    Raises
    ------
    MissingError
        There is no such module or function, or it cannot be imported.
    """
    module, _, function = name.partition(":")
    try:
        found: CellTimer = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:  # whatever a module of others raises
        what = type(error).__name__
        raise MissingError(
            f"The kernel {name} cannot be imported ({what}: {error}). Name another with --kernel "
            "MODULE:FUNCTION; its module must be on PYTHONPATH."
        ) from error
    return found


def measure_grind(
    communicator: Any,
    measure: CellTimer,
    cells: Sequence[int],
    *,
    repeats: int,
) -> tuple[NodeTimes, ...]:
    """Time the kernel on the first node; collective.

    First on one rank while the others sleep, then on all ranks of the node. Every repeat visits the
    sizes in random order; a warm-up repeat does not count.

    Returns
    -------
    tuple of NodeTimes
        By ranks, the same on every rank.
    """
    nodes = nodes_of(communicator)
    here = [rank for rank, node in enumerate(nodes) if node == nodes[0]]
    found: list[NodeTimes] = []
    for count in sorted({1, len(here)}):
        mine = None
        with among(communicator, here[:count]) as busy:
            if busy is not None:
                times = on_ranks(busy, measure, cells, repeats)
                mine = NodeTimes(ranks_per_node=count, sizes=tuple(times))
        found.append(communicator.bcast(mine))
    return tuple(found)


def on_ranks(
    communicator: Any, measure: CellTimer, cells: Sequence[int], repeats: int
) -> list[GrindTimes]:
    """Time the kernel on the ranks of a communicator; collective."""
    random = np.random.default_rng(SEED)
    mine: dict[int, list[CellTimes]] = {count: [] for count in cells}
    for repeat in range(repeats + 1):
        for count in random.permutation(np.asarray(cells)):
            communicator.Barrier()
            times = measured(measure, int(count), communicator)
            if repeat > 0:
                mine[int(count)].append(times)
    everybody: list[dict[int, list[CellTimes]]] = communicator.allgather(mine)
    return [
        GrindTimes(
            ranks_per_node=communicator.size,
            asked=count,
            cells=float(np.median([each.cells for rank in everybody for each in rank[count]])),
            phases=by_rank([[each.phases for each in rank[count]] for rank in everybody]),
            events=by_rank([[each.events for each in rank[count]] for rank in everybody]),
            pulses=pulses_of([rank[count] for rank in everybody]),
        )
        for count in cells
    ]


def pulses_of(times: list[list[CellTimes]]) -> list[list[float]]:
    """Return the pulses by rank and repeat, nothing if some are missing."""
    pulses = [[each.pulse_s for each in rank if each.pulse_s is not None] for rank in times]
    whole = [len(mine) == len(rank) > 0 for mine, rank in zip(pulses, times, strict=True)]
    return pulses if all(whole) else []


def by_rank(values: list[list[Mapping[str, float]]]) -> dict[str, list[list[float]]]:
    """Return the values of common names by rank and repeat."""
    every = [each for rank in values for each in rank]
    names = [name for name in every[0] if all(name in each for each in every)]
    return {name: [[each[name] for each in rank] for rank in values] for name in names}


def measured(measure: CellTimer, cells: int, communicator: Any) -> CellTimes:
    """Call a kernel and refuse invalid times; its failure is one of the kernel, not of hindmost."""
    try:
        found = measure(cells, communicator)
    except UsageError as error:  # of hindmost's own kernel, whose mesh has other names
        raise UsageError(f"--cells {cells}: {error}") from error
    except HindmostError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise DataError(
            f"The kernel failed at {cells} cells with {communicator.size} "
            f"{plural(communicator.size, 'rank')} at work: {type(error).__name__}: {error} "
            f"({at.filename}, line {at.lineno}). Fix it, or leave this size out with --cells."
        ) from error
    times = found if isinstance(found, CellTimes) else CellTimes(cells=cells, phases=found)
    positive = {"cells": times.cells, **times.phases}
    wrong = {name: value for name, value in positive.items() if not 0 < value < np.inf}
    if wrong or not times.phases:
        raise DataError(
            f"At {cells} cells the kernel returned {wrong or 'no phase'}: cells and seconds per "
            "cell must be finite and above 0, for at least one phase. Leave out a phase that did "
            "not run."
        )
    return times


def check(setting: ProbeSetting) -> None:
    """Raise the error of the kernel, if there is one."""
    load_kernel(setting.kernel)


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the curves; collective."""
    communicator = setting.communicator
    measure = load_kernel(setting.kernel)
    times = measure_grind(
        communicator,
        measure,
        setting.cells,
        repeats=setting.repeats,
    )
    return described(times, setting.kernel) if communicator.rank == 0 else None


def described(times: Sequence[NodeTimes], kernel: str) -> ProbeResult:
    """Combine the points and report."""
    sizes = [size for each in times for size in each.sizes]
    points = tuple(
        point for each in times for size in each.sizes for point in size.points(each.pulse_s)
    )
    events = tuple(event for each in times for event in each.events)
    warnings = [
        f"times changed by {signed_percent(each.drift)} while grind was measured "
        f"with {counted(each.ranks_per_node, 'rank')} at work, so the points of the curve are not "
        "comparable; probe again on a quiet machine"
        for each in times
        if abs(each.drift) > DRIFT
    ]
    samples = {
        "kernel": kernel,
        "sizes": [
            {
                "ranks_per_node": size.ranks_per_node,
                "asked": size.asked,
                "cells": size.cells,
                "phases": size.phases,
                "events": size.events,
                "pulses_s": size.pulses,
            }
            for size in sizes
        ],
    }
    rows = [
        (
            f"{point.phase}, {point.cells:.0f} cells per rank, "
            f"{counted(point.ranks_per_node, 'rank')}",
            f"{seconds(point.seconds_per_cell)} per cell",
        )
        for point in sorted(points, key=lambda each: (each.phase, each.ranks_per_node, each.cells))
    ]
    rows += [
        (f"{event_place(each)}, {counted(each.ranks_per_node, 'rank')}", event_told(each))
        for each in events
    ]
    return ProbeResult(
        changes={
            "grind": points,
            "events": events,
            "pulse": tuple(
                SpeedPoint(ranks_per_node=each.ranks_per_node, seconds=each.pulse_s)
                for each in times
                if each.pulse_s is not None
            ),
        },
        samples=samples,
        rows=tuple(rows),
        warnings=tuple(warnings),
    )


def event_place(cost: EventCost) -> str:
    """Return an event, and the cells beside which it was timed if they matter."""
    return cost.event if cost.cells is None else f"{cost.event}, {cost.cells:.0f} cells per rank"


def event_told(cost: EventCost) -> str:
    """Return the time of an event in words."""
    each = {"balance": "look", "exchange": "call", "reduce": "call", "loop": "step"}
    return f"{seconds(cost.seconds)} per {each.get(cost.event, 'cell')}"


GRIND = ProbeSection(
    name="grind",
    summary="time per cell against cells, on one rank and with every rank of a node busy",
    check=check,
    take=take,
)
