"""What adaption takes, taken apart: the look at the mesh, what changes, and what moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.kernel import Kernel, criterion_of
from hindmost.harness.adaptive.mesh.adapt import Adapted
from hindmost.harness.adaptive.phases import Phase, PhaseClock, TimedExchange
from hindmost.harness.adaptive.physics.flow import COMBINE, DIVIDE, KEEP, Scratch

LOOKS = 3
"""Of everything; one before does not count."""
EVERY = 8
"""One cell in this many is divided."""
NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptionCosts:
    """What adaption takes on this rank.

    Attributes
    ----------
    look_s, connection_s : float
        Per cell: examining a mesh that stays the same, and the extra cost of one that changes.
    divide_s, combine_s : float
        Per cell that is divided, and per cell that combining creates; in addition to the above.
    balance_s : float
        Of a look at the balance.
    move_s : float or None
        Per cell that goes to another rank; None where none could.
    """

    look_s: float
    connection_s: float
    divide_s: float
    combine_s: float
    balance_s: float
    move_s: float | None

    def events(self) -> dict[str, float]:
        """Return the costs that are of no grind curve, by their names in the machine file."""
        found = {"divide": self.divide_s, "combine": self.combine_s, "balance": self.balance_s}
        return found if self.move_s is None else {**found, "move": self.move_s}


def adaption_costs(kernel: Kernel, communicator: Any) -> AdaptionCosts:
    """Time adaption on a kernel's mesh, which is another one afterwards; collective."""
    bench = Bench(kernel, communicator)
    cells = bench.mesh.patch.owned
    looks = [bench.look() for _ in range(LOOKS + 1)][1:]
    look_s = median(each for each, _ in looks) / cells
    quiet_s = median(bench.change(bench.none)[0] for _ in range(LOOKS)) / cells
    # A cell divided and combined again: all that this takes is for the mesh as a whole.
    few = [bench.change(flags)[0] for _ in range(LOOKS) for flags in (bench.one, bench.back)]
    connection_s = max(0.0, median(few) / cells - quiet_s)

    def beside(seconds: float, before: int, changed: int) -> float:
        after = bench.mesh.patch.owned
        rest = seconds - quiet_s * before - connection_s * after
        return max(0.0, rest / changed) if changed else 0.0

    divided, combined = [], []
    for _ in range(LOOKS):
        before = bench.mesh.patch.owned
        seconds, adapted = bench.change(bench.some)
        divided.append(beside(seconds, before, adapted.divided))
        before = bench.mesh.patch.owned
        seconds, adapted = bench.change(bench.back)
        combined.append(beside(seconds, before, adapted.combined))
    return AdaptionCosts(
        look_s=look_s,
        connection_s=connection_s,
        divide_s=median(divided[1:]),  # the first has to allocate memory
        combine_s=median(combined[1:]),
        balance_s=median(each for _, each in looks),
        move_s=bench.move(),
    )


Flags = NDArray[np.int8]


class Bench:
    """A kernel's mesh and state, to adapt at will; every call is collective."""

    def __init__(self, kernel: Kernel, communicator: Any) -> None:
        self.mesh, self._state, self._deck = kernel.mesh, kernel.state, kernel.deck
        self._communicator = communicator
        self._clock, self._scratch = PhaseClock(), Scratch()
        self._criterion = criterion_of(kernel.deck)
        self._parents = np.empty(0, np.int64)
        self.mesh.most_cells = None

    def look(self) -> tuple[float, float]:
        """Look at the mesh and the balance as a cycle does; change nothing. Return both times."""
        mesh, clock = self.mesh, self._clock
        exchange = TimedExchange(mesh.exchange, clock)
        self._begin()
        exchange.fill(self._state)
        self._criterion.flags(
            mesh.patch, self._state, gamma=self._deck.gamma, exchange=exchange,
            scratch=self._scratch,
        )  # fmt: skip
        state, _ = mesh.adapt(self.none(), self._state)
        clock.switch(Phase.REST)
        self._communicator.Barrier()
        clock.switch(Phase.BALANCE)
        state, _ = mesh.balance(state)
        clock.switch(Phase.ADAPTION)
        self._state = mesh.connect(state)
        wall = self._end()
        return wall[Phase.ADAPTION] * NS, wall[Phase.BALANCE] * NS

    def change(self, flags: Callable[[], Flags]) -> tuple[float, Adapted]:
        """Adapt and connect the mesh; return the time and what was done."""
        wanted = flags()
        self._begin()
        state, adapted = self.mesh.adapt(wanted, self._state)
        self._state = self.mesh.connect(state)
        return self._end()[Phase.ADAPTION] * NS, adapted

    def move(self) -> float | None:
        """Put the ranks out of balance and balance them; return the time of a cell that moved."""
        size, rank = self._communicator.size, self._communicator.rank
        if size == 1:
            return None
        self.mesh.threshold = 1.0
        found = []
        for turn in range(LOOKS + 1):
            self.change(self.some if rank == turn % size else self.none)
            self._begin(Phase.BALANCE)
            state, balanced = self.mesh.balance(self._state)
            seconds = self._end()[Phase.BALANCE] * NS
            self._state = self.mesh.connect(state)
            most = max(self._communicator.allgather(balanced.moved))
            if most and turn > 0:
                found.append(seconds / most)
        return median(found) if found else None

    def none(self) -> Flags:
        """Return flags that leave all cells as they are."""
        return np.full(self.mesh.patch.owned, KEEP, np.int8)

    def one(self) -> Flags:
        """Return flags that divide one cell, if one may divide."""
        return self._dividing(most=1)

    def some(self) -> Flags:
        """Return flags that divide one of `EVERY` cells."""
        return self._dividing(most=self.mesh.patch.owned // EVERY)

    def back(self) -> Flags:
        """Return flags that combine what was divided last, as far as neighbours let it."""
        here = self.mesh.cells()
        flags = self.none()
        flags[np.isin(places(here.i >> 1, here.j >> 1, here.level - 1), self._parents)] = COMBINE
        return flags

    def _dividing(self, *, most: int) -> Flags:
        flags = self.none()
        cells = self.mesh.cells()
        able = np.flatnonzero(cells.level < self.mesh.levels)
        rows = able[:: max(1, able.size // max(1, most))][:most]
        flags[rows] = DIVIDE
        self._parents = places(cells.i[rows], cells.j[rows], cells.level[rows])
        return flags

    def _begin(self, phase: Phase = Phase.ADAPTION) -> None:
        self._communicator.Barrier()
        self._clock.take()
        self._clock.switch(phase)

    def _end(self) -> list[int]:
        self._clock.switch(Phase.REST)
        return self._clock.take()[1]


def places(
    i: NDArray[np.int32], j: NDArray[np.int32], level: NDArray[np.int8]
) -> NDArray[np.int64]:
    """Return one number for each cell's place; indices of a cell are below 2^28."""
    place: NDArray[np.int64] = (level.astype(np.int64) << 56) + (i.astype(np.int64) << 28) + j
    return place
