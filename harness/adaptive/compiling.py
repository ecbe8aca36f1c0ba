"""Compile once, outside the timed part: rank 0 fills the cache while the others wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.kernel import pulse_reader, start_kernel
from hindmost.harness.adaptive.phases import PhaseClock
from hindmost.harness.probes.turns import in_turn

SMALL = 8
"""Base cells along a side of the small mesh that compiles, a rank."""
CYCLES = 3
STEPS = 2


def compile_everything(deck: Deck, communicator: Any) -> None:
    """Run small meshes through everything that the run will call; collective.

    Rank 0 does it alone first, so that what it compiles is in numba's cache on disk; the others
    sleep and then load it from there. What only several ranks call is compiled on all of them.
    """
    from mpi4py import MPI

    small = replace(deck, steps=STEPS, heats=1)

    def by_itself() -> None:
        run_small(small, MPI.COMM_SELF)
        pulse_reader()

    in_turn(communicator, by_itself)
    run_small(small, communicator)


def run_small(deck: Deck, communicator: Any) -> None:
    """Run some cycles on a small mesh; collective."""
    base = (SMALL * communicator.size, SMALL)
    # Cells move whenever they can.
    kernel = start_kernel(deck, base, communicator, PhaseClock(), threshold=1.0)
    for _ in range(CYCLES):
        kernel.cycle()
