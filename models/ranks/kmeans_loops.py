"""The loops of k-means over points and centroids, for compilation; see `kmeans`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared


@declared("(f8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], f8[:,:,::1], f8[:,::1])")
def assign(
    points: NDArray[np.float64],
    across: NDArray[np.float64],
    labels: NDArray[np.int64],
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Give every point the nearest centroid of each start; centroids lie (metric, start * k)."""
    starts, k, metrics = sums.shape
    wide = starts * k
    squares = np.empty(wide)
    for point in range(points.shape[0]):
        squares[:] = 0.0
        for metric in range(metrics):
            value = points[point, metric]
            for each in range(wide):
                off = value - across[metric, each]
                squares[each] += off * off
        for start in range(starts):
            best, least, next_ = 0, squares[start * k], np.inf
            for each in range(1, k):
                square = squares[start * k + each]
                if square < least:
                    best, least, next_ = each, square, least
                elif square < next_:
                    next_ = square
            labels[start, point] = best
            above[start, point] = np.sqrt(least)
            below[start, point] = np.sqrt(next_)
            sizes[start, best] += 1.0
            for metric in range(metrics):
                sums[start, best, metric] += points[point, metric]


@declared("(f8[:,::1], f8[:,::1], f8[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[::1])")
def reassign(
    points: NDArray[np.float64],
    across: NDArray[np.float64],
    moves: NDArray[np.float64],
    labels: NDArray[np.int64],
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Do the same for one start after its centroids moved, where bounds leave a doubt."""
    k, metrics = sums.shape
    farthest = 0.0
    for each in range(k):
        farthest = max(farthest, moves[each])
    squares = np.empty(k)
    for point in range(points.shape[0]):
        own = labels[point]
        above[point] += moves[own]
        below[point] -= farthest
        if above[point] * (1.0 + 1e-9) < below[point]:
            continue
        squares[:] = 0.0
        for metric in range(metrics):
            value = points[point, metric]
            for each in range(k):
                off = value - across[metric, each]
                squares[each] += off * off
        best, least, next_ = 0, squares[0], np.inf
        for each in range(1, k):
            if squares[each] < least:
                best, least, next_ = each, squares[each], least
            elif squares[each] < next_:
                next_ = squares[each]
        above[point] = np.sqrt(least)
        below[point] = np.sqrt(next_)
        if best != own:
            labels[point] = best
            sizes[own] -= 1.0
            sizes[best] += 1.0
            for metric in range(metrics):
                sums[own, metric] -= points[point, metric]
                sums[best, metric] += points[point, metric]


@declared("(f8[:,::1], f8[:,:,::1], i8[:,::1], f8, f8[::1])")
def inertia(
    points: NDArray[np.float64],
    centroids: NDArray[np.float64],
    labels: NDArray[np.int64],
    square: float,
    spread: NDArray[np.float64],
) -> None:
    """Sum the squared distances of every start, each rounded to a grid."""
    for start in range(labels.shape[0]):
        for point in range(points.shape[0]):
            summed = 0.0
            for metric in range(points.shape[1]):
                off = points[point, metric] - centroids[start, labels[start, point], metric]
                summed += off * off
            spread[start] += np.rint(summed / square) * square


@declared("(f8[:,::1], f8[:,::1], b1, f8[:,::1])")
def nearest_so_far(
    points: NDArray[np.float64],
    vectors: NDArray[np.float64],
    first: bool,
    near: NDArray[np.float64],
) -> None:
    """Lower the squared distance of every point from the centroids that are drawn."""
    for start in range(near.shape[0]):
        for point in range(points.shape[0]):
            square = 0.0
            for metric in range(points.shape[1]):
                off = points[point, metric] - vectors[start, metric]
                square += off * off
            if first or square < near[start, point]:
                near[start, point] = square


@declared("(f8[:,::1], i8[::1], i8, i8, f8[:,::1])")
def race(
    near: NDArray[np.float64],
    ids: NDArray[np.int64],
    seed: int,
    at: int,
    times: NDArray[np.float64],
) -> None:
    """Draw when every point arrives: exponential times over squared distances (splitmix64)."""
    for start in range(near.shape[0]):
        for point in range(near.shape[1]):
            if near[start, point] <= 0.0:
                continue
            bits = np.uint64(ids[point]) + np.uint64(1)
            for word in (seed, start, at):
                bits = (bits ^ np.uint64(word)) + np.uint64(0x9E3779B97F4A7C15)
                bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                bits = bits ^ (bits >> np.uint64(31))
            uniform = (np.float64(bits >> np.uint64(11)) + 0.5) * 2.0**-53
            times[start, point] = -np.log(uniform) / near[start, point]
