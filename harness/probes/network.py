"""Times of messages, uni- and bi-directional, within a node and between nodes; allreduce.

Times are those of a Python program and include mpi4py's overhead, as in a loop that uses mpi4py.
Buffers are reused, so they are in cache if they fit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.probes.sampling import Effort, Timed, sample
from hindmost.harness.probes.turns import among, nodes_of

LARGEST_MESSAGE = 4 * 2**20
LARGEST_REDUCTION = 64 * 2**10


def message_sizes() -> tuple[int, ...]:
    """Return 0, the powers of two and one and a half times these, in bytes."""
    powers = [2**power for power in range(LARGEST_MESSAGE.bit_length())]
    between = (3 * each // 2 for each in powers if 1 < each < LARGEST_MESSAGE)
    return tuple(sorted({0, *powers, *between}))


def reduction_sizes() -> tuple[int, ...]:
    """Return the powers of two, from the size of a double, in bytes."""
    return tuple(2**power for power in range(3, LARGEST_REDUCTION.bit_length()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """A pair of ranks that represents others.

    Attributes
    ----------
    name : str
        ``within`` a node or ``across`` nodes.
    ranks : (int, int)
    """

    name: str
    ranks: tuple[int, int]


def pairs(nodes: Sequence[int]) -> tuple[Sort, ...]:
    """Choose the first pair of ranks within a node, and the first across nodes if there are two.

    Parameters
    ----------
    nodes : sequence of int
        Number of the node of every rank.

    Raises
    ------
    UsageError
        No two ranks share a node.
    """
    seen: dict[int, int] = {}
    within = None
    for rank, node in enumerate(nodes):
        if within is None and node in seen:
            within = (seen[node], rank)
        seen.setdefault(node, rank)
    if within is None:
        raise UsageError(
            f"The network probe needs 2 ranks on one node and found {len(nodes)} on {len(seen)}: "
            "start it with, for example, mpiexec -n 2 hindmost probe network; for the network "
            "between nodes, with 2 ranks on each of 2 nodes."
        )
    across = [Sort(name="across", ranks=tuple(list(seen.values())[:2]))] if len(seen) > 1 else []  # type: ignore[arg-type]  # two of them
    return (Sort(name="within", ranks=within), *across)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTimes:
    """The times between two ranks."""

    sort: Sort
    one_way: tuple[Timed, ...]
    both_ways: tuple[Timed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionTimes:
    """The times of an allreduce on a number of ranks."""

    ranks: int
    timed: tuple[Timed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimes:
    """All measured times.

    Attributes
    ----------
    pairs : tuple of PairTimes
    reductions : tuple of ReductionTimes
    """

    pairs: tuple[PairTimes, ...]
    reductions: tuple[ReductionTimes, ...]


def measure_network(
    communicator: Any,
    effort: Effort,
    *,
    seed: int = 0,
    messages: Sequence[int] = message_sizes(),
    reductions: Sequence[int] = reduction_sizes(),
) -> NetworkTimes:
    """Time messages and allreduces; collective.

    Ranks without a part in a measurement sleep.

    Parameters
    ----------
    messages, reductions : sequence of int
        Bytes.

    Raises
    ------
    UsageError
        No two ranks share a node.
    """
    found = []
    for sort in pairs(nodes_of(communicator)):
        with among(communicator, list(sort.ranks)) as pair:
            mine = None if pair is None else measure_pair(pair, sort, messages, effort, seed)
        found.append(communicator.bcast(mine, root=sort.ranks[0]))
    reduced = []
    for ranks in rank_counts(communicator.size):
        with among(communicator, list(range(ranks))) as some:
            timed = None if some is None else measure_reductions(some, reductions, effort, seed)
        reduced.append(communicator.bcast(timed))
    return NetworkTimes(pairs=tuple(found), reductions=tuple(reduced))


def rank_counts(size: int) -> tuple[int, ...]:
    """Return 2, 4, 8 and so on, and finally the number of ranks."""
    powers = {2**power for power in range(1, size.bit_length())}
    return tuple(sorted({each for each in powers if each <= size} | {size} - {1}))


def measure_pair(
    pair: Any, sort: Sort, sizes: Sequence[int], effort: Effort, seed: int
) -> PairTimes:
    """Time messages between two ranks."""
    from mpi4py import MPI

    # Written before the first message, so that page faults are not timed.
    sent, received = (np.ones(max(sizes, default=0), np.uint8) for _ in range(2))
    peer = 1 - pair.rank

    def one_way(size: int, repeats: int) -> float:
        out, into = [sent[:size], size, MPI.BYTE], [received[:size], size, MPI.BYTE]
        pair.Barrier()
        begin = time.perf_counter()
        if pair.rank == 0:
            for _ in range(repeats):
                pair.Send(out, peer)
                pair.Recv(into, peer)
        else:
            for _ in range(repeats):
                pair.Recv(into, peer)
                pair.Send(out, peer)
        return (time.perf_counter() - begin) / (2 * repeats)

    def both_ways(size: int, repeats: int) -> float:
        out, into = [sent[:size], size, MPI.BYTE], [received[:size], size, MPI.BYTE]
        pair.Barrier()
        begin = time.perf_counter()
        for _ in range(repeats):
            requests = [pair.Irecv(into, peer), pair.Isend(out, peer)]
            MPI.Request.Waitall(requests)
        return (time.perf_counter() - begin) / repeats

    return PairTimes(
        sort=sort,
        one_way=sample(pair, one_way, sizes, effort, seed),
        both_ways=sample(pair, both_ways, sizes, effort, seed + 1),
    )


def measure_reductions(
    communicator: Any, sizes: Sequence[int], effort: Effort, seed: int
) -> ReductionTimes:
    """Time sums of doubles over all ranks; the slowest rank's time counts."""
    from mpi4py import MPI

    own: NDArray[np.float64] = np.ones(max(sizes) // 8)
    total = np.zeros_like(own)
    mine, slowest = np.zeros(1), np.zeros(1)

    def batch(size: int, repeats: int) -> float:
        part, whole = own[: size // 8], total[: size // 8]
        communicator.Barrier()
        begin = time.perf_counter()
        for _ in range(repeats):
            communicator.Allreduce(part, whole, op=MPI.SUM)
        mine[0] = (time.perf_counter() - begin) / repeats
        communicator.Allreduce(mine, slowest, op=MPI.MAX)
        return float(slowest[0])

    return ReductionTimes(
        ranks=communicator.size, timed=sample(communicator, batch, sizes, effort, seed)
    )
