"""The kernel: cycles of flow, heat and adaption on the ranks, from a deck or a checkpoint."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.checkpoint import CheckpointSetting, read_part
from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.mesh.mesh import THRESHOLD, Mesh
from hindmost.harness.adaptive.phases import Phase, PhaseClock, timed_reduction
from hindmost.harness.adaptive.physics.flow import Hydro, State, refinement_flags
from hindmost.harness.adaptive.physics.heat import Conduction
from hindmost.harness.adaptive.pulse import PulseReader
from hindmost.harness.turns import in_turn

PULSE_SIDE = 16
"""Cells along a side of the pulse's mesh: with their faces they fit into a core's own cache."""
SHORTEST = 1e-9
"""A time step is lost when it is this part of the first one."""


class Kernel:
    """A deck on ranks; every call is collective.

    Parameters
    ----------
    deck : Deck
    communicator : MPI.Intracomm
    clock : PhaseClock
    mesh, state : Mesh, float64 array, shape (at least owned + ghosts, 4)
        As they are now; see `begin`.
    time : float
        In the simulation.

    Attributes
    ----------
    heat : Conduction or None
        The heat equations on the present mesh, if the deck has heat.
    """

    def __init__(
        self,
        deck: Deck,
        communicator: Any,
        clock: PhaseClock,
        *,
        mesh: Mesh,
        state: State,
        time: float = 0.0,
    ) -> None:
        from mpi4py import MPI

        self.deck, self.mesh, self.state, self.time = deck, mesh, state, time
        self._communicator, self._clock = communicator, clock
        self._largest = timed_reduction(communicator, MPI.MAX, clock)
        self._allsum = timed_reduction(communicator, MPI.SUM, clock)
        self._messages = self._bytes = 0
        self._rate = np.empty(1)
        self._first_dt = math.nan
        self.heat: Conduction | None = None
        self._prepare()

    def _prepare(self) -> None:
        """Make what computes on the present mesh."""
        deck, patch = self.deck, self.mesh.patch
        self._hydro = Hydro(patch, spacing=deck.spacing, gamma=deck.gamma)
        if deck.heat:
            self.heat = Conduction(
                patch,
                spacing=deck.spacing,
                conductivity=deck.conductivity,
                specific_heat=deck.specific_heat,
                fill=self.fill,
                allsum=self._allsum,
            )

    def fill(self, field: NDArray[np.float64]) -> None:
        """Fill the ghost rows of a field; the time is halo, whatever phase it is called in."""
        before, exchange = self._clock.switch(Phase.HALO), self.mesh.exchange
        exchange.fill(field)
        self._clock.switch(before)
        self._messages += exchange.messages
        self._bytes += exchange.bytes_sent(field.shape[1])

    def cycle(self) -> dict[str, int]:
        """Do the steps of a cycle, heat, and adapt the mesh.

        Returns
        -------
        dict of str to int
            Counts of this rank for the run file, but context switches: cells, faces and ghosts are
            those of the mesh that the cycle ran on.

        Raises
        ------
        DataError
            The state is invalid, or the time step goes to zero; raised on all ranks.
        """
        clock, patch = self._clock, self.mesh.patch
        iterations = self._messages = self._bytes = 0
        for _ in range(self.deck.heats):
            lasted = 0.0
            for _ in range(self.deck.steps // self.deck.heats):
                lasted += self._step()
            if self.heat is not None:
                clock.switch(Phase.HEAT)
                iterations += self.heat.step(self.state, lasted)
                clock.switch(Phase.REST)
            self.time += lasted
        counts = {
            "cells": patch.owned,
            "faces": patch.faces.level.size,
            "ghosts": patch.ghosts,
            "heat_iterations": iterations,
        }
        clock.switch(Phase.ADAPTION)
        self.fill(self.state)
        flags = refinement_flags(self.deck, patch, self.state, fill=self.fill)
        counts |= {"messages": self._messages, "bytes": self._bytes}
        state, divided, combined = self.mesh.adapt(flags, self.state)
        clock.switch(Phase.BALANCE)
        state, moved = self.mesh.balance(state)
        clock.switch(Phase.ADAPTION)
        self.state = self.mesh.connect(state)
        if self.mesh.patch is not patch:
            self._prepare()
        clock.switch(Phase.REST)
        return counts | {"divided": divided, "combined": combined, "moved": moved}

    def _step(self) -> float:
        """Do a step of the flow; return how long it is in the simulation."""
        clock, hydro, state = self._clock, self._hydro, self.state
        self.fill(state)
        clock.switch(Phase.HYDRO)
        self._rate[0] = hydro.largest_rate(state)
        rate = float(self._largest(self._rate)[0])
        if not math.isfinite(rate):
            raise self._no_gas()
        dt = self.deck.cfl / rate if rate > 0.0 else math.inf
        if math.isnan(self._first_dt):
            self._first_dt = dt
        if not SHORTEST * self._first_dt < dt < math.inf:
            raise DataError(
                f"The time step fell from {self._first_dt:.3g} to {dt:.3g} at time "
                f"{self.time:.6g}: the flow is too fast for the mesh. Choose a smaller cfl than "
                f"{self.deck.cfl:g}, fewer levels, or another initial state."
            )
        hydro.step(state, dt)
        clock.switch(Phase.REST)
        return dt

    def _no_gas(self) -> DataError:
        """Say on every rank where the state is invalid."""
        row = self._hydro.flaw(self.state)
        patch = self.mesh.patch
        mine = None
        if row >= 0:
            width = self.deck.spacing / 2.0 ** int(patch.level[row])
            x, y = (int(patch.i[row]) + 0.5) * width, (int(patch.j[row]) + 0.5) * width
            values = ", ".join(f"{value:.4g}" for value in self.state[row])
            mine = f"the cell at ({x:.4f}, {y:.4f}) holds {values}"
        found = [text for text in self._communicator.allgather(mine) if text]
        where = found[0] if found else "every cell is valid, but a speed is not finite"
        return DataError(
            f"At time {self.time:.6g} {where} (density, momenta, energy): density and pressure "
            f"must be positive. Choose a smaller cfl than {self.deck.cfl:g}, or another initial "
            "state."
        )


def start_kernel(
    deck: Deck,
    base: tuple[int, int],
    communicator: Any,
    clock: PhaseClock,
    threshold: float = THRESHOLD,
) -> Kernel:
    """Return the kernel at time 0, its mesh fitted to the initial state; collective."""
    mesh = Mesh(
        communicator, base, deck.levels, threshold=threshold, most_cells=deck.most_cells(base)
    )

    def initial_state() -> State:  # that of the ghosts is right as well
        return deck.state(base, mesh.patch.i, mesh.patch.j, mesh.patch.level)

    state = initial_state()
    for _ in range(deck.levels):
        flags = refinement_flags(deck, mesh.patch, state, fill=mesh.exchange.fill)
        state, _, _ = mesh.adapt(flags, state)
        state, _ = mesh.balance(state)
        mesh.connect(state)
        state = initial_state()
    return Kernel(deck, communicator, clock, mesh=mesh, state=state)


def resume_kernel(
    path: Path,
    setting: CheckpointSetting,
    deck: Deck,
    communicator: Any,
    clock: PhaseClock,
    threshold: float = THRESHOLD,
) -> Kernel:
    """Return the kernel in the state of a checkpoint; collective.

    With the same number of ranks, every rank gets the cells that it wrote.
    """
    cells, values = read_part(path, setting, communicator)
    mesh, state = Mesh.from_cells(
        communicator,
        setting.base,
        deck.levels,
        cells,
        values,
        keep=communicator.size == len(setting.cells),
        threshold=threshold,
        most_cells=deck.most_cells(setting.base),
    )
    return Kernel(deck, communicator, clock, mesh=mesh, state=state, time=setting.time)


@cache
def pulse_reader() -> PulseReader:
    """Return what reads pulses of this rank: steps of the flow on a mesh that never changes."""
    from mpi4py import MPI

    mesh = Mesh(MPI.COMM_SELF, (PULSE_SIDE, PULSE_SIDE), 1)
    state = mesh.connect(np.tile((1.0, 0.0, 0.0, 2.5), (mesh.patch.owned, 1)))
    hydro = Hydro(mesh.patch, spacing=1.0, gamma=1.4)

    def step() -> None:
        hydro.largest_rate(state)
        hydro.step(state, 1e-12)  # so short that the gas at rest stays as it is

    return PulseReader(step)


def compile_everything(deck: Deck, communicator: Any) -> None:
    """Run small meshes through everything that the run will call; collective.

    Rank 0 does it alone first, so that what it compiles is in numba's cache on disk; the others
    sleep and then load it from there. What only several ranks call is compiled on all of them.
    """
    from mpi4py import MPI

    small = replace(deck, steps=2, heats=1)

    def run_small(ranks: Any) -> None:
        base = (8 * ranks.size, 8)
        # Cells move whenever they can.
        kernel = start_kernel(small, base, ranks, PhaseClock(), threshold=1.0)
        for _ in range(3):
            kernel.cycle()

    def by_itself() -> None:
        run_small(MPI.COMM_SELF)
        pulse_reader()

    in_turn(communicator, by_itself)
    run_small(communicator)
