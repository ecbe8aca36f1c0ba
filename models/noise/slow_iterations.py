"""Groups of slow iterations: stretches in which all iterations take longer than elsewhere.

The paper sees such groups in its colormaps ("GMRES iterations k = 1700 - 2300", section 3.1) and
leaves them to the eye. Here they are level changes in the slowest rank's times:

1. The work of each place in the restart cycle is removed: the log of each time minus the median of
   its place.
2. The logs are replaced by normal scores, the normal quantiles of their ranks. The scores of
   independent times are the same numbers in random order, whatever the law: neither a heavy tail
   nor a single detour can look like a group. Equal times share theirs. Where most are, the
   variance is below 1, and stays so: at 1 the few others would stand out as groups of one.
3. The best segmentation is found by dynamic programming; a cut costs tau (log n + 7), where tau
   allows for serial correlation. In simulated quiet runs of 500 and of 5000 iterations, independent
   or AR(1) with up to 0.9 a lag, a slower segment is then found in fewer than 1 run of 100. Of more
   than 2048 iterations, as many in a row count as one as needed: borders are that exact.
4. The level that half of the iterations do not exceed is the baseline; slower segments are groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.simulation.local_work import normal_scores
from hindmost.text import counted, percent, seconds

PLACES = 2048
"""Between which a cut may lie."""
CUT = 7.0
"""Cost of a cut beyond log n, from the simulation described above."""
FEWEST = 20
"""Fewest iterations in which groups can be found."""
FEWEST_OF_A_PLACE = 5
"""Fewest times of a place whose median removes the work but not the groups."""
LEAST_FACTOR = 1.05
"""Segments that are less slow may be significant, but explain nothing."""
STRONGEST = 0.98
"""Autocorrelation of neighbours beyond which levels and noise are the same thing."""
DIGITS = 10
"""Of the logs, far below the resolution of any clock."""
NEAR_LAGS = (1, 2, 4)
FAR_LAGS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowGroup:
    """A stretch of slow iterations.

    Attributes
    ----------
    first, last : int
        Iterations, both in it.
    factor : float
        How much longer its iterations take than the same places elsewhere, in the median.
    lost_s : float
        Time beyond what its places take at the baseline.
    lost_share : float
        Of the time of all iterations.
    """

    first: int
    last: int
    factor: float
    lost_s: float
    lost_share: float

    @property
    def iterations(self) -> int:
        """Number of iterations in it."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowGroups:
    """The slow groups of a run, and their baseline.

    Attributes
    ----------
    groups : tuple of SlowGroup
        In the order of time; neighbours differ in level.
    iterations : int
        Of the run.
    baseline_s : float
        Mean time of an iteration at the baseline; without groups, at the medians of the places.
    correlation_time : float
        tau, in iterations.
    places : int
        Places in the restart cycle with their own work; 1 if there were too few cycles.
    """

    groups: tuple[SlowGroup, ...]
    iterations: int
    baseline_s: float
    correlation_time: float
    places: int

    JSON = "iterations baseline_s correlation_time places lost_share groups"

    @property
    def lost_share(self) -> float:
        """Share of the time of all iterations that is lost in groups."""
        return float(sum(group.lost_share for group in self.groups))

    def explain(self) -> str:
        """Return the result in a sentence."""
        if not self.groups:
            return (
                f"No group of slow iterations among {self.iterations:,}; the baseline (median of "
                f"the slowest rank) is {seconds(self.baseline_s)} per iteration."
            )
        worst = max(self.groups, key=lambda group: group.lost_s)
        cost = "costs" if len(self.groups) == 1 else "cost"
        return (
            f"{counted(len(self.groups), 'group')} of slow iterations {cost} "
            f"{percent(self.lost_share)} of the time; the most expensive: iterations {worst.first} "
            f"to {worst.last}, in the median {worst.factor:.2f} times as long as elsewhere."
        )


def find_slow_groups(maxima: NDArray[np.float64], position: NDArray[np.integer[Any]]) -> SlowGroups:
    """Find the groups of slow iterations of a run.

    Parameters
    ----------
    maxima : float64 array, shape (iteration,), seconds
        The slowest rank's time of every iteration.
    position : int array, shape (iteration,)
        Place in the restart cycle.

    Raises
    ------
    DataError
        Shapes that do not fit, fewer than 20 iterations, or times that are not above 0.
    """
    if maxima.ndim != 1 or maxima.shape != position.shape or maxima.size < FEWEST:
        raise DataError(
            f"Times of shape {maxima.shape} and places of shape {position.shape}; both must be "
            f"(iteration,), with at least {FEWEST} iterations."
        )
    if not (np.isfinite(maxima).all() and maxima.min() > 0.0):
        raise DataError("A time is not a number above 0; leave out iterations without one.")
    logs = np.log(maxima)
    work, places = work_of_places(logs, position)
    # Equal times must stay equal: their order by rounding errors repeats from cycle to cycle.
    excess = np.round(logs - work, DIGITS)
    starts, correlation_time = levels_of(normal_scores(excess))
    borders = np.append(starts, maxima.size)
    levels = np.array([np.median(part) for part in np.split(excess, starts[1:])])
    baseline = most_common_level(levels, np.diff(borders))
    expected = np.exp(work + baseline)
    groups = []
    for first, after, level in zip(borders[:-1], borders[1:], levels, strict=True):
        factor = float(np.exp(level - baseline))
        lost_s = float(np.sum(maxima[first:after] - expected[first:after]))
        # Where the median is slower but the sum is not, most iterations are slow and some are much
        # faster.
        if factor < LEAST_FACTOR or lost_s <= 0.0:
            continue
        groups.append(
            SlowGroup(
                first=int(first),
                last=int(after) - 1,
                factor=factor,
                lost_s=lost_s,
                lost_share=lost_s / float(maxima.sum()),
            )
        )
    # Without groups the baseline is that of all iterations: the medians of their places. The level
    # of most iterations lies above it where a fast stretch came first.
    usual = expected if groups else np.exp(work)
    return SlowGroups(
        groups=tuple(groups),
        iterations=int(maxima.size),
        baseline_s=float(usual.mean()),
        correlation_time=correlation_time,
        places=places,
    )


def work_of_places(
    logs: NDArray[np.float64], position: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.float64], int]:
    """Return the median of each iteration's place, and the number of places."""
    _, which, count = np.unique(position, return_inverse=True, return_counts=True)
    if np.median(count) < FEWEST_OF_A_PLACE:
        return np.full(logs.size, np.median(logs)), 1
    order = np.argsort(which, kind="stable")
    cells = np.split(logs[order], np.cumsum(count)[:-1])
    medians = np.array([np.median(cell) for cell in cells])
    return medians[which], int(count.size)


def levels_of(scores: NDArray[np.float64]) -> tuple[NDArray[np.intp], float]:
    """Return where the level of the scores changes, and their correlation time.

    Correlation over many iterations and groups look alike, so it is first judged from near
    neighbours. If groups are found, it is estimated again from the residuals, and if it is larger,
    the groups are searched again: this reveals slow noise below fast noise.
    """
    dearness = np.log(scores.size) + CUT
    together = -(-scores.size // PLACES)
    first = np.arange(0, scores.size, together)
    sums, counts = np.add.reduceat(scores, first), np.diff(np.append(first, scores.size))
    time = correlation_time_of(scores, NEAR_LAGS)
    while True:
        starts = first[segment_starts(sums, counts, time * dearness)]
        if starts.size == 1:
            return starts, time
        lengths = np.diff(np.append(starts, scores.size))
        means = np.add.reduceat(scores, starts) / lengths
        left = correlation_time_of(scores - np.repeat(means, lengths), FAR_LAGS)
        if left <= 1.01 * time:
            return starts, time
        time = left


def segment_starts(
    sums: NDArray[np.float64], counts: NDArray[np.intp], penalty: float
) -> NDArray[np.intp]:
    """Return where the segments of least squared error, plus a penalty for every cut, begin.

    Parameters
    ----------
    sums : float64 array, shape (place,)
        Of the values between two places for a cut.
    counts : int array, shape (place,)
        Number of these values.
    penalty : float
        What a cut costs, in squared units of the values.
    """
    size = sums.size
    total, number = (np.concatenate([[0.0], np.cumsum(each)]) for each in (sums, counts))
    # The cost of the best segmentation of the first t, without their sum of squares.
    cost, last_cut = np.zeros(size + 1), np.zeros(size + 1, np.intp)
    cost[0] = -penalty
    for t in range(1, size + 1):
        squares = (total[t] - total[:t]) ** 2 / (number[t] - number[:t])
        each = cost[:t] + penalty - squares
        last_cut[t] = np.argmin(each)
        cost[t] = each[last_cut[t]]
    starts = [int(last_cut[-1])]
    while starts[-1] > 0:
        starts.append(int(last_cut[starts[-1]]))
    return np.array(starts[::-1], np.intp)


def correlation_time_of(scores: NDArray[np.float64], lags: tuple[int, ...]) -> float:
    """Return tau = (1 + phi) / (1 - phi), the strongest that a pair of lags h and 2h tells.

    For an AR(1) series the mean squared difference over 2h iterations is 1 + phi^h times that over
    h. Differences hardly see the levels of groups, of which they cross only the borders. With
    fast noise on top, small h understate phi; from larger ones two standard errors are taken off,
    because the root would blow them up.
    """

    def roughness(lag: int) -> float:
        return float(np.mean((scores[lag:] - scores[:-lag]) ** 2))

    strongest = 0.0
    for lag in lags:
        near = roughness(lag) if 4 * lag < scores.size else 0.0
        if near > 0.0:
            ratio = roughness(2 * lag) / near - 1.0
            if lag > 1:
                ratio -= 3.0 / np.sqrt(scores.size)
            strongest = max(strongest, max(ratio, 0.0) ** (1.0 / lag))
    strongest = min(strongest, STRONGEST)
    return (1.0 + strongest) / (1.0 - strongest)


def most_common_level(levels: NDArray[np.float64], lengths: NDArray[np.intp]) -> float:
    """Return the level that half of the iterations do not exceed."""
    order = np.argsort(levels)
    reached = np.cumsum(lengths[order])
    return float(levels[order][np.searchsorted(reached, 0.5 * reached[-1])])
