"""How much evidence chance and misfit make where nothing changes: simulated for each set of points.

Series of one behaviour are drawn (`one_behaviour.FAMILIES`), in and out of the search space,
with and without noise. The thresholds are such that of the worst family at the worst noise a share
RATE is taken for segmented. Quantiles are read from the tail's exponential law, which needs fewer
draws than counting. They differ too much between ranges of points to be tabulated: with 16 points
over two decades and over five, by a factor of 4.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import evidence
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, measured

NOISE = 0.15
EXACT = ("inside", "strong", "two-terms", "saturating")
"""Families that the search space contains, or nearly: without noise they make no evidence."""
CASES = (
    *product(FAMILIES, (NOISE,)),
    *product([family for family in FAMILIES if family not in EXACT], (0.0,)),
)
"""Families, each with the noise that it is drawn with."""
DRAWS, OF_POINTS, MIN_DRAWS = 1600, 12, 500
"""Series of each family and noise; of longer series than so many points fewer, but at least so
many: the tail, not the count, fixes the thresholds."""
TAIL = 0.05
"""Share of the draws that the exponential law is fitted to."""

SIMULATED: dict[tuple[bytes, float], NDArray[np.float64]] = {}
"""Thresholds of this process by the bytes of the points and gamma."""


def thresholds(points: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return what evidence a change must exceed.

    Parameters
    ----------
    points : float64 array, shape (point,)
    gamma : float

    Returns
    -------
    float64 array, shape (split, floor)
    """
    key = (points.tobytes(), gamma)
    if key not in SIMULATED:
        with ThreadPoolExecutor() as threads:  # compiled loops run side by side
            chance = list(threads.map(lambda case: null_evidence(points, gamma, *case), CASES))
        of_split = np.max([tail_quantile(each, 0.002) for each in chance], axis=0)
        beyond = [tail_quantile((each - of_split).max(axis=(1, 2)), 0.0075) for each in chance]
        SIMULATED[key] = of_split + np.max(beyond)
    return SIMULATED[key]


def null_evidence(
    points: NDArray[np.float64], gamma: float, family: str, noise: float
) -> NDArray[np.float64]:
    """Return the evidence in series of one behaviour: shape (series, split, floor)."""
    series = null_series(points, gamma, family, noise)
    return evidence(points, series, np.ones_like(series), gamma, placed=False)[0]


def null_series(
    points: NDArray[np.float64], gamma: float, family: str, noise: float
) -> NDArray[np.float64]:
    """Draw series of one behaviour: shape (series, point)."""
    kind = next(kind for kind in NoiseKind if kind.gamma == gamma)
    random = np.random.default_rng([7, list(FAMILIES).index(family), int(1000 * noise)])
    draws = max(MIN_DRAWS, DRAWS * OF_POINTS // max(points.size, OF_POINTS))
    truth = FAMILIES[family](random, points, draws)
    return np.asarray(measured(random, truth, noise=noise, kind=kind)[..., 0])


def tail_quantile(draws: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return what a share of all draws exceeds, from an exponential tail.

    Parameters
    ----------
    draws : float64 array, shape (draw, ...)
    rate : float
        Below `TAIL`.

    Returns
    -------
    float64 array, shape (...)
    """
    count = int(TAIL * draws.shape[0])
    largest = np.partition(draws, -count - 1, axis=0)[-count - 1 :]
    mean_excess = (largest[1:] - largest[0]).mean(axis=0)
    return np.asarray(largest[0] + mean_excess * np.log(TAIL / rate))
