"""Every call of MPI's collectives on all ranks, recorded: a run file for each at each size.

    mpiexec -n 2 python examples/scaling/collective_calls.py OUT
    hindmost scale OUT          # with files of several numbers of ranks: how each grows with them

An iteration is a call, and all ranks begin it at one instant of a common clock: the time is to be
the call's own, not the skew that the call before it left. A barrier before each call does not give
that: ranks leave a barrier one after another, by as much as a small collective takes, and a rank
that is held up after it is waited for inside the call that is timed. So a call begins in a window,
as in SKaMPI (Worsch, Reussner and Augustin, EuroPVM/MPI 2002) and NBCBench (Hoefler, Schneider and
Lumsdaine, IPDPS 2008). A window of fixed length is too short after a slow call and wasted after a
quick one; so each is agreed on when the call before it is over, as in ReproMPI (Hunold and
Carpen-Amarie, CLUSTER 2018; on barriers against windows: IEEE TPDS 27, 2016). One reduction does
it: its maximum over the ranks is the instant, a margin after the last rank came.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from collectives import OPERATIONS as OVER_SIZES
from collectives import Call

import hindmost

FIRST_MARGIN_NS, LARGEST_MARGIN_NS = 50_000, 20_000_000
"""From when the last rank came until the call; doubled when the news came too late to a rank."""
LATE_NS = 500
"""A rank that begins so much after the instant is late: the system had taken its core away."""
IN_TIME, HELD_UP, TOLD_TOO_LATE = range(3)
"""How a rank began a call, the worst last."""
TRIPS = 50
"""Round trips to rank 0 to compare clocks; the quickest counts."""


def reduce(comm: Any, count: int) -> Callable[[], Any]:
    """Return a sum of float64 on rank 0."""
    sent, received = np.zeros(count // 8), np.zeros(count // 8)
    return lambda: comm.Reduce(sent, received)


def alltoall(comm: Any, count: int) -> Callable[[], Any]:
    """Return an exchange of so many bytes between any two ranks."""
    sent, received = np.zeros((2, count * comm.size), np.uint8)
    return lambda: comm.Alltoall(sent, received)


def reduce_scatter(comm: Any, count: int) -> Callable[[], Any]:
    """Return a sum of float64, of which each rank receives so many bytes."""
    sent, received = np.zeros(count // 8 * comm.size), np.zeros(count // 8)
    return lambda: comm.Reduce_scatter_block(sent, received)


def barrier(comm: Any, count: int) -> Callable[[], Any]:
    """Return a barrier, which has no size."""
    return lambda: comm.Barrier()


OPERATIONS: dict[str, Call] = {
    **{name: call for name, call in OVER_SIZES.items() if name != "ping-pong"},
    "reduce": reduce,
    "alltoall": alltoall,
    "reduce-scatter": reduce_scatter,
    "barrier": barrier,
}


def clock_offset_ns(comm: Any) -> int:
    """Return what to add to this rank's clock for rank 0's; 0 if that is within its uncertainty."""
    shortest, offset, word = LARGEST_MARGIN_NS, 0, np.zeros(1, np.int64)
    for other in range(1, comm.size):
        for _ in range(TRIPS):
            if comm.rank == 0:
                comm.Recv(word, other)
                word[0] = time.monotonic_ns()
                comm.Send(word, other)
            elif comm.rank == other:
                began = time.monotonic_ns()
                comm.Send(word, 0)
                comm.Recv(word, 0)
                ended = time.monotonic_ns()
                if ended - began < shortest:
                    shortest, offset = ended - began, int(word[0]) - (began + ended) // 2
    return offset if abs(offset) > shortest // 2 else 0


class Windows:
    """Lets the ranks begin calls together; all methods are collective."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self._comm, self._greatest = comm.Dup(), MPI.MAX  # of its own: no call meets another's
        self._offset_ns = clock_offset_ns(self._comm)
        self._margin_ns, self._how = FIRST_MARGIN_NS, IN_TIME
        self.late = 0

    def _agree(self) -> int:
        """Tell how this rank began the last call, and return when the next one begins."""
        instant_ns = time.monotonic_ns() + self._offset_ns + self._margin_ns
        mine, worst = np.array([self._how, instant_ns]), np.empty(2, np.int64)
        self._comm.Allreduce(mine, worst, self._greatest)
        self.late += worst[0] > IN_TIME
        if worst[0] == TOLD_TOO_LATE:
            self._margin_ns = min(2 * self._margin_ns, LARGEST_MARGIN_NS)
        return int(worst[1]) - self._offset_ns

    def wait(self) -> None:
        """Wait for the instant at which all ranks begin a call, without sleeping."""
        start_ns, now = self._agree(), time.monotonic_ns
        self._how = TOLD_TOO_LATE if now() >= start_ns else IN_TIME
        while (begun_ns := now()) < start_ns:
            pass
        if self._how == IN_TIME and begun_ns - start_ns > LATE_NS:
            self._how = HELD_UP

    def count_late(self) -> int:
        """Return how many calls some rank began late since this was asked before."""
        self._agree()
        late, self.late, self._how = self.late, 0, IN_TIME
        return late


def record(path: Path, comm: Any, windows: Windows, asked: argparse.Namespace) -> None:
    """Record the calls of an operation at a size, and say how many began late."""
    call = OPERATIONS[asked.operation](comm, asked.size)
    for _ in range(asked.warmup):
        windows.wait()
        call()
    windows.count_late()
    gc.collect()
    gc.disable()
    parameters = {"bytes": asked.size}
    with hindmost.record(
        path, comm, name=asked.operation, parameters=parameters, apart=True
    ) as recorder:
        for _ in range(asked.calls):
            windows.wait()
            with recorder.iteration():
                call()
    gc.enable()
    late = windows.count_late()
    if comm.rank == 0:
        told = f" ({late} of {asked.calls} calls began late on some rank)" if late else ""
        sys.stdout.write(f"{path}{told}\n")


def asked_for() -> argparse.Namespace:
    """Return the words of the command."""
    parser = argparse.ArgumentParser(description="Record every call of MPI's collectives.")
    parser.add_argument("out", type=Path, help="folder for the run files")
    parser.add_argument("--operations", default=",".join(OPERATIONS), help="with commas")
    parser.add_argument("--bytes", default="8,1024,65536", help="sizes, multiples of 8")
    parser.add_argument("--calls", type=int, default=1000, help="recorded calls of each")
    parser.add_argument("--warmup", type=int, default=20, help="calls before these")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    asked = parser.parse_args()
    unknown = set(asked.operations.split(",")) - set(OPERATIONS)
    if unknown:
        known = ", ".join(OPERATIONS)
        parser.error(f"no operation {', '.join(sorted(unknown))}; there are {known}")
    return asked


def main() -> None:
    """Record each operation at each size, in each repeat in another order."""
    asked = asked_for()
    hindmost.listen()  # before MPI is loaded
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    windows, order = Windows(comm), random.Random(asked.seed)
    asked.out.mkdir(parents=True, exist_ok=True)
    for repeat in range(asked.repeats):
        cases = [
            (operation, int(size))
            for operation in asked.operations.split(",")
            for size in (["0"] if operation == "barrier" else asked.bytes.split(","))
        ]
        order.shuffle(cases)
        for asked.operation, asked.size in cases:
            size = f"-{asked.size}B" if asked.size else ""
            name = f"{asked.operation}{size}-p{comm.size}-{repeat}.h5"
            record(asked.out / name, comm, windows, asked)


if __name__ == "__main__":
    main()
