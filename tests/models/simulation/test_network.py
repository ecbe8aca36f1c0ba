"""The time of messages and of reductions, against every message of an algorithm."""

import numpy as np
import pytest

from hindmost.models.simulation.network import (
    Link,
    NodeNetwork,
    Piece,
    allreduce_messages,
    grid_edges,
    nodes_of,
    sides_of,
)

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


def link(latency_s: float, per_byte_s: float = 0.0) -> Link:
    return Link(pieces=(Piece(from_bytes=0, latency_s=latency_s, per_byte_s=per_byte_s),))


def test_near_rounds_stay_on_a_node() -> None:
    """32 ranks on 8 nodes: two rounds within a node, three between nodes."""
    network = NodeNetwork(within=link(1.0), across=link(7.0))
    assert network.reduction_s(nodes_of(32, 4)) == pytest.approx(2 + 3 * 7)


def test_messages_that_leave_a_node_together_share_its_link() -> None:
    """In a plane of 4 x 4 ranks on nodes of 4, each node sends 4 messages to each neighbour."""
    network = NodeNetwork(within=link(1.0), across=link(7.0, 0.5))
    alone = network.halo_s(grid_edges(2, 1), nodes_of(2, 1), 10.0)
    assert alone == pytest.approx(7.0 + 5.0)
    plane = network.halo_s(grid_edges(16, 2), nodes_of(16, 4), 10.0)
    assert plane == pytest.approx(7.0 + 8 * 5.0)
    assert network.halo_s(grid_edges(16, 0), nodes_of(16, 4), 10.0) == 0.0


def test_changes_of_the_network_apply_to_both_links() -> None:
    changed = NodeNetwork(within=link(1.0, 2.0), across=link(7.0, 4.0)).changed(2.0, 0.5, 4.0)
    assert changed.within == link(2.5, 0.5)
    assert changed.across == link(14.5, 1.0)


def test_grids_are_near_to_cubes() -> None:
    assert [sides_of(64, each) for each in (1, 2, 3)] == [[64], [8, 8], [4, 4, 4]]
    assert sides_of(7, 2) == [7, 1]
    source, target = grid_edges(8, 3)
    assert len(source) == 24
    assert np.bincount(target).tolist() == [3] * 8
