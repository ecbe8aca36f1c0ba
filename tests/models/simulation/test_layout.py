"""What reductions and halos cost on nodes, message by message."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.models.simulation.layout import NodeNetwork, grid_edges, nodes_of, sides_of
from hindmost.models.simulation.network import Link, Piece


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
