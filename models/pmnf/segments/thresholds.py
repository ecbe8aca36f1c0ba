"""How much evidence chance and misfit make where nothing changes: simulated for each set of points.

Series of one behaviour are drawn (`one_behaviour.FAMILIES`), in and out of the search space,
with and without noise. The thresholds are such that of the worst family at the worst noise a share
RATE is taken for segmented. Quantiles are read from the tail's exponential law, which needs fewer
draws than counting.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import (
    FLOORS,
    LEAST,
    Candidates,
    Weighted,
    candidates,
    evidence,
    log_residuals,
    lower,
    sides,
    weighted,
)
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
FEW, PAIRS, ALL = 0, 1, 2
"""How much of what R_1 is the least of was tried."""
MOST_THREADS = 4
LEAST_AT = (6, 8, 10, 12, 14, 20, 24)
LEAST_OF_FINE = {
    2: (13.0, 10.0, 7.5, 6.5, 6.0, 6.0, 6.0),
    3: (15.0, 11.0, 9.0, 8.5, 7.5, 6.0, 6.0),
    4: (15.0, 13.5, 9.5, 9.0, 8.3, 6.5, 6.4),
    5: (15.0, 13.5, 10.0, 9.3, 9.0, 7.0, 6.8),
}
LEAST_OF_COARSE = 3.4
"""What thresholds are at least. At the lower floor that depends on the points of the series
(`LEAST_AT`) and of the shorter side (2, 3, 4, or 5 and more). Of sets of up to 14 points, none was
simulated to be less; of longer ones, few were, nearly all with 2 points on a side."""
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


@cache
def least_thresholds(points: int) -> NDArray[np.float64]:
    """Return what no threshold is less than: with less evidence, none need be simulated.

    Parameters
    ----------
    points : int

    Returns
    -------
    float64 array, shape (split, floor)
    """
    first = np.arange(LEAST, points - LEAST + 1)
    shorter = np.minimum(np.minimum(first, points - first), max(LEAST_OF_FINE)).tolist()
    of_fine = [np.interp(points, LEAST_AT, LEAST_OF_FINE[side]) for side in shorter]
    least = np.column_stack([of_fine, np.full(first.size, LEAST_OF_COARSE)])
    least.flags.writeable = False
    return least


def simulate_thresholds(points: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Simulate what `thresholds` returns."""
    with ThreadPoolExecutor(MOST_THREADS) as threads:  # compiled loops run side by side

        def rough_tails(case: tuple[str, float]) -> tuple[NullCase, NDArray[np.float64]]:
            drawn = draw_case(points, gamma, *case)
            drawn.judge(SCREENED)
            return drawn, drawn.tails(RATE_OF_SPLIT)

        def all_tails(case: NullCase) -> NDArray[np.float64]:
            case.judge()
            return case.tails(RATE_OF_SPLIT)

        # The first draws of all cases say which of them can set a threshold.
        cases, rough = zip(*threads.map(rough_tails, CASES), strict=True)
        near = np.array(rough) > np.max(rough, axis=0) - UNSURE
        some = [cases[at] for at in np.flatnonzero(near.any(axis=(1, 2)))]
        of_split = np.max(list(threads.map(all_tails, some)), axis=0)
        found = of_split + max(threads.map(lambda case: case.tail_beyond(of_split, RATE), some))
    found = np.maximum(found, least_thresholds(points.size))
    found.flags.writeable = False
    return np.asarray(found)


@dataclass(slots=True, kw_only=True)
class NullCase:
    """Series of one family with noise, and the evidence in those of them that make the most.

    A few growths give a bound of R_1, and so of the evidence. Only where that is among the largest,
    pairs of terms are tried, and where it still is, all other growths. Tails are the same as if all
    were tried everywhere.

    Attributes
    ----------
    growths : Candidates
    series : Weighted
    ratio : float64 array, shape (judged series, split, floor)
        The evidence, or a bound of it.
    one : float64 array, shape (judged series,)
        R_1, or a bound of it.
    apart : float64 array, shape (judged series, split, floor)
        The part of the evidence that R_2 makes.
    tried : int array, shape (judged series,)
        How much was tried: `FEW`, `PAIRS` or `ALL`.
    """

    growths: Candidates
    series: Weighted
    ratio: NDArray[np.float64]
    one: NDArray[np.float64]
    apart: NDArray[np.float64]
    tried: NDArray[np.intp]

    def judge(self, count: int | None = None) -> None:
        """Bound the evidence in the first series, or in all."""
        further = self.series.rows(np.arange(len(self.series))[self.one.size : count])
        found = sides(further, self.growths, placed=False)
        lower(further, self.growths.few, self.growths.coarse[:0], found.one)
        points = further.values.shape[1]
        apart = log_residuals(found.two, points)
        ratio = log_residuals(found.one, points)[:, None] - apart
        self.ratio = np.concatenate([self.ratio, ratio])
        self.one = np.concatenate([self.one, found.one])
        self.apart = np.concatenate([self.apart, apart])
        self.tried = np.concatenate([self.tried, np.full(len(further), FEW)])

    def tails(self, rate: float) -> NDArray[np.float64]:
        """Return the `tail_quantile` of the evidence at each split and floor."""
        self._settle(lambda ratio: ratio.reshape(ratio.shape[0], -1))
        return tail_quantile(self.ratio, rate)

    def tail_beyond(self, of_split: NDArray[np.float64], rate: float) -> float:
        """Return the `tail_quantile` of the most by which the evidence exceeds something."""

        def excess(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray((ratio - of_split).reshape(ratio.shape[0], -1).max(axis=1))[:, None]

        self._settle(excess)
        return float(tail_quantile(excess(self.ratio)[:, 0], rate))

    def _settle(self, measure: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> None:
        """Compute the evidence of all series that may be in a tail of some measures of it.

        Parameters
        ----------
        measure : callable
            Returns what grows with the evidence of each series, shape (series, measure).
        """
        count = 1 + int(TAIL * self.one.size)  # what `tail_quantile` looks at
        bound = measure(self.ratio)
        largest = (bound >= np.partition(bound, -count, axis=0)[-count]).any(axis=1)
        self._try(largest, PAIRS)
        self._try(largest, ALL)
        # These make a lower bound of where the tails begin; what has more evidence may be in them.
        known = measure(self.ratio[self.tried == ALL])
        begin = np.partition(known, -count, axis=0)[-count]
        for level in (PAIRS, ALL):
            self._try((measure(self.ratio) >= begin).any(axis=1), level)

    def _try(self, wanted: NDArray[np.bool_], level: int) -> None:
        """Try more growths on some series: one level after the other."""
        rows = np.flatnonzero(wanted & (self.tried < level))
        one, growths, series = self.one[rows], self.growths, self.series.rows(rows)
        if level == PAIRS:
            lower(series, growths.smooth[:0], growths.coarse, one)
        else:
            lower(series, growths.smooth, growths.coarse[:0], one)
        self.one[rows], self.tried[rows] = one, level
        points = series.values.shape[1]
        self.ratio[rows] = log_residuals(one, points)[:, None] - self.apart[rows]


def draw_case(points: NDArray[np.float64], gamma: float, family: str, noise: float) -> NullCase:
    """Draw a case, of which nothing is judged yet."""
    drawn = null_series(points, gamma, family, noise)
    none = np.empty((0, points.size - 2 * LEAST + 1, FLOORS.size))
    return NullCase(
        growths=candidates(points),
        series=weighted(drawn, np.ones_like(drawn), gamma),
        ratio=none,
        one=np.empty(0),
        apart=none,
        tried=np.empty(0, np.intp),
    )


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
    count = int(TAIL * draws.shape[0])
    largest = np.partition(draws, -count - 1, axis=0)[-count - 1 :]
    mean_excess = (largest[1:] - largest[0]).mean(axis=0)
    return np.asarray(largest[0] + mean_excess * np.log(TAIL / rate))
