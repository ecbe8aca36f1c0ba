"""How the times of an iteration spread: within a node, and between nodes.

In a given iteration rank p of node i takes m + B_i + W_p, with variances between and within nodes
(a one-way layout with random effects). The paper finds blocking iterates "nearly constant on a
node" (section 3.1) and then takes P_hat = P / 64, the nodes, for P (sections 4 and 6). The share of
the variance that lies between nodes says whether that is so: with 128 nodes of 64 ranks, the
slowest rank is as slow as the slowest of 128 independent ones only from nine tenths on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.simulation.blocks import slabs
from hindmost.text import percent

NODES_FROM = 0.9
"""Share of the variance between nodes from which on P is the number of nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpread:
    """Variances of the times of an iteration.

    Attributes
    ----------
    within : float64 array, shape (iteration,), seconds squared
        Variance within a node, over all nodes.
    between : float64 array, shape (iteration,), seconds squared
        Variance between nodes, that within taken off; in a single iteration it can be negative.
    sizes : int array, shape (node,)
        Ranks of each node.
    """

    within: NDArray[np.float64]
    between: NDArray[np.float64]
    sizes: NDArray[np.intp]

    JSON = "nodes ranks within_s2=pooled_within between_s2=pooled_between intraclass recommended"

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.sizes.size)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.sizes.sum())

    @property
    def pooled_within(self) -> float:
        """Mean over iterations, seconds squared."""
        return float(self.within.mean())

    @property
    def pooled_between(self) -> float:
        """Mean over iterations, at least 0, seconds squared."""
        return max(0.0, float(self.between.mean()))

    @property
    def intraclass(self) -> float:
        """Share of the variance that lies between nodes, from 0 to 1; 0 without any."""
        total = self.pooled_within + self.pooled_between
        return self.pooled_between / total if total > 0.0 else 0.0

    @property
    def recommended(self) -> Literal["ranks", "nodes"]:
        """What to take P as."""
        return "nodes" if self.intraclass >= NODES_FROM else "ranks"

    def explain(self) -> str:
        """Return the result in sentences."""
        count = self.nodes if self.recommended == "nodes" else self.ranks
        return (
            f"{percent(self.intraclass, 0)} of the variance within an iteration lies between the "
            f"{self.nodes} nodes. Use P = {count} ({self.recommended})."
        )


def spread_over_nodes(durations: NDArray[np.float64], node: NDArray[np.integer[Any]]) -> NodeSpread:
    """Split the variance of each iteration into that within nodes and that between them.

    With SSW and SSB the sums of squares within and between, P ranks on N nodes of n_i:
    within = SSW / (P - N), between = (SSB / (N - 1) - within) / n_0,
    n_0 = (P - sum n_i^2 / P) / (N - 1).

    Parameters
    ----------
    durations : float64 array, shape (iteration, rank), seconds
    node : int array, shape (rank,)
        Which node each rank runs on; any numbers.

    Raises
    ------
    DataError
        Shapes that do not fit, times that are not finite, a single node, or no node with two ranks.
    """
    order, first, sizes = group_by_node(durations, node)
    ranks, nodes = int(sizes.sum()), int(sizes.size)
    if nodes < 2:
        raise DataError("All ranks are on one node; the variance between nodes needs two.")
    if ranks == nodes:
        raise DataError("Every rank is alone on its node, so P is the number of ranks.")
    iterations = durations.shape[0]
    within, between = np.empty(iterations), np.empty(iterations)
    unbalanced = (ranks - float(np.sum(sizes**2)) / ranks) / (nodes - 1)
    for part in slabs(iterations, ranks):
        times = durations[part][:, order]
        times -= times.mean(axis=1, keepdims=True)
        means = np.add.reduceat(times, first, axis=1) / sizes
        squares = np.sum(sizes * means**2, axis=1)
        times -= np.repeat(means, sizes, axis=1)
        within[part] = np.sum(times**2, axis=1) / (ranks - nodes)
        between[part] = (squares / (nodes - 1) - within[part]) / unbalanced
    return NodeSpread(within=within, between=between, sizes=sizes)


def group_by_node(
    durations: NDArray[np.float64], node: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return ranks in the order of their nodes, where each node begins, and how many it has."""
    if durations.ndim != 2 or 0 in durations.shape or node.shape != durations.shape[1:]:
        raise DataError(
            f"Times of shape {durations.shape} and nodes of shape {node.shape}; they must be "
            "(iteration, rank) and (rank,)."
        )
    if not np.isfinite(durations).all():
        raise DataError("A time is not a number; leave out the iterations that were not recorded.")
    _, sizes = np.unique(node, return_counts=True)
    order = np.argsort(node, kind="stable")
    return order, np.cumsum(sizes) - sizes, sizes.astype(np.intp)
