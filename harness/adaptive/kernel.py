"""The kernel: cycles of flow, heat and adaption on the ranks, from a deck or a checkpoint."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.checkpoint import CheckpointSetting, read_part
from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.phases import Phase, PhaseClock, TimedExchange, timed_reduction
from hindmost.harness.adaptive.physics.flow import Hydro, RefinementCriterion, Scratch, State
from hindmost.harness.adaptive.physics.heat import Conduction, FaceHeat
from hindmost.records import RecordError, from_document

SHORTEST = 1e-9
"""A time step is lost when it is this part of the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How the kernel distributes what a deck says; none of these changes what it computes.

    Attributes
    ----------
    threshold : float
        Most cells of a rank over the mean of all above which cells are moved.

    Raises
    ------
    UsageError
        The threshold is below 1.
    """

    threshold: float = 1.02

    def __post_init__(self) -> None:
        if not 1.0 <= self.threshold < math.inf:
            raise UsageError(
                f"--threshold {self.threshold}: a load imbalance (maximum over mean of cells) is "
                "at least 1."
            )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Choices:
        """Read choices; raises a DataError where they are not those of this version."""
        try:
            return from_document(cls, values)
        except (RecordError, UsageError) as error:
            raise DataError(
                f"The choices {values} do not fit this version of hindmost: {error}"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the choices as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleDone:
    """What a cycle did on this rank.

    Attributes
    ----------
    time : float
        In the simulation, at the end.
    counts : dict of str to int
        For the run file, but context switches: cells, faces and ghosts are those of the mesh that
        the cycle ran on.
    """

    time: float
    counts: dict[str, int]


def criterion_of(deck: Deck) -> RefinementCriterion:
    """Return what makes cells of a deck divide and combine."""
    return RefinementCriterion(
        divide=deck.divide,
        combine=deck.combine,
        levels=deck.levels,
        buffer=deck.buffer,
        temperature=deck.heat,
    )


class Kernel:
    """A deck on ranks; every call is collective.

    Parameters
    ----------
    deck : Deck
    choices : Choices
    communicator : MPI.Intracomm
    clock : PhaseClock
    mesh, state : Mesh, float64 array, shape (at least owned + ghosts, 4)
        As they are now; see `begin`.
    time : float
        In the simulation.
    """

    def __init__(
        self,
        deck: Deck,
        choices: Choices,
        communicator: Any,
        clock: PhaseClock,
        *,
        mesh: Mesh,
        state: State,
        time: float = 0.0,
    ) -> None:
        from mpi4py import MPI

        self.deck, self.choices, self.mesh, self.state, self.time = deck, choices, mesh, state, time
        self._communicator, self._clock = communicator, clock
        self._largest = timed_reduction(communicator, MPI.MAX, clock)
        self._allsum = timed_reduction(communicator, MPI.SUM, clock)
        self._scratch = Scratch()
        self._rate = np.empty(1)
        self._first_dt = math.nan
        self._heat: FaceHeat | None = None
        self._criterion = criterion_of(deck)
        self._prepare()

    def _prepare(self) -> None:
        """Make what computes on the present mesh."""
        deck, patch, scratch = self.deck, self.mesh.patch, self._scratch
        self._exchange = TimedExchange(self.mesh.exchange, self._clock)
        self._hydro = Hydro(patch, spacing=deck.spacing, gamma=deck.gamma, scratch=scratch)
        if deck.heat:
            conduction = Conduction(
                patch,
                spacing=deck.spacing,
                conductivity=deck.conductivity,
                specific_heat=deck.specific_heat,
                exchange=self._exchange,
                scratch=scratch,
            )
            self._heat = FaceHeat(conduction, allsum=self._allsum)

    def cycle(self) -> CycleDone:
        """Do the steps of a cycle, heat, and adapt the mesh.

        Raises
        ------
        DataError
            The state is invalid, or the time step goes to zero; raised on all ranks.
        """
        clock, patch, exchange = self._clock, self.mesh.patch, self._exchange
        iterations = 0
        for _ in range(self.deck.heats):
            lasted = 0.0
            for _ in range(self.deck.steps // self.deck.heats):
                lasted += self._step()
            if self._heat is not None:
                clock.switch(Phase.HEAT)
                iterations += self._heat.step(self.state, lasted)
                clock.switch(Phase.REST)
            self.time += lasted
        counts = {
            "cells": patch.owned,
            "faces": patch.x_faces.level.size + patch.y_faces.level.size,
            "ghosts": patch.ghosts,
            "heat_iterations": iterations,
        }
        clock.switch(Phase.ADAPTION)
        exchange.fill(self.state)
        flags = self._criterion.flags(
            patch, self.state, gamma=self.deck.gamma, exchange=exchange, scratch=self._scratch
        )
        counts |= {"messages": exchange.messages_sent, "bytes": exchange.sent_bytes}
        state, adapted = self.mesh.adapt(flags, self.state)
        clock.switch(Phase.BALANCE)
        state, balanced = self.mesh.balance(state)
        clock.switch(Phase.ADAPTION)
        self.state = self.mesh.connect(state)
        if self.mesh.patch is patch:
            exchange.messages_sent = exchange.sent_bytes = 0
        else:
            self._prepare()
        clock.switch(Phase.REST)
        counts |= {
            "divided": adapted.divided,
            "combined": adapted.combined,
            "moved": balanced.moved,
        }
        return CycleDone(time=self.time, counts=counts)

    def _step(self) -> float:
        """Do a step of the flow; return how long it is in the simulation."""
        clock, hydro, state = self._clock, self._hydro, self.state
        self._exchange.fill(state)
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
    choices: Choices,
    base: tuple[int, int],
    communicator: Any,
    clock: PhaseClock,
) -> Kernel:
    """Return the kernel at time 0, its mesh fitted to the initial state; collective."""
    mesh = Mesh(communicator, base, deck.levels, **mesh_options(deck, choices, base))
    state = initial_state(deck, mesh)
    criterion = criterion_of(deck)
    for _ in range(deck.levels):
        flags = criterion.flags(mesh.patch, state, gamma=deck.gamma, exchange=mesh.exchange)
        state, _ = mesh.adapt(flags, state)
        state, _ = mesh.balance(state)
        mesh.connect(state)
        state = initial_state(deck, mesh)
    return Kernel(deck, choices, communicator, clock, mesh=mesh, state=state)


def resume_kernel(
    path: Path,
    setting: CheckpointSetting,
    deck: Deck,
    choices: Choices,
    communicator: Any,
    clock: PhaseClock,
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
        **mesh_options(deck, choices, setting.base),
    )
    return Kernel(
        deck,
        choices,
        communicator,
        clock,
        mesh=mesh,
        state=state,
        time=setting.time,
    )


def initial_state(deck: Deck, mesh: Mesh) -> State:
    """Return the state of the deck at time 0 on a mesh; that of the ghosts is right as well."""
    patch = mesh.patch
    return deck.state(mesh.base, patch.i, patch.j, patch.level)


def mesh_options(deck: Deck, choices: Choices, base: tuple[int, int]) -> dict[str, Any]:
    """Return the options of the mesh."""
    return {
        "threshold": choices.threshold,
        "most_cells": deck.most_cells(base),
    }
