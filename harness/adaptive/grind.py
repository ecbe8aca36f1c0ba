"""The kernel's time per cell, for ``hindmost probe grind``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from hindmost.harness.adaptive.beginning import begin
from hindmost.harness.adaptive.decks import DECKS
from hindmost.harness.adaptive.kernel import Choices, Kernel
from hindmost.harness.adaptive.phases import Phase, PhaseClock

DECK = "timing-b"
"""Flow, heat and adaption: the deck whose phases are timed."""
CELL_STEPS = 1_500_000
"""Of a cycle: some 50 ms of flow."""
CYCLES = 3
FITS = 3
"""Rounds in which a base mesh is found that the deck refines to the cells that are wanted."""
CLOSE = 0.03
NS = 1e-9


def measure(cells: int, communicator: Any) -> dict[str, float]:
    """Return the seconds per cell of each phase, on about so many cells a rank; collective.

    Returns
    -------
    dict
        ``hydro`` per cell and step, ``heat`` per cell and iteration, ``adaption`` per cell and look
        at the mesh.
    """
    clock = PhaseClock()
    kernel = kernel_of(cells, communicator, clock)
    kernel.cycle()
    clock.take()
    sums = dict.fromkeys(("hydro", "heat", "adaption"), 0.0)
    steps = iterations = looked = 0.0
    for _ in range(CYCLES):
        done = kernel.cycle()
        steps += done.counts["cells"] * kernel.deck.steps
        iterations += done.counts["cells"] * done.counts["heat_iterations"]
        looked += done.counts["cells"]
        _, wall, _ = clock.take()
        for name in sums:
            sums[name] += wall[Phase[name.upper()]] * NS
    counted = {"hydro": steps, "heat": iterations, "adaption": looked}
    return {name: sums[name] / counted[name] for name in sums if counted[name] > 0.0}


def kernel_of(cells: int, communicator: Any, clock: PhaseClock) -> Kernel:
    """Return a kernel with about so many cells a rank; collective."""
    side = math.sqrt(cells)
    for attempt in range(FITS):
        whole = max(2, round(side))
        deck = replace(
            DECKS[DECK],
            columns=whole,
            rows=whole,
            steps=max(1, CELL_STEPS // cells),
            heats=1,
            spacing=1.0 / whole,
        )
        kernel = begin(deck, Choices(), deck.base(communicator.size), communicator, clock)
        here = communicator.allreduce(kernel.mesh.patch.owned) / communicator.size
        if abs(here / cells - 1.0) < CLOSE or attempt == FITS - 1:
            break
        side *= math.sqrt(cells / here)
    return kernel
