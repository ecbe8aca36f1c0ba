"""How the times of an iteration spread: within a node, and between nodes.

In a given iteration rank p of node i takes m + B_i + W_p, with variances between and within nodes
(a one-way layout with random effects). The paper finds blocking iterates "nearly constant on a
node" (section 3.1) and then takes P_hat = P / 64, the nodes, for P (sections 4 and 6). Here that is
weighed: the slowest rank of this layout is as slow, on average, as the slowest of how many
independent ranks? That number lies between the nodes and the ranks, and it falls slowly: with 128
nodes of 64 ranks, nine tenths of the variance must lie between nodes before it is nearer to 128.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from hindmost.errors import DataError
from hindmost.models.laws.maximum import maximum_moments
from hindmost.text import percent

BLOCK = 256
"""Iterations at a time, so that no copy of the whole matrix is made."""


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
    independent_draws : float
        Independent ranks whose slowest is as slow as the slowest of these, on average.
    """

    within: NDArray[np.float64]
    between: NDArray[np.float64]
    sizes: NDArray[np.intp]
    independent_draws: float

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
        return intraclass_share(self.pooled_within, self.pooled_between)

    @property
    def recommended(self) -> Literal["ranks", "nodes"]:
        """What to take P as: whichever is nearer to the independent draws, by their ratio.

        By ratio, because the mean of a maximum grows with the logarithm of the number of draws.
        """
        middle = np.sqrt(float(self.nodes) * self.ranks)
        return "nodes" if self.independent_draws < middle else "ranks"

    def explain(self) -> str:
        """Return the result in sentences."""
        count = self.nodes if self.recommended == "nodes" else self.ranks
        return (
            f"{percent(self.intraclass, 0)} of the variance within an iteration lies between the "
            f"{self.nodes} nodes: the slowest of {self.ranks} ranks is as slow as the slowest of "
            f"{self.independent_draws:.0f} independent ranks. Use P = {count} "
            f"({self.recommended})."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the pooled figures."""
        return {
            "nodes": self.nodes,
            "ranks": self.ranks,
            "within_s2": self.pooled_within,
            "between_s2": self.pooled_between,
            "intraclass": self.intraclass,
            "independent_draws": self.independent_draws,
            "recommended": self.recommended,
        }


def intraclass_share(within: float, between: float) -> float:
    """Return between / (between + within), 0 if both are."""
    total = within + between
    return between / total if total > 0.0 else 0.0


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
    for begin in range(0, iterations, BLOCK):
        part = slice(begin, begin + BLOCK)
        times = durations[part][:, order]
        times -= times.mean(axis=1, keepdims=True)
        means = np.add.reduceat(times, first, axis=1) / sizes
        squares = np.sum(sizes * means**2, axis=1)
        times -= np.repeat(means, sizes, axis=1)
        within[part] = np.sum(times**2, axis=1) / (ranks - nodes)
        between[part] = (squares / (nodes - 1) - within[part]) / unbalanced
    share = intraclass_share(float(within.mean()), max(0.0, float(between.mean())))
    return NodeSpread(
        within=within,
        between=between,
        sizes=sizes,
        independent_draws=independent_draws(sizes, share),
    )


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


def independent_draws(sizes: NDArray[np.intp], share: float) -> float:
    """Return how many independent normal ranks have a slowest as slow as those of a layout.

    Parameters
    ----------
    sizes : int array, shape (node,)
    share : float
        Of the variance that lies between nodes, 0 to 1.

    Returns
    -------
    float
        Between the number of nodes and that of ranks.
    """
    nodes, ranks = float(sizes.size), float(sizes.sum())
    if share <= 0.0 or share >= 1.0:
        return nodes if share >= 1.0 else ranks
    target = mean_of_slowest(sizes, share)

    def excess(log_draws: float) -> float:
        return slowest_of(np.exp(log_draws)) - target

    low, high = np.log(nodes), np.log(ranks)
    if excess(low) >= 0.0:
        return nodes
    if excess(high) <= 0.0:
        return ranks
    return float(np.exp(optimize.brentq(excess, low, high, xtol=1e-6)))


def slowest_of(draws: float) -> float:
    """Return the mean of the slowest of independent normal draws; a broken number is interpolated.

    Linear in the logarithm of the number, in which the mean of a maximum hardly bends.
    """
    below = int(np.floor(draws))
    low, high = (maximum_moments(lambda z: z, count)[0] for count in (below, below + 1))
    part = np.log(draws / below) / np.log((below + 1) / below)
    return low + float(part) * (high - low)


def mean_of_slowest(sizes: NDArray[np.intp], share: float) -> float:
    """Return the mean of the slowest rank in deviations of one rank, if both effects are normal.

    Given its own effect b, all n ranks of a node stay below x with probability
    Phi((x - b) / w)^n. The integral over b is that of one node; the product over nodes is the
    maximum's law, and its mean follows from it.
    """
    between, within = np.sqrt(share), np.sqrt(1.0 - share)
    x = np.linspace(-8.0, 12.0, 1201)
    # The step in b must resolve the steps of Phi, which are as narrow as the deviation within.
    effect = np.linspace(-9.0, 9.0, int(np.clip(200.0 * between / within, 1200, 20_000)))
    weight = np.exp(-0.5 * effect**2)
    weight /= weight.sum()
    log_law = np.zeros(x.size)
    for size, nodes in zip(*np.unique(sizes, return_counts=True), strict=True):
        for i, level in enumerate(x):
            below = special.log_ndtr((level - between * effect) / within)
            log_law[i] += nodes * np.log(max(float(weight @ np.exp(size * below)), 1e-300))
    law = np.exp(log_law)
    # E[max] = upper end - integral of the law.
    return float(x[-1] - np.sum(0.5 * (law[1:] + law[:-1])) * (x[1] - x[0]))
