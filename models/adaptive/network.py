"""The network probe's fit: latency and time per byte of messages, piece by piece."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hindmost.models.simulation.network import Link, Piece


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
