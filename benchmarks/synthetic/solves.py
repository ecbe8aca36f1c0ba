"""Synthetic solves: drawn work, and the bodies that blocking or pipelined ranks make of it.

The waiting is worked out here on its own, one body after the other with all ranks at once, so that
it can be held against the compiled recursion of `stochastic.maxplus`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.noise.times import SolveTimes


def draw_work(
    at_normal: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    iterations: int,
    ranks: int,
    seed: int,
) -> NDArray[np.float64]:
    """Draw independent work of a known law.

    Parameters
    ----------
    at_normal : callable
        The law's quantiles at standard normal ones, z -> F^-1(Phi(z)), in seconds; its mean and
        that of its maximum are those of `laws.maximum.maximum_moments`.
    iterations, ranks : int
    seed : int

    Returns
    -------
    float64 array, shape (iteration, rank), seconds
    """
    normal = np.random.default_rng(seed).standard_normal((iterations, ranks))
    return at_normal(normal)


def line_of_ranks(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the halos of ranks in a line: sources and targets, each with its two neighbours.

    Returns
    -------
    edge_source, edge_target : int32 array, shape (edge,)
    """
    left = np.arange(ranks - 1, dtype=np.int32)
    return np.concatenate((left, left + 1)), np.concatenate((left + 1, left))


def synthetic_solve(
    work: NDArray[np.float64],
    *,
    lag: int = 0,
    latency_s: float | NDArray[np.float64] = 0.0,
    restart: int = 30,
    edges: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
    restart_s: float = 0.0,
) -> SolveTimes:
    """Let ranks do this work and wait for each other.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
    lag : int
        0 for blocking reductions: all ranks end every body together. Otherwise a rank begins the
        work of body k + 1 when it has ended body k, its neighbours have, and the reduction that
        all ranks joined at the end of body k - lag is complete.
    latency_s : float, or float64 array of shape (iteration,), seconds
        Of the reduction that ends a body.
    restart : int
        Bodies of a cycle, at whose end all ranks meet.
    edges : pair of int32 arrays of shape (edge,), optional
        Sources and targets of halos; none if not given.
    restart_s : float
        Time between two cycles, in seconds.

    Returns
    -------
    SolveTimes
        Bodies tile each cycle on every rank: a body ends where the next begins, waiting included.

    Raises
    ------
    UsageError
        A negative lag, or cycles of no body.
    """
    if lag < 0 or restart < 1:
        raise UsageError(
            f"A lag of {lag} and cycles of {restart} bodies; they must be at least 0 and 1."
        )
    iterations = work.shape[0]
    empty = np.empty(0, np.int32)
    source, target = edges if edges is not None else (empty, empty)
    latency = np.broadcast_to(np.asarray(latency_s, float), (iterations,))
    durations = np.empty_like(work)
    for first in range(0, iterations, restart):
        cycle = slice(first, min(first + restart, iterations))
        if lag == 0:
            together = work[cycle].max(axis=1) + latency[cycle]
            durations[cycle] = together[:, np.newaxis]
        else:
            durations[cycle] = pipelined_cycle(work[cycle], latency[cycle], lag, source, target)
    pauses = restart_s * (-(-iterations // restart) - 1)
    return SolveTimes(
        durations=durations,
        work=work,
        fill=np.zeros(iterations, bool),
        position=(np.arange(iterations) % restart).astype(np.int32),
        between_s=pauses,
        edge_source=source,
        edge_target=target,
        synchronisation="pipelined" if lag > 0 else "blocking",
        lag=lag,
        solve_time_s=float(durations[:, 0].sum()) + pauses,
    )


def pipelined_cycle(
    work: NDArray[np.float64],
    latency: NDArray[np.float64],
    lag: int,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the durations of one cycle's bodies; a rank waits before the work of a body."""
    bodies, ranks = work.shape
    ended = np.zeros((bodies + 1, ranks))
    complete = np.zeros(bodies)
    for body in range(bodies):
        begin = ended[body].copy()
        np.maximum.at(begin, target, ended[body, source])
        if body > lag:
            np.maximum(begin, complete[body - 1 - lag], out=begin)
        ended[body + 1] = begin + work[body]
        complete[body] = ended[body + 1].max() + latency[body]
    ended[bodies] = complete[-1]
    return np.diff(ended, axis=0)
