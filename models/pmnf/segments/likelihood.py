"""Segments by likelihood: several changes, each where evidence beats chance.

A change is found where the evidence at any floor exceeds its threshold, and placed at the split of
largest marginal likelihood. Each side is then searched in the same way. Where the kind of noise is
not known, a change must be found under multiplicative and additive noise alike.

Thresholds are simulated at noise of up to 15 %; larger noise makes evidence where nothing changes.
Repetitions tell how large it is. Without them, two things do for whole experiments: what the best
two growths of each kernel leave unexplained, and how far values lie from the line between their
neighbours. The former includes changes that are more than one, the latter every bend. So the lesser
of both counts.

How much evidence chance and misfit make where nothing changes: simulated for each set of points.

Series of one behaviour are drawn (`one_behaviour.FAMILIES`), in and out of the search space,
with and without noise. The thresholds are such that of the worst family at the worst noise a share
RATE is taken for segmented. Quantiles are read from the tail's exponential law, which needs fewer
draws than counting. They differ too much between ranges of points to be tabulated: with 16 points
over two decades and over five, by a factor of 4.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import LEAST, evidence, unexplained_variance
from hindmost.models.pmnf.hypotheses import patterns
from hindmost.models.pmnf.noise import MAX_ASKED, MIN_POOLED, NoiseKind
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, measured
from hindmost.models.pmnf.segments.segmentation import (
    MIN_TOLD,
    Change,
    Segmentation,
    SegmentVerdict,
)
from hindmost.models.pmnf.space import PAPER

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


STEEPEST = float(max(power for power, _ in PAPER.exponents))
"""Power that normal forms grow with at most."""
EXPLAINED, MIN_SCATTER = 2.0, 0.01
"""Standard errors of the values that a power law or an exponential that explains them is off, on
root mean square, at most; a standard error counts as this share at least."""
MIN_WINDOWED = 2 * MIN_TOLD
"""Points from which parts of a stretch are judged as well."""
MARGIN = 2.0
"""By what evidence in a part must exceed its threshold, as there are several parts."""
CALIBRATED = 0.075
"""Standard error of values up to which thresholds are valid: somewhat less than that of the uniform
noise of 15 % at which they are simulated (0.087), as other noise has longer tails."""
FREE = 7
"""Points that two growths with a free change explain whatever they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentations:
    """Verdicts on many kernels.

    Attributes
    ----------
    observations : Observations
    begins : bool array, shape (kernel, point)
        Whether a new behaviour begins at a point.
    likely : int array, shape (kernel, point, 2)
        Where one begins, the first and the last point at which it may begin, at 90 %.
    excess : float64 array, shape (kernel,)
        The most by which the evidence for a change exceeds what it must, log likelihood; infinite
        below 0 where points are too few.
    """

    observations: Observations
    begins: NDArray[np.bool_]
    likely: NDArray[np.intp]
    excess: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.begins.shape[0])

    @property
    def segmented(self) -> NDArray[np.bool_]:
        """Whether each kernel's behaviour changes: shape (kernel,)."""
        return np.asarray(self.begins.any(axis=1))

    def between(self, low: float, high: float) -> NDArray[np.bool_]:
        """Say which kernels have a change from one value of the parameter to another.

        Returns
        -------
        bool array, shape (kernel,)
        """
        points = self.observations.points
        there = np.isfinite(self.observations.values)
        number = np.where(there, np.arange(points.size), -1)
        before = np.maximum.accumulate(number, axis=1)[:, :-1]  # the last point that there is
        inside = (points[before] >= low) & (before >= 0) & (points[1:] <= high)
        return np.asarray((self.begins[:, 1:] & inside).any(axis=1))

    def __getitem__(self, kernel: int) -> Segmentation:
        there = np.isfinite(self.observations.values[kernel])
        points = self.observations.points
        number = np.cumsum(there) - 1  # among the points that the kernel has
        own = points[there]
        changes = tuple(
            Change(
                low=float(own[number[at] - 1]),
                high=float(own[number[at]]),
                first=int(number[at]),
                likely=(
                    float(own[number[self.likely[kernel, at, 0]] - 1]),
                    float(own[number[self.likely[kernel, at, 1]]]),
                ),
            )
            for at in np.flatnonzero(self.begins[kernel])
        )
        verdict = SegmentVerdict.ONE
        if own.size < MIN_TOLD:
            verdict = SegmentVerdict.TOO_FEW
        elif changes:
            verdict = SegmentVerdict.SEGMENTED
        elif self.excess[kernel] > -2.0:
            verdict = SegmentVerdict.OPEN
        return Segmentation(
            verdict=verdict, changes=changes, excess=float(self.excess[kernel]), points=own
        )


def segment(observations: Observations) -> Segmentations:
    """Find the changes of many kernels.

    Parameters
    ----------
    observations : Observations
        Over one parameter.
    """
    with_noise = replace(
        observations, scatter=observations.scatter or unexplained_noise(observations)
    )
    shape = observations.values.shape
    found = Segmentations(
        observations=observations,
        begins=np.zeros(shape, bool),
        likely=np.zeros((*shape, 2), np.intp),
        excess=np.full(shape[0], -np.inf),
    )
    for there, members in patterns(observations.values):
        own = np.flatnonzero(there)
        waiting = [(own, members[~outgrown(observations, own, members)])]
        while waiting:
            stretch, kernels = waiting.pop()
            if stretch.size < MIN_TOLD or not kernels.size:
                continue
            excess, place = judge(with_noise, stretch, kernels)
            if stretch.size == own.size:
                found.excess[kernels] = excess
            split, place = kernels[excess > 0.0], place[excess > 0.0]
            note_changes(found, stretch, split, place)
            best = place.argmax(axis=1) + LEAST
            for at in np.unique(best):
                waiting.append((stretch[:at], split[best == at]))
                waiting.append((stretch[at:], split[best == at]))
    return found


def outgrown(
    observations: Observations, own: NDArray[np.intp], kernels: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Say which kernels follow one power law or exponential that no normal form is as steep as.

    Two normal forms, one after the other, come nearer to it than one does: that is no change.
    """
    x, values = observations.points[own], observations.values[np.ix_(kernels, own)]
    positive = (values > 0.0).all(axis=1)
    y = np.log(np.where(positive[:, None], values, 1.0))
    scatter = np.full(kernels.size, observations.scatter)
    if observations.own_scatter is not None:
        mine = observations.own_scatter[kernels]
        scatter = np.where(np.isfinite(mine), mine, scatter)
    limit = EXPLAINED * np.maximum(scatter, MIN_SCATTER)
    found = np.zeros(kernels.size, bool)
    for of, last in ((np.log(x), 1.0), (x, x[-1])):
        apart = of - of.mean()
        slope = (y - y.mean(axis=1, keepdims=True)) @ apart / (apart @ apart)
        left = y - y.mean(axis=1, keepdims=True) - slope[:, None] * apart
        off = np.sqrt((left**2).sum(axis=1) / (x.size - 2))
        found |= (slope * last > STEEPEST) & (off <= limit)
    return np.asarray(found & positive)


def note_changes(
    found: Segmentations,
    stretch: NDArray[np.intp],
    kernels: NDArray[np.intp],
    place: NDArray[np.float64],
) -> None:
    """Note that in each kernel a behaviour begins where that is likeliest."""
    likeliest = place.argmax(axis=1)
    best = stretch[likeliest + LEAST]
    odds = np.exp(place - place.max(axis=1, keepdims=True))
    share = np.cumsum(odds, axis=1) / odds.sum(axis=1, keepdims=True)
    outside = 0.5 * (1.0 - 0.9)
    low = np.minimum((share <= outside).sum(axis=1), likeliest)
    high = np.maximum((share < 1.0 - outside).sum(axis=1), likeliest)
    found.begins[kernels, best] = True
    found.likely[kernels, best, 0] = stretch[low + LEAST]
    found.likely[kernels, best, 1] = stretch[high + LEAST]


def judge(
    observations: Observations, stretch: NDArray[np.intp], kernels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Judge some points of some kernels; under each kind of noise that there may be.

    Several changes may mask each other, as two growths fit no better than one. So where a long
    stretch shows no change, its first and its last two thirds are judged as well.

    Parameters
    ----------
    observations : Observations
    stretch : int array, shape (point,)
        Numbers of at least `MIN_TOLD` points.
    kernels : int array, shape (kernel,)

    Returns
    -------
    excess : float64 array, shape (kernel,)
        The most by which the evidence exceeds what it must, log likelihood.
    place : float64 array, shape (kernel, split)
        Log marginal likelihood of a change at each split; -inf where it was not looked for.
    """
    excess, place = judge_whole(observations, stretch, kernels)
    if stretch.size < MIN_WINDOWED:
        return excess, place
    part = -(-2 * stretch.size // 3)
    for begin in (0, stretch.size - part):
        open_yet = np.flatnonzero(excess <= 0.0)
        window = stretch[begin : begin + part]
        more, there = judge_whole(observations, window, kernels[open_yet])
        better = more - MARGIN > excess[open_yet]
        rows = open_yet[better]
        excess[rows] = more[better] - MARGIN
        place[rows] = -np.inf
        place[rows, begin : begin + there.shape[1]] = there[better]
    return excess, place


def judge_whole(
    observations: Observations, stretch: NDArray[np.intp], kernels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Judge a stretch for one change; the least evidence over the kinds of noise counts."""
    points, some = observations.points[stretch], np.ix_(kernels, stretch)
    values, shares = observations.values[some], observations.shares[some]
    excess, places = np.full(kernels.size, np.inf), []
    for gamma in observations.noise.gammas:
        wider = granted(observations, stretch, kernels, gamma)
        ratio, place = evidence(points, values, shares, gamma, wider=wider)
        excess = np.minimum(excess, (ratio - thresholds(points, gamma)).max(axis=(1, 2)))
        places.append(place)
    return excess, np.mean(places, axis=0)


def granted(
    observations: Observations,
    stretch: NDArray[np.intp],
    kernels: NDArray[np.intp],
    gamma: float,
) -> NDArray[np.float64]:
    """Return how many times the floors of the evidence noise needs in a stretch.

    Noise that does not grow with the values is a larger share of those that are small.

    Returns
    -------
    float64 array, shape (kernel,)
    """
    size = np.abs(observations.values[kernels])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (np.nanmean(size, axis=1) / size[:, stretch].mean(axis=1)) ** (1.0 - gamma)
    share = np.where(np.isfinite(share), np.maximum(share, 1.0), 1.0)
    return np.asarray(np.maximum(observations.scatter * share / CALIBRATED, 1.0))


def unexplained_noise(observations: Observations) -> float:
    """Estimate the noise that kernels without repetitions have in common.

    Parameters
    ----------
    observations : Observations
        Over one parameter.

    Returns
    -------
    float
        Standard deviation as a share of the values, or of their series' mean; 0 where points are
        repeated or few, kernels are few, or the kind of noise is not known.
    """
    points, gamma = observations.points, observations.noise.kind.gamma
    if observations.scatter or not observations.noise.known or points.size <= FREE:
        return 0.0
    complete = np.flatnonzero(np.isfinite(observations.values).all(axis=1))
    if complete.size < MIN_POOLED:
        return 0.0
    some = complete[np.linspace(0, complete.size - 1, min(complete.size, MAX_ASKED)).astype(int)]
    values, shares = observations.values[some], observations.shares[some]
    left = float(np.median(unexplained_variance(points, values, shares, gamma)))
    of_growths = float(np.sqrt(left * points.size / (points.size - FREE)))
    return min(of_growths, off_neighbours(points, values, gamma))


def off_neighbours(points: NDArray[np.float64], values: NDArray[np.float64], gamma: float) -> float:
    """Return the typical distance of values from the lines between their neighbours.

    Parameters
    ----------
    points : float64 array, shape (point,)
    values : float64 array, shape (kernel, point)

    Returns
    -------
    float
        As a standard deviation of single values, as a share of them or of their series' mean.
    """
    along = np.log(points)
    before = (along[2:] - along[1:-1]) / (along[2:] - along[:-2])
    after = 1.0 - before
    line = before * values[:, :-2] + after * values[:, 2:]
    if (values > 0.0).all():  # powers are lines in logarithms
        line = values[:, :-2] ** before * values[:, 2:] ** after
    level = np.abs(values).mean(axis=1, keepdims=True)
    size = np.abs(values[:, 1:-1]) ** gamma * level ** (1.0 - gamma)
    off = np.abs(values[:, 1:-1] - line) / size / np.sqrt(1.0 + before**2 + after**2)
    # The median of the sizes of standard normal deviates is 0.6745.
    return float(np.median(off) / 0.6745)
