"""The time of messages and of reductions, against every message of an algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.models.simulation.layout import NodeNetwork
from hindmost.models.simulation.network import Link, Piece, allreduce_messages

LINK = Link(
    pieces=(
        Piece(from_bytes=0, latency_s=1e-6, per_byte_s=1e-9),
        Piece(from_bytes=1024, latency_s=3e-6, per_byte_s=2e-10),
    )
)
Clocks = list[float]


def send(clocks: Clocks, pairs: list[tuple[int, int]], bytes: float) -> Clocks:
    """Return the clocks after messages that are sent at once: the target has what it waited for."""
    after = list(clocks)
    for source, target in pairs:
        after[target] = max(after[target], clocks[source] + LINK.time_s(bytes))
    return after


def exchange(inside: list[int], distance: int) -> list[tuple[int, int]]:
    """Return the messages of a round, between the ranks that take part."""
    return [(rank, inside[number ^ distance]) for number, rank in enumerate(inside)]


def recursive_doubling(ranks: int, bytes: float) -> float:
    clocks = ranks * [0.0]
    whole = 1 << (ranks.bit_length() - 1)
    beyond = [(2 * each, 2 * each + 1) for each in range(ranks - whole)]
    inside = [rank for rank in range(ranks) if rank not in {source for source, _ in beyond}]
    clocks = send(clocks, beyond, bytes)
    distance = 1
    while distance < whole:
        clocks = send(clocks, exchange(inside, distance), bytes)
        distance *= 2
    return max(send(clocks, [(target, source) for source, target in beyond], bytes))


@pytest.mark.parametrize("bytes", [8.0, 65536.0])
@pytest.mark.parametrize("ranks", [*range(1, 18), 24, 31, 33])
def test_reductions_take_as_long_as_their_messages(ranks: int, bytes: float) -> None:
    by_message = recursive_doubling(ranks, bytes)
    assert allreduce_messages(ranks) * LINK.time_s(bytes) == pytest.approx(by_message, rel=1e-12)
    network = NodeNetwork(within=LINK, across=LINK)
    assert network.reduction_s(np.zeros(ranks, np.intp), bytes) == pytest.approx(by_message)


def test_bytes_take_their_share_of_a_message() -> None:
    assert LINK.byte_share(1000.0) == pytest.approx(0.5)
    assert LINK.byte_share(1_000_000.0) == pytest.approx(200 / 203)
    assert LINK.byte_share(0.0) == 0.0
    nothing = Link(pieces=(Piece(from_bytes=0, latency_s=0.0, per_byte_s=0.0),))
    assert nothing.byte_share(8.0) == 0.0
