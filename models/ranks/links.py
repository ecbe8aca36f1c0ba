"""What communication between nodes takes, by pair of nodes, once nobody is waited for.

A message takes the time from its sending to the end of its receipt
(`hindmost.models.simulation.recorded`), which shows where the receiver was there before the last
neighbour sent. If all neighbours on other nodes are on one node, that is the time of the link to
it; if they are on several, it is an upper limit for each of these links. Of the ranks that receive
over a link in the same direction, the quickest one counts: it was kept by no slower link. A
reduction over all ranks of two nodes takes until the other node leaves it, after the last rank has
come.

A direction is measured with the clocks of both nodes. The mean of both directions is free of the
error between them; one direction alone is as uncertain as the clocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import RECEIVE, EventBlock, Neighbours
from hindmost.models.simulation.recorded import moments, releases

MIN_SEEN = 10
"""Messages whose time shows, at a place of an iteration and on a rank, from which on it counts."""
Directions = dict[tuple[int, int], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCost:
    """What messages and reductions between two nodes take, or messages within one.

    Attributes
    ----------
    nodes : tuple of str
        Two names, or one.
    message_s, reduction_s : float or None
        Medians, in seconds; None if not known.
    clock_s : float
        How far the clocks may have changed these times, in seconds; 0 if both directions show.
    share : float
        Of the time of all ranks: receipts and reductions that depend on no other link, once nobody
        is waited for.
    """

    nodes: tuple[str, ...]
    message_s: float | None
    reduction_s: float | None
    clock_s: float
    share: float


def link_costs(
    start: NDArray[np.float64],
    block: EventBlock,
    neighbours: Neighbours,
    hosts: Sequence[str],
    clock_s: float = 0.0,
    *,
    exchanges_meet: bool = False,
) -> list[LinkCost]:
    """Return what every link takes that the events show, the largest share first.

    Parameters
    ----------
    start : float64 array, shape (iteration, rank), seconds
        On the common clock.
    block : EventBlock
        Of bodies from the first one on.
    neighbours : Neighbours
    hosts : sequence of str, one a rank
    clock_s : float
        Uncertainty of the common clock, in seconds.
    exchanges_meet : bool
        See `hindmost.models.simulation.event_simulator.EventSimulator`.
    """
    names = list(dict.fromkeys(hosts))
    node = np.array([names.index(host) for host in hosts], np.int64)
    come, leave = moments(start, block)
    released = releases(start, block, come, leave, neighbours, exchanges_meet=exchanges_meet)
    cost = leave - np.maximum(come, released)
    spent: dict[tuple[int, int], float] = {}
    messages = of_messages(block, neighbours, node, cost, released - come, spent)
    reductions = of_reductions(block, node, come, leave, cost, spent)
    whole_s = sum(
        float(each.sum(dtype=np.float64)) for each in (block.work, block.duration, block.rest)
    )
    pairs = {(min(way), max(way)) for way in (*messages, *reductions)}
    found = [
        LinkCost(
            nodes=tuple(dict.fromkeys(names[at] for at in pair)),
            message_s=mean_of_ways(messages, pair),
            reduction_s=mean_of_ways(reductions, pair),
            clock_s=clock_s if shows_one_way(messages, reductions, pair) else 0.0,
            share=spent.get(pair, 0.0) / max(whole_s, 1e-300),
        )
        for pair in sorted(pairs)
    ]
    return sorted(found, key=lambda each: -each.share)


def of_messages(
    block: EventBlock,
    neighbours: Neighbours,
    node: NDArray[np.int64],
    cost: NDArray[np.float64],
    waited: NDArray[np.float64],
    spent: dict[tuple[int, int], float],
) -> Directions:
    """Return what messages take by direction, and add to what is spent by pair of nodes."""
    receives = (block.recorded & (block.kind == RECEIVE))[:, :, None] & (waited > -np.inf)
    if block.absent is not None:
        receives &= ~block.absent.transpose(0, 2, 1)
    # The dearest place of an iteration: other places may be messages within the node.
    dearest = medians(cost, receives & (waited >= 0.0)).max(axis=0, initial=-np.inf)
    found: Directions = {}
    for rank in range(node.size):
        own = int(node[rank])
        sources = neighbours.source[neighbours.first[rank] : neighbours.first[rank + 1]]
        others = sorted(set(node[sources].tolist()) - {own})
        for other in others or [own]:
            if np.isfinite(dearest[rank]):
                quickest = found.get((other, own), np.inf)
                found[other, own] = min(quickest, float(dearest[rank]))
        if len(others) < 2:
            pair = (min(own, *others), max(own, *others)) if others else (own, own)
            mine = np.maximum(cost[:, :, rank][receives[:, :, rank]], 0.0)
            spent[pair] = spent.get(pair, 0.0) + float(mine.sum())
    return found


def of_reductions(
    block: EventBlock,
    node: NDArray[np.int64],
    come: NDArray[np.float64],
    leave: NDArray[np.float64],
    cost: NDArray[np.float64],
    spent: dict[tuple[int, int], float],
) -> Directions:
    """Return what reductions over two nodes take, by the node of the last rank and the other."""
    meets = block.meetings
    if int(node.max(initial=0)) != 1 or not meets.any():
        return {}
    at, until = come[meets], leave[meets]
    last = node[at.argmax(axis=1)]
    others = np.where(node == last[:, None], -np.inf, until).max(axis=1)
    spent[0, 1] = spent.get((0, 1), 0.0) + float(np.maximum(cost[meets], 0.0).sum())
    after = others - at.max(axis=1)
    return {
        (way, 1 - way): float(np.median(after[last == way]))
        for way in (0, 1)
        if np.any(last == way)
    }


def medians(values: NDArray[np.float64], counts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the lower medians of those that count along the first axis, of enough of them."""
    ordered = np.sort(np.where(counts, values, np.inf), axis=0)
    number = counts.sum(axis=0)
    middle = np.take_along_axis(ordered, np.maximum(number - 1, 0)[None] // 2, axis=0)[0]
    return np.where(number >= MIN_SEEN, middle, -np.inf)


def mean_of_ways(times: Directions, pair: tuple[int, int]) -> float | None:
    """Return the mean of the directions that show, or None."""
    known = [times[way] for way in {pair, pair[::-1]} if way in times]
    return max(sum(known) / len(known), 0.0) if known else None


def shows_one_way(messages: Directions, reductions: Directions, pair: tuple[int, int]) -> bool:
    """Tell whether messages or reductions show one direction only."""
    return any((pair in times) != (pair[::-1] in times) for times in (messages, reductions))
