"""Waiting of ranks for each other: what the system's noise adds where ranks meet.

Between two exchanges or reductions every rank does its own work, prolonged by the detours of the
system. Then all wait for the one whose detours took longest. With X(L) the detours of a rank in an
interval of length L, the mean wait is E[max of P X(L)] - E[X(L)]: the grind curves, which are
measured times of whole cycles, contain the mean.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hindmost.models.adaptive.grind import GrindCurve
from hindmost.models.adaptive.machine import SystemNoise

PARTS = (0.5, 0.4, 0.09, 0.01)
"""Shares of the detours up to and between the quantiles of `SystemNoise`."""
MANY = 2000.0
"""Mean count from which on its law is as good as normal."""
INTERVALS_S = np.geomspace(1e-6, 10.0, 57)
"""Lengths of intervals for which waiting is tabulated."""


@cache
def waiting_curve(noise: SystemNoise | None, ranks: int) -> GrindCurve | None:
    """Return the waiting for each second of work, against the length of an interval.

    Detours are independent, and come at random: shorter than the median, between the quantiles, and
    the longest hundredth. Each part has one length, its mean, and the parts are added up: they are
    of such different lengths that the longest part decides where there is one.

    Parameters
    ----------
    noise : SystemNoise or None
        Measured by the probe.
    ranks : int
        Ranks that meet.

    Returns
    -------
    GrindCurve or None
        Seconds of waiting for each second of work; None if the noise is unknown, or nobody waits.
    """
    if noise is None or ranks < 2 or not noise.detour_quantiles_s or not noise.detours_per_s:
        return None
    waits_s = np.zeros(INTERVALS_S.size)
    for rate, length_s in detour_parts(noise):
        waits_s += length_s * np.array(
            [excess_of_maximum(rate * each, ranks) for each in INTERVALS_S.tolist()]
        )
    shares = waits_s / INTERVALS_S
    return GrindCurve(tuple(np.log(INTERVALS_S).tolist()), tuple(shares.tolist()))


def detour_parts(noise: SystemNoise) -> list[tuple[float, float]]:
    """Return detours per second and their mean length, in seconds, of every part of `PARTS`.

    Between quantiles the logarithm of lengths is uniform, as are lengths below the median; the
    longest ones have what is left of the share of time that all detours took.
    """
    median_s, high_s, higher_s, _ = noise.detour_quantiles_s
    means = [0.5 * median_s, logarithmic_mean(median_s, high_s), logarithmic_mean(high_s, higher_s)]
    known_s = sum(part * mean_s for part, mean_s in zip(PARTS, means, strict=False))
    all_s = noise.share / noise.detours_per_s
    means.append(max(0.0, all_s - known_s) / PARTS[-1])
    return [(part * noise.detours_per_s, each) for part, each in zip(PARTS, means, strict=True)]


def logarithmic_mean(low: float, high: float) -> float:
    """Return the mean of a law whose logarithm is uniform between two values."""
    if low <= 0.0 or high <= low:
        return 0.5 * (low + high)
    return (high - low) / math.log(high / low)


def excess_of_maximum(mean: float, ranks: int) -> float:
    """Return E[max of P counts] - E[count], for independent counts of a Poisson law."""
    if mean <= 0.0:
        return 0.0
    if mean > MANY:  # a normal law by now, whose deviation is the root of the mean
        return excess_of_maximum(MANY, ranks) * math.sqrt(mean / MANY)
    most = math.ceil(mean + 12.0 * math.sqrt(mean) + 30.0)
    count: NDArray[np.float64] = np.arange(most, dtype=np.float64)
    steps = np.log(np.maximum(count, 1.0))
    below = np.cumsum(np.exp(count * math.log(mean) - mean - np.cumsum(steps)))
    # The sum over n of P(max > n) = 1 - F(n)^P; of the mean alike, with P = 1.
    below = np.minimum(below, 1.0)
    return float(np.sum(below - below**ranks))
