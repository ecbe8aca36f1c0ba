"""Times of links between nodes, of iterations that are walked through here by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.ranks.links import LinkCost, link_costs
from hindmost.models.simulation.blocks import EventBlock, Neighbours

BODIES = 60
KINDS = (EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE)
WITHIN_S = 1e-5


def ring(
    nodes: list[int],
    across_s: dict[tuple[int, int], float],
    clock_s: list[float],
) -> tuple[NDArray[np.float64], EventBlock, Neighbours]:
    """Walk through a ring: work, send to the next, receive from the one before, work, reduce.

    Parameters
    ----------
    nodes : list of int, one a rank
    across_s : dict
        Time of a message by pair of nodes.
    clock_s : list of float, one a node
        Error of its clock.
    """
    random, ranks = np.random.default_rng(0), len(nodes)

    def link(one: int, two: int) -> float:
        pair = (min(nodes[one], nodes[two]), max(nodes[one], nodes[two]))
        return WITHIN_S if pair[0] == pair[1] else across_s[pair]

    work, inside = np.zeros((2, BODIES, ranks, len(KINDS)))
    start, now = np.zeros((BODIES, ranks)), np.zeros(ranks)
    slowest_s = max(link(one, two) for one in range(ranks) for two in range(ranks))
    for body in range(BODIES):
        start[body] = now + np.take(clock_s, nodes)
        work[body, :, 0] = random.uniform(1e-3, 3e-3, ranks)
        # Each node in its turn is late, so that both directions show.
        work[body, np.array(nodes) == body % (1 + max(nodes)), 0] += 1e-2
        sent = now + work[body, :, 0]
        # They come at once, and their neighbour before has or has not sent by then.
        arrived = [sent[rank - 1] + link(rank - 1, rank) for rank in range(ranks)]
        received = np.maximum(sent, arrived)
        inside[body, :, 1] = received - sent
        work[body, :, 2] = random.uniform(1e-4, 3e-4, ranks)
        come = received + work[body, :, 2]
        now = np.full(ranks, come.max())
        # Those of the last rank's node hear of it at once, the others over the link.
        last = nodes[int(come.argmax())]
        now += np.where(np.array(nodes) == last, 0.0, slowest_s)
        inside[body, :, 2] = now - come
    block = EventBlock(
        kind=np.tile(np.array(KINDS, np.uint8), (BODIES, 1)),
        work=work,
        duration=inside,
        rest=np.zeros((BODIES, ranks)),
        cycle_begins=np.arange(BODIES) == 0,
    )
    target = np.arange(ranks, dtype=np.int32)
    return start, block, Neighbours.of_edges(ranks, (target - 1) % ranks, target)


def found(links: list[LinkCost]) -> dict[tuple[int, int], LinkCost]:
    return {each.nodes: each for each in links}


@pytest.mark.parametrize("wrong_s", [0.0, 5e-4, -1e-3])
def test_both_directions_are_free_of_the_error_of_clocks(wrong_s: float) -> None:
    nodes = [0, 0, 1, 1]
    start, block, neighbours = ring(nodes, {(0, 1): 2e-3}, [0.0, wrong_s])
    links = found(link_costs(start, block, neighbours, np.array(nodes), 1e-3))
    assert links[0, 1].message_s == pytest.approx(2e-3, rel=1e-6)
    assert links[0, 1].reduction_s == pytest.approx(2e-3, rel=1e-6)
    assert links[0, 1].clock_s == 0.0
    assert links[0, 0].message_s == pytest.approx(WITHIN_S, rel=1e-6)
    assert links[0, 0].reduction_s is None


def test_the_slow_one_of_three_links_comes_first() -> None:
    nodes, times = [0, 1, 2], {(0, 1): 5e-5, (1, 2): 4e-3, (0, 2): 5e-5}
    start, block, neighbours = ring(nodes, times, [0.0, 0.0, 0.0])
    links = link_costs(start, block, neighbours, np.array(nodes))
    assert links[0].nodes == (1, 2)
    for each in links:
        assert each.message_s == pytest.approx(times[each.nodes], rel=1e-6)
        assert each.reduction_s is None  # over which link, nobody knows
    spent = block.duration[:, 2, 1].sum() / (block.work.sum() + block.duration.sum())
    assert 0.0 < links[0].share <= spent


@pytest.mark.parametrize("wrong_s", [0.0, 8e-4, -8e-4])
def test_one_direction_is_as_uncertain_as_the_clocks(wrong_s: float) -> None:
    nodes = [0, 1]
    start, block, _ = ring(nodes, {(0, 1): 2e-3}, [0.0, wrong_s])
    one_way = Neighbours.of_edges(2, np.array([0], np.int32), np.array([1], np.int32))
    (link,) = link_costs(start, block, one_way, np.array(nodes), 1e-3)
    assert link.clock_s == 1e-3
    assert link.message_s == pytest.approx(2e-3 + wrong_s, rel=1e-6)
    assert link.reduction_s == pytest.approx(2e-3, rel=1e-6)


def test_hidden_messages_show_no_time() -> None:
    nodes = [0, 1]
    start, block, neighbours = ring(nodes, {(0, 1): 2e-3}, [0.0, 0.0])
    block.work[:, :, 1], block.duration[:, :, 1] = 1e-2, 0.0  # all arrived long before
    (link,) = link_costs(start, block, neighbours, np.array(nodes))
    assert link.message_s is None
