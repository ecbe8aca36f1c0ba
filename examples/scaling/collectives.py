"""MPI operations over message sizes: where the library changes its protocol or its algorithm.

    mpiexec -n 2 python examples/scaling/collectives.py OUT
    mpiexec -n 2 python examples/scaling/collectives.py OUT --eager-limit 32768
    mpiexec -n 2 python examples/scaling/collectives.py OUT --operations bcast --pipeline-from 8192

The library says itself where it changes: its control variables stand at the head of the file. The
options move that place: ``--eager-limit`` the size from which a message waits for its receiver,
``--pipeline-from`` (Open MPI) the size from which a broadcast is sent in pieces of 512 bytes.

A call is timed on all ranks from a barrier, and lasts as long as on the slowest. Of the calls of
one size, the least and the median are kept; a repetition is one pass over all sizes.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from control_variables import read_control_variables
from extrap_text import write_text

SMALLEST, LARGEST = 512, 131072
"""Bytes of a message: tiny ones have ways of their own, huge ones leave the caches."""
VARIABLES = (
    "btl_vader_eager_limit",
    "btl_sm_eager_limit",
    "coll_tuned_use_dynamic_rules",
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD",
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
)
EAGER_LIMITS = (
    "OMPI_MCA_btl_vader_eager_limit",
    "OMPI_MCA_btl_sm_eager_limit",
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD",
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
    "MPIR_CVAR_CH4_PACK_BUFFER_SIZE",
)
"""What Open MPI and MPICH call the size up to which messages on a node are sent at once.

Open MPI counts its header. MPICH changes at the first of its three; messages below need a cell that
holds them, and it does not start with cells that are larger than its packing buffers.
"""
PIECE = 512
BCAST, LINEAR, PIPELINE = 7, 1, 3
"""Open MPI's numbers of the operation and of its algorithms."""
WARM_UP = 3
Call = Callable[[Any, int], Callable[[], Any]]


def rules(ranks: int, first: int) -> str:
    """Return Open MPI's rules for a broadcast: linear, and in pieces from so many bytes."""
    lines = ["1 # operation", f"{BCAST} # broadcast", "1 # size of communicator", f"{ranks}"]
    lines += ["2 # sizes of messages", f"0 {LINEAR} 0 0", f"{first} {PIPELINE} 0 {PIECE}"]
    return "\n".join(lines) + "\n"


def ping_pong(comm: Any, count: int) -> Callable[[], Any]:
    """Return a message from rank 0 to rank 1 and back; the others do nothing."""
    sent, received = np.zeros(count, np.uint8), np.zeros(count, np.uint8)

    def first() -> None:
        comm.Send(sent, 1)
        comm.Recv(received, 1)

    def second() -> None:
        comm.Recv(received, 0)
        comm.Send(sent, 0)

    return (first, second)[comm.rank] if comm.rank < 2 else lambda: None


def bcast(comm: Any, count: int) -> Callable[[], Any]:
    """Return a broadcast."""
    space = np.zeros(count, np.uint8)
    return lambda: comm.Bcast(space, 0)


def allreduce(comm: Any, count: int) -> Callable[[], Any]:
    """Return a sum of float64."""
    sent, received = np.zeros(count // 8), np.zeros(count // 8)
    return lambda: comm.Allreduce(sent, received)


def gather(comm: Any, count: int) -> Callable[[], Any]:
    """Return a gather of so many bytes from each rank."""
    sent = np.zeros(count, np.uint8)
    received = np.zeros(count * comm.size, np.uint8) if comm.rank == 0 else None
    return lambda: comm.Gather(sent, received, 0)


def allgather(comm: Any, count: int) -> Callable[[], Any]:
    """Return an allgather of so many bytes from each rank."""
    sent, received = np.zeros(count, np.uint8), np.zeros(count * comm.size, np.uint8)
    return lambda: comm.Allgather(sent, received)


OPERATIONS: dict[str, Call] = {
    each.__name__.replace("_", "-"): each
    for each in (ping_pong, bcast, allreduce, gather, allgather)
}


def sizes(smallest: int, largest: int) -> list[int]:
    """Return powers of two and one size between each two, all multiples of 8 bytes."""
    halves = 2 * np.log2([smallest, largest])
    found = 2 ** (np.arange(np.rint(halves[0]), np.rint(halves[1]) + 1) / 2)
    return sorted({int(8 * np.rint(each / 8)) for each in found if each >= 8})


def timed(comm: Any, call: Callable[[], Any], calls: int, slowest: Any) -> tuple[float, float]:
    """Return the least and the median seconds of a call, each as long as on the slowest rank."""
    own, longest = np.empty(calls), np.empty(calls)
    for _ in range(WARM_UP):
        call()
    for number in range(calls):
        comm.Barrier()
        began = time.perf_counter()
        call()
        own[number] = time.perf_counter() - began
    comm.Allreduce(own, longest, slowest)
    return float(longest.min()), float(np.median(longest))


def measure(
    names: list[str], points: list[int], repetitions: int, calls: int
) -> dict[tuple[str, str], list[list[float]]]:
    """Return the seconds of each operation: for each size the repetitions."""
    from mpi4py import MPI  # after the settings: the library reads them as it starts

    found: dict[tuple[str, str], list[list[float]]] = {
        (name, metric): [[] for _ in points] for name in names for metric in ("least", "median")
    }
    for _ in range(repetitions):
        for name in names:
            for at, count in enumerate(points):
                call = OPERATIONS[name](MPI.COMM_WORLD, count)
                least, median = timed(MPI.COMM_WORLD, call, calls, MPI.MAX)
                # There and back are two messages.
                share = 0.5 if name == "ping-pong" else 1.0
                found[name, "least"][at].append(share * least)
                found[name, "median"][at].append(share * median)
    return found


def asked_for() -> argparse.Namespace:
    """Return the words of the command."""
    parser = argparse.ArgumentParser(description="MPI operations over message sizes.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--operations", default=",".join(OPERATIONS), help="with commas")
    parser.add_argument("--smallest", type=int, default=SMALLEST, help="bytes")
    parser.add_argument("--largest", type=int, default=LARGEST, help="bytes")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300, help="of each size in a repetition")
    parser.add_argument("--eager-limit", type=int, help="bytes, header included")
    parser.add_argument("--pipeline-from", type=int, help="bytes (Open MPI, broadcast)")
    asked = parser.parse_args()
    unknown = set(asked.operations.split(",")) - set(OPERATIONS)
    if unknown:
        parser.error(
            f"no operation {', '.join(sorted(unknown))}; there are {', '.join(OPERATIONS)}"
        )
    return asked


def main() -> None:
    """Measure, write the experiment on rank 0, tell what hindmost makes of it."""
    asked = asked_for()
    if asked.eager_limit:
        os.environ.update(dict.fromkeys(EAGER_LIMITS, str(asked.eager_limit)))
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
        if asked.pipeline_from:
            # Every rank reads the file as MPI starts, before it can know how many ranks there are.
            ranks = os.environ.get("OMPI_COMM_WORLD_SIZE", "2")
            file.write(rules(int(ranks), asked.pipeline_from))
            file.flush()
            tuned = {"use_dynamic_rules": "1", "dynamic_rules_filename": file.name}
            os.environ.update(
                {f"OMPI_MCA_coll_tuned_{name}": value for name, value in tuned.items()}
            )
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        variables = read_control_variables(VARIABLES)
        points = sizes(asked.smallest, asked.largest)
        found = measure(asked.operations.split(","), points, asked.repetitions, asked.calls)
    if comm.rank:
        return
    forced = {"eager limit": asked.eager_limit, "broadcast in pieces from": asked.pipeline_from}
    told = ", ".join(f"{name} {value} bytes" for name, value in forced.items() if value)
    write_text(
        asked.out,
        parameter="bytes",
        points=points,
        values=found,
        remarks=[
            f"what: seconds of MPI operations on {comm.size} ranks, over the bytes of a message",
            f"library: {' '.join(MPI.Get_library_version().split(',')[0].splitlines()[0].split())}",
            "control variables: " + ", ".join(f"{name} = {n}" for name, n in variables.items()),
            f"forced: {told or 'nothing'}",
        ],
    )
    from findings import tell  # here: the other ranks need not wait for it

    print(tell(asked.out))


if __name__ == "__main__":
    main()
