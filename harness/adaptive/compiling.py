"""Compile once, and outside of what is timed: rank 0 fills the cache while the others wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hindmost.harness.adaptive.beginning import begin
from hindmost.harness.adaptive.decks.deck import Deck
from hindmost.harness.adaptive.kernel import Choices
from hindmost.harness.adaptive.mesh.warm import compile_mesh
from hindmost.harness.adaptive.phases import PhaseClock
from hindmost.harness.probes.meeting import in_turn

SMALL = 8
"""Base cells along a side of the small mesh that compiles, a rank."""
CYCLES = 3
STEPS = 2


def compile_everything(deck: Deck, choices: Choices, communicator: Any, petsc: Any = None) -> None:
    """Run small meshes through everything that the run will call; collective.

    Rank 0 does it alone first, so that what it compiles is in numba's cache on disk; the others
    wait asleep and then load it from there. What only several ranks call is compiled together.
    """
    from mpi4py import MPI

    small = replace(deck, steps=STEPS, heats=1)
    alone = replace(choices, heat="own")  # PETSc compiles nothing
    restless = replace(choices, threshold=1.0)  # cells move whenever they can

    def by_itself() -> None:
        compile_mesh(MPI.COMM_SELF)
        run_small(small, alone, MPI.COMM_SELF)

    in_turn(communicator, by_itself)
    run_small(small, restless, communicator, petsc)


def run_small(deck: Deck, choices: Choices, communicator: Any, petsc: Any = None) -> None:
    """Run some cycles on a small mesh; collective."""
    base = (SMALL * communicator.size, SMALL)
    kernel = begin(deck, choices, base, communicator, PhaseClock(), petsc)
    for _ in range(CYCLES):
        kernel.cycle()
