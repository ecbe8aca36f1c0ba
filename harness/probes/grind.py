"""Grind time: seconds per cell of each phase over cells a rank, on one rank and on a busy node.

The kernel is whatever `Measure` it is given: the adaptive kernel's is
``hindmost.harness.adaptive.grind:measure``. Ranks of a busy node share caches and memory, so a cell
takes longer there; the difference is the memory contention of the SAGE model.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hindmost.errors import DataError, HindmostError, MissingError, UsageError
from hindmost.harness.probes.meeting import among, nodes_of
from hindmost.models.dynamic.machine import GrindPoint

SMALLEST, LARGEST, POINTS = 1400, 300_000, 12
OWN_KERNEL = "hindmost.harness.adaptive.grind:measure"
REPEATS = 5
QUICK_REPEATS = 2


class Measure(Protocol):
    """A kernel whose phases are timed."""

    def __call__(self, cells: int, communicator: Any) -> dict[str, float]:
        """Compute on about so many cells a rank and return seconds per cell of each phase.

        Collective over the communicator, which is of one node. Whatever is compiled or allocated
        is so before the time begins.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GrindTimes:
    """What was timed at one number of cells.

    Attributes
    ----------
    ranks_per_node, cells : int
        Ranks at work on the node, and cells of each.
    phases : dict
        Phase -> rank -> repeat: seconds per cell.
    """

    ranks_per_node: int
    cells: int
    phases: dict[str, list[list[float]]]

    def points(self) -> list[GrindPoint]:
        """Return the median of every phase, over repeats and then over ranks."""
        return [
            GrindPoint(
                phase=phase,
                ranks_per_node=self.ranks_per_node,
                cells=float(self.cells),
                seconds_per_cell=float(np.median(np.median(values, axis=1))),
            )
            for phase, values in self.phases.items()
        ]


def cell_counts(text: str = "") -> tuple[int, ...]:
    """Return the numbers of cells that a list names, or a grid that is even in the logarithm.

    Parameters
    ----------
    text : str
        Integers with commas between them; empty for the grid.

    Raises
    ------
    UsageError
        Something else.
    """
    if not text:
        grid = np.geomspace(SMALLEST, LARGEST, POINTS)
        return tuple(100 * round(float(each) / 100) for each in grid)
    try:
        cells = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        cells = ()
    if not cells or cells[0] < 1:
        raise UsageError(
            f"--cells '{text}' is no list of cells: integers of at least 1 with commas between "
            "them, such as --cells 1400,4800,80000."
        )
    return cells


def load_kernel(name: str = OWN_KERNEL) -> Measure:
    """Import the kernel that ``MODULE:FUNCTION`` names.

    Raises
    ------
    UsageError
        The name does not have this form.
    MissingError
        There is no such module or function.
    """
    module, _, function = name.partition(":")
    if not (module and function):
        raise UsageError(
            f"--kernel '{name}' names no kernel: MODULE:FUNCTION, such as {OWN_KERNEL}."
        )
    try:
        found: Measure = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise MissingError(
            f"The kernel {name} cannot be had ({error}). --kernel MODULE:FUNCTION takes another, "
            "whose module must be on PYTHONPATH."
        ) from error
    return found


def measure_grind(
    communicator: Any,
    measure: Measure,
    cells: Sequence[int],
    *,
    repeats: int = REPEATS,
    seed: int = 0,
) -> tuple[GrindTimes, ...]:
    """Time the kernel on the first node; collective.

    First on one rank while the others sleep, then on all ranks of the node. Sizes are visited in
    random order, again in every repeat; one more repeat before does not count.

    Returns
    -------
    tuple of GrindTimes
        By ranks and cells, the same on every rank.
    """
    nodes = nodes_of(communicator)
    here = [rank for rank, node in enumerate(nodes) if node == nodes[0]]
    found: list[GrindTimes] = []
    for count in sorted({1, len(here)}):
        with among(communicator, here[:count]) as busy:
            mine = None if busy is None else on_ranks(busy, measure, cells, repeats, seed)
        found += communicator.bcast(mine)
    return tuple(found)


def on_ranks(
    communicator: Any, measure: Measure, cells: Sequence[int], repeats: int, seed: int
) -> list[GrindTimes]:
    """Time the kernel on the ranks of a communicator; collective."""
    random = np.random.default_rng(seed)
    mine: dict[int, list[dict[str, float]]] = {count: [] for count in cells}
    for repeat in range(repeats + 1):
        for count in random.permutation(np.asarray(cells)):
            communicator.Barrier()
            phases = checked(called(measure, int(count), communicator), int(count))
            if repeat > 0:
                mine[int(count)].append(phases)
    everybody = communicator.allgather(mine)
    return [
        GrindTimes(
            ranks_per_node=communicator.size,
            cells=count,
            phases={
                phase: [[each[phase] for each in rank[count]] for rank in everybody]
                for phase in mine[count][0]
            },
        )
        for count in cells
    ]


def called(measure: Measure, cells: int, communicator: Any) -> dict[str, float]:
    """Call a kernel, whose failure is its own and not a defect of hindmost."""
    try:
        return measure(cells, communicator)
    except HindmostError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise DataError(
            f"The kernel failed at {cells} cells with {communicator.size} "
            f"rank{'s' if communicator.size > 1 else ''} at work: {type(error).__name__}: {error} "
            f"({at.filename}, line {at.lineno}). Mend it, or leave this size out with --cells."
        ) from error


def checked(phases: dict[str, float], cells: int) -> dict[str, float]:
    """Refuse times that are none."""
    wrong = {name: value for name, value in phases.items() if not 0 < value < np.inf}
    if wrong or not phases:
        raise DataError(
            f"At {cells} cells the kernel returned {wrong or 'no phase'}: seconds per cell must be "
            "finite and above 0, for at least one phase. A phase that did not run is left out."
        )
    return phases
