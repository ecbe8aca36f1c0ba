"""Whether a stretch of points has a change, and where: evidence held against thresholds.

Thresholds are simulated at noise of up to 15 %; larger noise makes evidence where nothing changes.
Repetitions tell how large it is. Without them, two things do for whole experiments: what the best
two growths of each kernel leave unexplained, and how far values lie from the line between their
neighbours. The former includes changes that are more than one, the latter every bend. So the lesser
of both counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import Evidence, evidence, unexplained_variance
from hindmost.models.pmnf.noise import LEAST_POOLED, MOST_ASKED
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES
from hindmost.models.pmnf.segments.segmentation import LEAST_TOLD
from hindmost.models.pmnf.segments.thresholds import NOISE, null_series, thresholds

LEAST_WINDOWED = 2 * LEAST_TOLD
"""Points from which parts of a stretch are judged as well."""
MARGIN = 2.0
"""By what evidence in a part must exceed its threshold, as there are several parts."""
CALIBRATED = 0.07
"""Standard error of values up to which thresholds are valid: somewhat less than that of the uniform
noise of 15 % at which they are simulated (0.087), as other noise has longer tails."""
NEAR = 2.0
"""Log likelihood short of the threshold from which a verdict is left open."""
LEAST_ASKED = 8
"""Points from which two growths leave something of the noise."""
DRAWN = 60
"""Series of each family that say how much they leave."""
CERTAIN = (0.10, 0.112)
"""Noise of series of one growth and of two, both with uniform noise of 15 %, is estimated to be up
to the first; from the second, more is taken for granted."""
GRANTED = 0.068
"""Estimated noise that is taken for granted: chosen so that at most 1 % of sums of two terms over
10 points, with normal noise of 15 and 30 %, are taken for segmented."""
NORMAL = 0.6745
"""Median of the sizes of standard normal deviates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchEvidence:
    """What is said of one stretch of many kernels.

    Attributes
    ----------
    excess : float64 array, shape (kernel,)
        The most by which the evidence exceeds what it must, log likelihood.
    place : float64 array, shape (kernel, split)
        Log marginal likelihood of a change at each split; -inf where it was not looked for.
    """

    excess: NDArray[np.float64]
    place: NDArray[np.float64]


def judge(
    observations: Observations, stretch: NDArray[np.intp], kernels: NDArray[np.intp]
) -> StretchEvidence:
    """Judge some points of some kernels; under each kind of noise that there may be.

    Several changes may mask each other, as two growths fit no better than one. So where a long
    stretch shows no change, its first and its last two thirds are judged as well.

    Parameters
    ----------
    observations : Observations
    stretch : int array, shape (point,)
        Numbers of at least `LEAST_TOLD` points.
    kernels : int array, shape (kernel,)
    """
    judged = judge_whole(observations, stretch, kernels)
    if stretch.size < LEAST_WINDOWED:
        return judged
    part = -(-2 * stretch.size // 3)
    for begin in (0, stretch.size - part):
        open_yet = np.flatnonzero(judged.excess <= 0.0)
        window = stretch[begin : begin + part]
        found = judge_whole(observations, window, kernels[open_yet])
        better = found.excess - MARGIN > judged.excess[open_yet]
        rows = open_yet[better]
        judged.excess[rows] = found.excess[better] - MARGIN
        judged.place[rows] = -np.inf
        judged.place[rows, begin : begin + found.place.shape[1]] = found.place[better]
    return judged


def judge_whole(
    observations: Observations, stretch: NDArray[np.intp], kernels: NDArray[np.intp]
) -> StretchEvidence:
    """Judge a stretch for one change; the least evidence over the kinds of noise counts."""
    points = observations.points[stretch]
    excess = np.full(kernels.size, np.inf)
    speaks = heard(observations, stretch, kernels)
    for gamma, each in zip(observations.noise.gammas, speaks, strict=True):
        apart = (each.ratio - thresholds(points, gamma)).max(axis=(1, 2))
        excess = np.minimum(excess, apart)
    return StretchEvidence(excess=excess, place=np.mean([each.place for each in speaks], axis=0))


def place_change(
    observations: Observations, stretch: NDArray[np.intp], kernels: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return where a change of a stretch lies, if it has one.

    Returns
    -------
    float64 array, shape (kernel, split)
        Log marginal likelihood, on average over the kinds of noise that there may be.
    """
    return np.asarray(
        np.mean([each.place for each in heard(observations, stretch, kernels)], axis=0)
    )


def heard(
    observations: Observations, stretch: NDArray[np.intp], kernels: NDArray[np.intp]
) -> list[Evidence]:
    """Return the evidence under each kind of noise that there may be."""
    some = np.ix_(kernels, stretch)
    values, shares = observations.values[some], observations.shares[some]
    points = observations.points[stretch]
    return [
        evidence(
            points, values, shares, gamma, wider=granted(observations, stretch, kernels, gamma)
        )
        for gamma in observations.noise.gammas
    ]


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
    repeated = observations.scatter * share / CALIBRATED
    return np.asarray(
        np.maximum(np.maximum(repeated, 1.0), granted_for(observations.unexplained * share))
    )


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
    points = observations.points
    if observations.scatter or not observations.noise.known or points.size < LEAST_ASKED:
        return 0.0
    complete = np.flatnonzero(np.isfinite(observations.values).all(axis=1))
    if complete.size < LEAST_POOLED:
        return 0.0
    some = complete[np.linspace(0, complete.size - 1, min(complete.size, MOST_ASKED)).astype(int)]
    values, shares = observations.values[some], observations.shares[some]
    gamma = observations.noise.kind.gamma
    drawn = np.concatenate(
        [null_series(points, gamma, family, NOISE)[:DRAWN] for family in FAMILIES]
    )
    left = [
        np.median(unexplained_variance(points, each, of_each, gamma))
        for each, of_each in ((values, shares), (drawn, np.ones_like(drawn)))
    ]
    uniform = NOISE / np.sqrt(3.0)
    of_growths = float(uniform * np.sqrt(left[0] / left[1]))
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
    return float(np.median(off) / NORMAL)


def granted_for(noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many times the floors of the evidence are granted to noise of this size."""
    surely = np.clip((noise - CERTAIN[0]) / (CERTAIN[1] - CERTAIN[0]), 0.0, 1.0)
    return np.asarray(1.0 + surely * (noise / GRANTED - 1.0))
