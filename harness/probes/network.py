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

from hindmost.errors import UsageError
from hindmost.harness.probes.section import (
    QUICK,
    THOROUGH,
    Effort,
    ProbeResult,
    ProbeSection,
    ProbeSetting,
    Timed,
    sample,
)
from hindmost.harness.turns import among, nodes_of
from hindmost.models.adaptive.machine import AllreduceTime, Network
from hindmost.models.simulation.network import Link
from hindmost.text import bandwidth, byte_count, seconds

POWERS = tuple(2**power for power in range(23))
"""1 byte to 4 MiB."""
SIZES = tuple(sorted({0, *POWERS, *(3 * power // 2 for power in POWERS[1:-1])}))
"""Of messages, bytes: 0, powers of two, and one and a half times these."""
REDUCTION = 8
"""Bytes of an allreduce, which solvers and the adaptive kernel sum."""


def pairs(nodes: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Choose the first pair of ranks ``within`` a node, and ``across`` nodes if there are two.

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
    first, second = (*seen.values(), -1)[:2]
    return {"within": within, **({"across": (first, second)} if len(seen) > 1 else {})}


Times = tuple[Timed, ...]
"""Of messages of each size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimes:
    """All measured times.

    Attributes
    ----------
    ranks : dict of str to (int, int)
        The pairs of `pairs`.
    links : dict of str to Times
        Of messages of these pairs one way, and as ``NAME_both_ways`` both ways.
    reductions : dict of int to Times
        Of an allreduce, by the number of ranks.
    """

    ranks: dict[str, tuple[int, int]]
    links: dict[str, Times]
    reductions: dict[int, Times]


def measure_network(
    communicator: Any,
    effort: Effort,
    *,
    messages: Sequence[int] = SIZES,
) -> NetworkTimes:
    """Time messages and allreduces; collective.

    Ranks without a part in a measurement sleep.

    Parameters
    ----------
    messages : sequence of int
        Bytes.

    Raises
    ------
    UsageError
        No two ranks share a node.
    """
    ranks, links = pairs(nodes_of(communicator)), {}
    for name, members in ranks.items():
        with among(communicator, list(members)) as pair:
            mine = None if pair is None else measure_pair(pair, messages, effort)
        links[name], links[f"{name}_both_ways"] = communicator.bcast(mine, root=members[0])
    reduced = {}
    for count in rank_counts(communicator.size):
        with among(communicator, list(range(count))) as some:
            timed = None if some is None else measure_reductions(some, effort)
        reduced[count] = communicator.bcast(timed)
    return NetworkTimes(ranks=ranks, links=links, reductions=reduced)


def rank_counts(size: int) -> tuple[int, ...]:
    """Return 2, 4, 8 and so on, and finally the number of ranks."""
    powers = {2**power for power in range(1, size.bit_length())}
    return tuple(sorted({power for power in powers if power <= size} | {size} - {1}))


def measure_pair(pair: Any, sizes: Sequence[int], effort: Effort) -> tuple[Times, Times]:
    """Time messages between two ranks, one way and both ways."""
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

    return sample(pair, one_way, sizes, effort), sample(pair, both_ways, sizes, effort)


def measure_reductions(communicator: Any, effort: Effort) -> Times:
    """Time the sum of a double over all ranks; the slowest rank's time counts."""
    from mpi4py import MPI

    own, total, mine, slowest = (np.ones(1) for _ in range(4))

    def batch(size: int, repeats: int) -> float:
        communicator.Barrier()
        begin = time.perf_counter()
        for _ in range(repeats):
            communicator.Allreduce(own, total, op=MPI.SUM)
        mine[0] = (time.perf_counter() - begin) / repeats
        communicator.Allreduce(mine, slowest, op=MPI.MAX)
        return float(slowest[0])

    return sample(communicator, batch, (REDUCTION,), effort)


def check(setting: ProbeSetting) -> None:
    """Raise a UsageError if no two ranks share a node."""
    pairs(setting.nodes)


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the network; collective."""
    times = measure_network(
        setting.communicator,
        QUICK if setting.quick else THOROUGH,
        # Only powers of two if time is short.
        messages=SIZES[::2] if setting.quick else SIZES,
    )
    return described(times) if setting.communicator.rank == 0 else None


def described(times: NetworkTimes) -> ProbeResult:
    """Fit the links and report."""
    links = {name: link(timed) for name, timed in times.links.items()}
    samples: dict[str, object] = {
        name: {"ranks": list(times.ranks[name.removesuffix("_both_ways")]), "sizes": raw(timed)}
        for name, timed in times.links.items()
    }
    samples["allreduce"] = [
        {"ranks": ranks, "sizes": raw(timed)} for ranks, timed in times.reductions.items()
    ]
    network = Network(
        within=links["within"],
        within_both_ways=links["within_both_ways"],
        across=links.get("across"),
        across_both_ways=links.get("across_both_ways"),
        allreduce=tuple(
            AllreduceTime(ranks=ranks, bytes=each.size, seconds=each.median_s)
            for ranks, timed in times.reductions.items()
            for each in timed
        ),
    )
    rows = [row for key, fitted in links.items() for row in link_rows(key, fitted)]
    rows += [
        (f"allreduce on {ranks} ranks", f"{seconds(timed[0].median_s)} for {byte_count(REDUCTION)}")
        for ranks, timed in times.reductions.items()
    ]
    return ProbeResult(changes={"network": network}, samples=samples, rows=tuple(rows))


def link(timed: Sequence[Timed]) -> Link:
    """Fit the pieces of a link to medians."""
    from hindmost.models.simulation.network import fit_link

    return fit_link([each.size for each in timed], [each.median_s for each in timed])


def raw(timed: Sequence[Timed]) -> list[dict[str, object]]:
    """Return all batches for JSON."""
    return [
        {"bytes": each.size, "messages_a_batch": each.repeats, "seconds": list(each.seconds)}
        for each in timed
    ]


def link_rows(key: str, fitted: Link) -> list[tuple[str, str]]:
    """Report the pieces of a link."""
    name = key.replace("_", " ")
    if not key.endswith("both_ways"):
        name += " one way"
    return [
        (
            f"{name}, from {byte_count(piece.from_bytes)}",
            f"{seconds(piece.latency_s)} + "
            + (f"bytes / {bandwidth(1 / piece.per_byte_s)}" if piece.per_byte_s > 0 else "0"),
        )
        for piece in fitted.pieces
    ]


NETWORK = ProbeSection(
    name="network",
    summary="ping-pong one way and both ways, within and across nodes; allreduce (2 ranks or more)",
    check=check,
    take=take,
)
