"""The kernel at the start of a run: from a deck's initial state, or from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.harness.adaptive.checkpoint import CheckpointSetting, read_part
from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.kernel import Choices, Kernel, criterion_of
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.phases import PhaseClock
from hindmost.harness.adaptive.physics.flow import State


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
        "order": choices.order,
        "threshold": choices.threshold,
        "most_cells": deck.most_cells(base),
    }
