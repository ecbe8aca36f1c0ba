"""How much evidence chance and misfit make where nothing changes: simulated for each set of points.

Series of one behaviour are drawn (`one_behaviour.FAMILIES`), in and out of the search space,
with and without noise. The thresholds are such that of the worst family at the worst noise a share
RATE is taken for segmented. Quantiles are read from the tail's exponential law, which needs fewer
draws than counting.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import evidence
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, measured

RATE = 0.0075
RATE_OF_SPLIT = 0.002
NOISE = 0.15
EXACT = ("inside", "strong", "two-terms", "saturating")
"""Families that the search space contains, or nearly: without noise they make no evidence."""
CASES = (
    *product(FAMILIES, (NOISE,)),
    *product([family for family in FAMILIES if family not in EXACT], (0.0,)),
)
"""Families, each with the noise that it is drawn with."""
DRAWS, OF_POINTS, LEAST_DRAWS = 1600, 12, 500
"""Series of each family and noise; of longer series than so many points fewer, but at least so
many: the tail, not the count, fixes the thresholds."""
SCREENED, UNSURE = 400, 1.5
"""Draws that tell which families and noises may be the worst, and how far their thresholds may be
below the largest ones; of 48 sets of points, one had others than with all draws of all, by 0.1."""
MOST_THREADS = 4
TAIL = 0.05
"""Share of the draws that the exponential law is fitted to."""

SIMULATED: dict[tuple[bytes, float], NDArray[np.float64]] = {}
"""Thresholds of this process by the bytes of the points and gamma. Simulating them takes most of
the time of a fit, so who has some from an earlier process may put them here."""


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
        SIMULATED[key] = simulate_thresholds(points, gamma)
    return SIMULATED[key]


def simulate_thresholds(points: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Simulate what `thresholds` returns."""
    drawn = [null_series(points, gamma, family, noise) for family, noise in CASES]
    with ThreadPoolExecutor(MOST_THREADS) as threads:  # compiled loops run side by side

        def judged(series: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
            every = np.full(len(series), gamma)
            return list(threads.map(null_evidence, [points] * len(series), series, every))

        # The first draws of all cases say which of them can set a threshold.
        first = judged([each[:SCREENED] for each in drawn])
        rough = np.array([tail_quantile(each, RATE_OF_SPLIT) for each in first])
        matters = np.flatnonzero((rough > rough.max(axis=0) - UNSURE).any(axis=(1, 2)))
        rest = judged([drawn[case][SCREENED:] for case in matters])
        chance = [
            np.concatenate([first[case], each]) for case, each in zip(matters, rest, strict=True)
        ]
    of_split = np.max([tail_quantile(each, RATE_OF_SPLIT) for each in chance], axis=0)
    excess = [tail_quantile((each - of_split).max(axis=(1, 2)), RATE) for each in chance]
    found = np.asarray(of_split + max(float(each) for each in excess))
    found.flags.writeable = False
    return found


def null_series(
    points: NDArray[np.float64], gamma: float, family: str, noise: float
) -> NDArray[np.float64]:
    """Draw series of one behaviour: shape (series, point)."""
    kind = next(kind for kind in NoiseKind if kind.gamma == gamma)
    random = np.random.default_rng([7, list(FAMILIES).index(family), int(1000 * noise)])
    draws = max(LEAST_DRAWS, DRAWS * OF_POINTS // max(points.size, OF_POINTS))
    truth = FAMILIES[family](random, points, draws)
    return np.asarray(measured(random, truth, noise=noise, kind=kind)[..., 0])


def null_evidence(
    points: NDArray[np.float64], series: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return the evidence in series of one behaviour: shape (series, split, floor)."""
    return evidence(points, series, np.ones_like(series), gamma, placed=False).ratio


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
    ordered = np.sort(draws, axis=0)
    first = ordered.shape[0] - int(TAIL * ordered.shape[0])
    begin = ordered[first - 1]
    mean_excess = (ordered[first:] - begin).mean(axis=0)
    return np.asarray(begin + mean_excess * np.log(TAIL / rate))
