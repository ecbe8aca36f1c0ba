"""A pulse: a reading of a core's speed, so short that one can follow every cycle of a run.

It does a fixed amount of work on few cells, which stay in a private cache and have nothing to do
with the run. It tells how fast the core computes, which changes with its frequency and with what
else runs on it. How much other work slows a core down depends on what it computes, so a kernel
brings a computation of its own kind.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

TRIALS = 3
"""Trials of a pulse, of which the fastest counts: the first fetches the data, and an interrupt
lengthens one of them."""
SETTLING = 200
"""Pulses of a reading before a run; a hundredth of a second."""


class PulseReader:
    """Reads pulses of this rank; making one compiles.

    Parameters
    ----------
    compute : callable
        The computation, some 10 us; the same in every call.

    Attributes
    ----------
    spent_s : float
        Time of all readings since `settled`, or in all without it.
    """

    def __init__(self, compute: Callable[[], object]) -> None:
        self._compute = compute
        self.spent_s = 0.0
        self.read()

    def read(self) -> float:
        """Return a reading in seconds; less is faster."""
        compute, fastest_s = self._compute, np.inf
        began = perf_counter()
        for _ in range(TRIALS):
            begin = perf_counter()
            compute()
            fastest_s = min(fastest_s, perf_counter() - begin)
        self.spent_s += perf_counter() - began
        return fastest_s

    def settled(self) -> float:
        """Return the median of many readings in a row, in seconds."""
        found_s = float(np.median([self.read() for _ in range(SETTLING)]))
        self.spent_s = 0.0
        return found_s


def slowest_pulse_s(pulses: PulseReader, communicator: Any) -> float:
    """Return the settled pulse of the slowest rank's core, all ranks at once; collective."""
    from mpi4py import MPI

    communicator.Barrier()
    slowest: float = communicator.allreduce(pulses.settled(), op=MPI.MAX)
    return slowest
