"""A pulse: a reading of a core's speed, so short that one can follow every cycle of a run.

It does a fixed amount of work that has nothing to do with the run: a computation on few cells,
which stay in a private cache, and one pass over a stretch of memory that no private cache still
holds. The first tells how fast the core computes, which changes with its frequency and with what
else runs on it; the second how fast it gets data from shared caches and memory. Both are the same
work in every pulse. How much other work slows a core down depends on what it computes, so a kernel
brings a computation of its own kind; else it is the fluxes of the reference kernel over 96 cells.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from hindmost.harness.probes.speed import box, sweep_and_stream
from hindmost.models.compiled import compiled

CELLS = (12, 8)
SWEEPS = 3
"""Passes over the faces of these cells in one trial."""
TRIALS = 3
"""Trials of a pulse, of which the fastest counts: the first fetches the data, and an interrupt
lengthens one of them."""
STRETCH = 2048
"""Doubles that a pulse reads in each of two arrays, 16 KiB."""
STRETCHES = 512
"""Pulses after which a stretch is read again: 16 MiB in between."""
SETTLING = 200
"""Pulses of a reading before a run; a hundredth of a second."""


class Pulse(NamedTuple):
    """One reading, in seconds; less is faster.

    Attributes
    ----------
    core_s : float
        Of the computation.
    memory_s : float
        Of the pass over memory.
    """

    core_s: float
    memory_s: float


class PulseReader:
    """Reads pulses of this rank; making one compiles and allocates.

    Parameters
    ----------
    compute : callable, optional
        The computation, some 10 us; the same in every call.
    """

    def __init__(self, compute: Callable[[], object] | None = None) -> None:
        self._kernel = compiled(sweep_and_stream)
        left, right, state, change = box(CELLS)
        nothing = np.empty(0)
        self._fluxes = (left, right, state, change, SWEEPS, nothing, nothing)
        self._change = change
        self._compute = self._flow if compute is None else compute
        source, target = (np.ones(STRETCH * STRETCHES) for _ in range(2))
        self._passes = [
            (left, right, state, change, 0, source[at : at + STRETCH], target[at : at + STRETCH])
            for at in range(0, source.size, STRETCH)
        ]
        self._next = 0
        self.spent_s = 0.0
        """Time of all readings since `settled`, or in all without it."""
        self.read()

    def read(self) -> Pulse:
        """Return a reading; takes some 80 us."""
        kernel, compute = self._kernel, self._compute
        # Memory comes first: what the run has left in the caches is the same before every pulse.
        passes = self._passes[self._next]
        self._next = (self._next + 1) % STRETCHES
        began = begin = perf_counter()
        kernel(*passes)
        memory_s = perf_counter() - begin
        core_s = np.inf
        for _ in range(TRIALS):
            begin = perf_counter()
            compute()
            core_s = min(core_s, perf_counter() - begin)
        self.spent_s += perf_counter() - began
        return Pulse(core_s, memory_s)

    def _flow(self) -> None:
        """Add up fluxes over the faces of a few cells."""
        self._change[:] = 0.0
        self._kernel(*self._fluxes)

    def settled(self) -> Pulse:
        """Return the medians of many readings in a row."""
        found = np.median([self.read() for _ in range(SETTLING)], axis=0)
        self.spent_s = 0.0
        return Pulse(float(found[0]), float(found[1]))


def slowest_pulse_s(pulses: PulseReader, communicator: Any) -> float:
    """Return the settled pulse of the slowest rank's core, all ranks at once; collective."""
    from mpi4py import MPI

    communicator.Barrier()
    slowest: float = communicator.allreduce(pulses.settled().core_s, op=MPI.MAX)
    return slowest
