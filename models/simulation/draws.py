"""Correlated standard normal draws for the work of ranks: persistent, of the node, over time.

The score of segment s of body (iteration) k on rank p is::

    z = sqrt(a) R_p + sqrt(1 - a) (sqrt(b) N_ks + sqrt(1 - b) O_pks)

with R a draw of each rank, N one shared by the ranks of a node and O one of each rank's own. N and
O are first-order autoregressive over bodies, and the segments of a body share a part of them.

Every block of ranks has streams of its own, drawn body by body. So a rank draws the same in every
simulation with the same seed, on whatever number of ranks, bodies and machines: differences between
two simulations are due to what was changed (common random numbers).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Draws = NDArray[np.float64]

BLOCK = 64
"""Ranks, or nodes, that share a stream."""
OF_RANK, OF_NODE, OF_OWN, OF_DETOURS = range(4)
"""Streams of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """How the scores of ranks depend on each other; shares and correlations from 0 to 1.

    Attributes
    ----------
    persistent : float
        Share of the variance that a rank keeps for the whole solve (a).
    node : float
        Share of the rest that the ranks of a node have in common (b).
    time : float
        Correlation of a body with the next one.
    segments : float
        Correlation of the segments of a body.
    """

    persistent: float = 0.0
    node: float = 0.0
    time: float = 0.0
    segments: float = 0.0


def scores(
    dependence: Dependence,
    node: NDArray[np.intp],
    bodies: int,
    segments: int,
    seed: tuple[int, ...],
) -> Draws:
    """Draw scores.

    Parameters
    ----------
    node : int array, shape (rank,)
        Node of each rank, from 0.
    bodies, segments : int
    seed : tuple of int

    Returns
    -------
    float64 array, shape (iteration, rank, segment)
    """
    ranks = node.size
    drawn = series(dependence, ranks, bodies, segments, (*seed, OF_OWN))
    if dependence.node > 0.0:
        shared = series(dependence, int(node.max()) + 1, bodies, segments, (*seed, OF_NODE))
        drawn *= np.sqrt(1.0 - dependence.node)
        drawn += np.sqrt(dependence.node) * shared[:, node]
    if dependence.persistent > 0.0:
        drawn *= np.sqrt(1.0 - dependence.persistent)
        kept = in_blocks(ranks, 1, 1, (*seed, OF_RANK))[0]
        drawn += np.sqrt(dependence.persistent) * kept
    return drawn


def series(
    dependence: Dependence, count: int, bodies: int, segments: int, seed: tuple[int, ...]
) -> Draws:
    """Draw series that are correlated over bodies and segments: (iteration, count, segment)."""
    drawn = in_blocks(count, bodies, segments + 1, seed)
    before, fresh = dependence.time, np.sqrt(1.0 - dependence.time**2)
    if before > 0.0:
        for body in range(1, bodies):
            drawn[body] *= fresh
            drawn[body] += before * drawn[body - 1]
    common, own = np.sqrt(dependence.segments), np.sqrt(1.0 - dependence.segments)
    return np.asarray(common * drawn[:, :, :1] + own * drawn[:, :, 1:])


def in_blocks(count: int, bodies: int, width: int, seed: tuple[int, ...]) -> Draws:
    """Draw independent normals, block by block: (iteration, count, width)."""
    drawn = np.empty((bodies, count, width))
    for block, first in enumerate(range(0, count, BLOCK)):
        part = slice(first, min(first + BLOCK, count))
        normal = generator((*seed, block)).standard_normal((bodies, BLOCK, width))
        drawn[:, part] = normal[:, : part.stop - first]
    return drawn


def generator(seed: tuple[int, ...]) -> np.random.Generator:
    """Return the generator of a stream."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
