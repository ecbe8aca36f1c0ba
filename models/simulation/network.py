"""A network: the time of messages within a node and between nodes, and of what consists of them.

Ranks are placed node after node. Between nodes, messages that leave a node at the same time share
its link: the time of their bytes is multiplied by their number, their latency is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from hindmost.records import RecordError

Size = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Messages above a size: latency and time per byte.

    Attributes
    ----------
    from_bytes : int
    latency_s, per_byte_s : float
    """

    from_bytes: Size
    latency_s: Amount
    per_byte_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The time of a message: pieces in ascending order of their sizes, the first from 0.

    Attributes
    ----------
    pieces : tuple of Piece
    """

    pieces: tuple[Piece, ...]

    def __post_init__(self) -> None:
        sizes = [piece.from_bytes for piece in self.pieces]
        if sizes[:1] != [0] or sizes != sorted(set(sizes)):
            why = "allowed: pieces whose from_bytes begin at 0 and rise"
            raise RecordError(why, "pieces", found=sizes)

    def piece(self, bytes: float) -> Piece:
        """Return the piece that a message of a size belongs to."""
        for piece in reversed(self.pieces):  # they are few
            if piece.from_bytes <= bytes:
                return piece
        return self.pieces[0]

    def time_s(self, bytes: float) -> float:
        """Return the time of a message: T_comm(m) = L(m) + m B(m), section 3."""
        piece = self.piece(bytes)
        return piece.latency_s + bytes * piece.per_byte_s

    def byte_share(self, bytes: float) -> float:
        """Return the share of the time of a message that its bytes take, 0 to 1."""
        total_s = self.time_s(bytes)
        return bytes * self.piece(bytes).per_byte_s / total_s if total_s > 0.0 else 0.0


def allreduce_messages(ranks: int) -> int:
    """Return how many messages an allreduce takes after each other, by recursive doubling.

    Pairs exchange all bytes, at distances 1, 2, 4 and so on (R. Thakur, R. Rabenseifner and
    W. Gropp, 2005). On ranks that are no power of two, as many as are too many first hand their
    data to a neighbour, which hands back the result in the end. What such a neighbour hands on
    reaches the others a message later, and itself only from those that waited for another.
    """
    rounds = ranks.bit_length() - 1
    folded = ranks - (1 << rounds)
    return rounds + (folded > 0) + (2 * folded > 1 << rounds)


Nodes = NDArray[np.intp]
"""Node of every rank: int array, shape (rank,)."""
Edges = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Ranks that send halos, and those that receive them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNetwork:
    """Messages within a node and between nodes.

    Attributes
    ----------
    within, across : Link
    """

    within: Link
    across: Link

    def changed(self, latency: float, more_latency_s: float, bandwidth: float) -> NodeNetwork:
        """Return the network with factors of its latency and bandwidth, and more latency."""
        within, across = (
            Link(
                pieces=tuple(
                    replace(
                        piece,
                        latency_s=latency * piece.latency_s + more_latency_s,
                        per_byte_s=piece.per_byte_s / bandwidth,
                    )
                    for piece in link.pieces
                )
            )
            for link in (self.within, self.across)
        )
        return replace(self, within=within, across=across)

    def messages_s(
        self,
        source: NDArray[np.integer[Any]],
        target: NDArray[np.integer[Any]],
        node: Nodes,
        bytes: float,
    ) -> NDArray[np.float64]:
        """Return the time of messages that are sent at the same time.

        Parameters
        ----------
        source, target : int array, shape (message,)
            Ranks.
        node : int array, shape (rank,)
        bytes : float
            Of each message.

        Returns
        -------
        float64 array, shape (message,), seconds
        """
        leaves = node[source] != node[target]
        at_once = int(np.bincount(node[source][leaves], minlength=1).max())
        piece = self.across.piece(bytes)
        across_s = piece.latency_s + bytes * piece.per_byte_s * max(at_once, 1)
        return np.where(leaves, across_s, self.within.time_s(bytes))

    def reduction_s(self, node: Nodes, bytes: float = 8.0) -> float:
        """Return the time of an allreduce once all ranks have come, until the last is through.

        By recursive doubling, see `hindmost.models.simulation.network.allreduce_messages`.
        """
        if node.size < 2:
            return 0.0
        rounds = node.size.bit_length() - 1
        folded = node.size - (1 << rounds)
        # Of each pair of the first ranks, the first hands its data to the second.
        first = 2 * np.arange(folded)
        rank = np.concatenate([first + 1, np.arange(2 * folded, node.size)])
        clock = np.zeros(rank.size)
        if folded:
            clock[:folded] = self.messages_s(first, first + 1, node, bytes)
        place = np.arange(rank.size)
        for distance in (1 << each for each in range(rounds)):
            partner = place ^ distance
            come = clock[partner] + self.messages_s(rank[partner], rank, node, bytes)
            clock = np.maximum(clock, come)
        if folded:
            clock[:folded] += self.messages_s(first + 1, first, node, bytes)
        return float(clock.max())

    def halo_s(self, edges: Edges, node: Nodes, bytes: float) -> float:
        """Return the time of the slowest message between neighbours; 0 without any."""
        source, target = edges
        if not source.size:
            return 0.0
        return float(self.messages_s(source, target, node, bytes).max())


def nodes_of(ranks: int, per_node: int) -> Nodes:
    """Return the node of every rank, placed node after node."""
    return np.arange(ranks) // per_node


def grid_edges(ranks: int, dimensions: int) -> Edges:
    """Return the neighbours in a grid of ranks that is as near to a cube as their number allows.

    Parameters
    ----------
    ranks : int
    dimensions : int
        1 for a chain; 0 for no neighbours.

    Returns
    -------
    source, target : int32 array, shape (edge,)
    """
    if dimensions == 0:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    grid = np.arange(ranks, dtype=np.int32).reshape(sides_of(ranks, dimensions))
    pairs = []
    for axis in range(grid.ndim):
        along = np.moveaxis(grid, axis, 0)
        pairs.append((along[:-1].ravel(), along[1:].ravel()))
    left = np.concatenate([low for low, _ in pairs])
    right = np.concatenate([high for _, high in pairs])
    return np.concatenate([left, right]), np.concatenate([right, left])


def sides_of(ranks: int, dimensions: int) -> list[int]:
    """Return the sides of a grid of ranks, the longest first."""
    sides, left = [], ranks
    for more in range(dimensions, 1, -1):
        side = max(1, round(left ** (1.0 / more)))
        while left % side:
            side -= 1
        sides.append(side)
        left //= side
    return sorted([*sides, left], reverse=True)


def fit_link(bytes: ArrayLike, seconds: ArrayLike) -> Link:
    """Fit latency and time per byte, piece by piece (section 3, table 2).

    The pieces minimise the squared relative error of the medians of all sizes; Schwarz's criterion
    (BIC) chooses their number. They need not meet, because protocols change abruptly.

    Parameters
    ----------
    bytes : array, shape (message,)
        Of three sizes or more.
    seconds : array, shape (message,), seconds
        Time of a message in one direction, above 0.
    """
    sizes, times = medians(bytes, seconds)
    n = sizes.size
    # Cost of one piece for sizes first to last - 1; then the best partition into 1, 2, ... pieces.
    cost = np.full((n, n + 1), np.inf)
    for first in range(n):
        # A piece has two parameters.
        for last in range(first + 3, n + 1):
            cost[first, last] = line(sizes[first:last], times[first:last])[2]
    best: tuple[float, list[int]] | None = None
    for pieces, (total, starts) in enumerate(partitions(cost, 4), start=1):
        # Errors below 0.1 % do not justify another piece.
        score = n * math.log(total / n + 1e-3**2) + 3 * pieces * math.log(n)
        if best is None or score < best[0]:
            best = (score, starts)
    assert best is not None  # one piece always fits
    ends = [*best[1][1:], n]
    found = []
    for first, last in zip(best[1], ends, strict=True):
        latency_s, per_byte_s, _ = line(sizes[first:last], times[first:last])
        begin = 0 if first == 0 else round(float(sizes[first]))
        found.append(Piece(from_bytes=begin, latency_s=latency_s, per_byte_s=per_byte_s))
    return Link(pieces=tuple(found))


def medians(
    bytes: ArrayLike, seconds: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct sizes in ascending order, and the median time of each."""
    sizes, times = np.asarray(bytes, float), np.asarray(seconds, float)
    distinct = np.unique(sizes)
    return distinct, np.array([np.median(times[sizes == size]) for size in distinct])


def line(sizes: NDArray[np.float64], times: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return latency and time per byte, at least 0, and the sum of squared relative errors."""
    inverse = 1.0 / times
    design = np.stack([inverse, sizes * inverse], axis=1)
    scale = np.maximum(np.linalg.norm(design, axis=0), 1e-300)
    found = np.linalg.lstsq(design / scale, np.ones(times.size), rcond=None)[0] / scale
    if found.min() < 0:  # then one of the two is 0, and the other is fitted alone
        alone = design.sum(axis=0) / np.maximum((design**2).sum(axis=0), 1e-300)
        options = [np.array([alone[0], 0.0]), np.array([0.0, alone[1]])]
        found = min(options, key=lambda option: float(np.sum((design @ option - 1.0) ** 2)))
    error = float(np.sum((design @ found - 1.0) ** 2))
    return float(found[0]), float(found[1]), error


def partitions(cost: NDArray[np.float64], most: int) -> list[tuple[float, list[int]]]:
    """Return least cost and begins of 1, 2, ... pieces, by dynamic programming."""
    n = cost.shape[0]
    least, begins = cost[0].copy(), [[0] for _ in range(n + 1)]
    found = [(float(least[n]), begins[n])]
    for _ in range(1, most):
        total = least[:n, None] + cost  # (first of the last piece, end)
        first = np.argmin(total, axis=0)
        begins = [[*begins[first[end]], int(first[end])] for end in range(n + 1)]
        least = total[first, np.arange(n + 1)]
        if not math.isfinite(least[n]):
            break
        found.append((float(least[n]), begins[n]))
    return found
