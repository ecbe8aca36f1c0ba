"""When a call begins: on all ranks at one instant of the common clock.

The time of a collective is to be its own, not the skew that the call before it left. A barrier
before each call does not give that: ranks leave a barrier one after another, by as much as a small
collective takes, in an order that depends on the barrier's algorithm, and a rank that is held up
after it is waited for inside the call that is timed. So a call begins in a window, as in SKaMPI
(Worsch, Reussner and Augustin, "On Benchmarking Collective MPI Operations", EuroPVM/MPI 2002) and
NBCBench (Hoefler, Schneider and Lumsdaine, "Accurately Measuring Collective Operations at Massive
Scale", IPDPS 2008): the ranks agree on an instant to come and wait for it, each by its own clock
corrected to rank 0's. A window of fixed length is too short after a slow call and wasted after a
quick one; so each window is agreed on when the call before it is over, as in the round-time scheme
of ReproMPI (Hunold and Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018; on
barriers against windows: "Reproducible MPI Benchmarking is Still Not as Easy as You Think", IEEE
TPDS 27, 2016). Here one reduction does both: its maximum over ranks is the instant, a margin after
the last rank came, and tells whether any rank was late for the call before, which is then left out
and done again. How well the ranks begin together is bounded by the uncertainty of the clocks, which
is in the run file: none within a node, half the quickest round trip across nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.harness.recorder.clock import ClockReading, significant

FIRST_MARGIN_NS = 50_000
LARGEST_MARGIN_NS = 20_000_000
"""From when the last rank came until the call; doubled when the news came too late to a rank."""
LATE_NS = 500
"""A rank that begins so much after the instant is late: the system had taken its core away."""
IN_TIME, HELD_UP, TOLD_TOO_LATE = range(3)
"""How a rank began a call, the worst last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedCall:
    """A call on this rank.

    Attributes
    ----------
    begin_ns, end_ns : int
        On this rank's clock.
    late : bool
        Some rank began late.
    """

    begin_ns: int
    end_ns: int
    late: bool


class Alignment:
    """Lets the ranks begin calls together; making it costs nothing, calling it is collective.

    Parameters
    ----------
    communicator : MPI.Intracomm
        Another one than the calls use.
    clock : ClockReading
        This rank's, read shortly before.
    """

    def __init__(self, communicator: Any, clock: ClockReading) -> None:
        from mpi4py import MPI

        self._communicator = communicator
        self._offset_ns = significant(clock)
        self._mine, self._worst = np.zeros(2, np.int64), np.zeros(2, np.int64)
        words = [
            [self._mine, 2, MPI.INT64_T],
            [self._worst, 2, MPI.INT64_T],
            MPI.MAX,
        ]
        self._reduce: Callable[[], None] = lambda: communicator.Allreduce(*words)
        self.margin_ns = FIRST_MARGIN_NS
        self.left_out = 0

    def calls(self, call: Callable[[], object], wanted: int, most: int) -> list[AlignedCall]:
        """Make calls until `wanted` of them began in time; discard the late ones.

        Parameters
        ----------
        call : callable
            Collective.
        wanted : int
        most : int
            Calls in all: from then on late ones are kept, so that it ends on a crowded machine.

        Returns
        -------
        list of AlignedCall
            As many as are wanted.
        """
        kept: list[AlignedCall] = []
        made = 0
        start_ns = self.meet(IN_TIME)[1]
        while True:
            how, begin_ns, end_ns = self.begin_at(start_ns, call)
            worst, start_ns = self.meet(how)
            made += 1
            if worst == TOLD_TOO_LATE:
                self.margin_ns = min(2 * self.margin_ns, LARGEST_MARGIN_NS)
            if worst == IN_TIME or made > most - (wanted - len(kept)):
                kept.append(AlignedCall(begin_ns=begin_ns, end_ns=end_ns, late=worst != IN_TIME))
            else:
                self.left_out += 1
            if len(kept) == wanted:
                return kept

    def meet(self, how: int) -> tuple[int, int]:
        """Agree on how the last call began, and on when the next one does; collective.

        Returns
        -------
        (int, int)
            The worst of all ranks, and the instant on this rank's clock, in nanoseconds.
        """
        self._mine[0] = how
        self._mine[1] = time.monotonic_ns() + self._offset_ns + self.margin_ns
        self._reduce()
        worst, instant_ns = self._worst.tolist()
        return worst, instant_ns - self._offset_ns

    def begin_at(self, start_ns: int, call: Callable[[], object]) -> tuple[int, int, int]:
        """Wait for an instant without sleeping, and call.

        Returns
        -------
        (int, int, int)
            How this rank began, and begin and end of the call.
        """
        now = time.monotonic_ns
        how = TOLD_TOO_LATE if now() >= start_ns else IN_TIME
        begin_ns = now()
        while begin_ns < start_ns:
            begin_ns = now()
        call()
        end_ns = now()
        if how == IN_TIME and begin_ns - start_ns > LATE_NS:
            how = HELD_UP
        return how, begin_ns, end_ns
