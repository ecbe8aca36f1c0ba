"""What reductions and halos cost on nodes, message by message."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.models.simulation.layout import NodeNetwork, grid_edges, nodes_of, sides_of
from hindmost.models.simulation.network import Collective, Link, Piece, allreduce_s


def link(latency_s: float, per_byte_s: float = 0.0) -> Link:
    return Link(pieces=(Piece(from_bytes=0, latency_s=latency_s, per_byte_s=per_byte_s),))


@pytest.mark.parametrize("algorithm", Collective)
@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8, 13, 32])
def test_with_one_kind_of_message_it_is_the_allreduce(algorithm: Collective, ranks: int) -> None:
    same = link(3.0, 0.1)
    network = NodeNetwork(within=same, across=same, collective=algorithm)
    one_node = np.zeros(ranks, np.intp)
    expected = allreduce_s(algorithm, ranks, 64.0, same.time_s)
    assert network.reduction_s(one_node, 64.0) == pytest.approx(expected)


@pytest.mark.parametrize(("ranks", "per_node"), [(2, 1), (6, 2), (7, 3), (9, 4), (12, 12)])
def test_the_ring_is_that_of_a_walk_step_by_step(ranks: int, per_node: int) -> None:
    node = nodes_of(ranks, per_node)
    network = NodeNetwork(within=link(1.0), across=link(7.0), collective=Collective.RING)
    clock = [0.0] * ranks
    for _ in range(2 * (ranks - 1)):
        clock = [
            max(clock[p], clock[p - 1] + (1.0 if node[p] == node[p - 1] else 7.0))
            for p in range(ranks)
        ]
    assert network.reduction_s(node) == pytest.approx(max(clock))


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [(Collective.RECURSIVE_DOUBLING, 2 + 3 * 7), (Collective.TREE, 2 * (2 + 3 * 7))],
)
def test_near_rounds_stay_on_a_node(algorithm: Collective, expected: float) -> None:
    """32 ranks on 8 nodes: two rounds within a node, three between nodes."""
    network = NodeNetwork(within=link(1.0), across=link(7.0), collective=algorithm)
    assert network.reduction_s(nodes_of(32, 4)) == pytest.approx(expected)


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
