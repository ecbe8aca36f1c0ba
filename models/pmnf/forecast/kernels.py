"""Predictions of many kernels beyond their points.

The prediction: the weighted median of what the candidates say, and how far off it may be.

A candidate's loss is the logarithm of its error at held-out points: a few large errors, as at every
change of behaviour, do not decide. The losses of a kernel are few, so they are joined with the mean
of the other kernels of the experiment. A weight is the product of the densities that these errors
have, 1 / (error + 0.02): as heavy-tailed as measured errors are.

Surprises are mostly slower than what was foretold, so the high side of the interval is learnt apart
from the low one. Each width is what held-out points of measured programs needed (quantile
regression; ``python -m benchmarks.ablation_scaling --learn``), given the distance to the target and
an error: the larger of that of the kernel's own last points by the weighted candidates and of how
far these are apart at the target. The width grows as the square root of the error: small errors at
few points promise less than they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.pmnf.forecast.candidates import COUNT, REACH, Candidate, Trials, hold_out
from hindmost.models.pmnf.predictive import weighted_quantile

FORM = list(Candidate).index(Candidate.FORM)
EXACT, MIN_EXACT = 0.03, 2
"""Largest error of a form at held-out points, and their least number, from which on it counts."""
LARGEST_ERROR = 1.5
"""Error beyond which it does not matter how wrong a candidate is."""
POOLED = 4.0
"""Held-out points that the mean of the other kernels counts as, at most one for each of them."""
SHARPNESS = 1.0
"""Power of the densities; 1 if held-out errors are independent."""
MIN_ERROR = 0.003
"""Error, as a difference of logarithms, that is added to all: timers and machines are no better."""
OF_ERROR = 0.5
"""Power of the error in the widths."""
WIDTHS = np.array([[0.456, OF_ERROR, 0.357], [0.789, OF_ERROR, 0.401]])
"""Logarithm of the widths below and above: the coefficients of 1 and of the logarithms of the error
and of the distance to the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Weighted candidates of all kernels.

    Attributes
    ----------
    predicted : float64 array, shape (kernel,)
        Logarithm of the value at the target.
    weights : float64 array, shape (kernel, candidate)
        Their sum is 1.
    off : float64 array, shape (kernel, origin)
        Logarithm of what the same weights foretell held-out points to be, over what was measured;
        NaN where there is no such point.
    """

    predicted: NDArray[np.float64]
    weights: NDArray[np.float64]
    off: NDArray[np.float64]


def weigh(trials: Trials) -> Weighed:
    """Weigh the candidates of all kernels of an experiment, and join them."""
    there = trials.distance > 0.0
    sizes = np.minimum(np.nan_to_num(np.abs(trials.errors), nan=LARGEST_ERROR), LARGEST_ERROR)
    # Errors below 2 % count as equally good.
    own = np.where(there[..., None], np.log(sizes + 0.02), 0.0).sum(axis=1)
    count = there.sum(axis=1, keepdims=True)
    mean = own / np.maximum(count, 1)
    others = (count > 0).sum() - (count > 0)
    pooled = (mean.sum(axis=0) - mean) / np.maximum(others, 1)
    expected = own + np.minimum(POOLED, others) * pooled
    # After a change, what was measured before it says nothing: those that need it are left out, as
    # are lines that fall to zero before the target.
    without = (trials.recent[:, None] < REACH) | ~np.isfinite(trials.predicted)
    form = np.arange(COUNT) == FORM
    without |= np.where(exact(trials)[:, None] & ~without[:, FORM, None], ~form, form)
    expected = np.where(without, np.inf, expected)
    weights = np.exp(-SHARPNESS * (expected - expected.min(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    # The same weights at held-out points.
    capped = np.clip(np.nan_to_num(trials.errors), -LARGEST_ERROR, LARGEST_ERROR)
    off = weighted_quantile(capped, weights[:, None])
    return Weighed(
        predicted=weighted_quantile(np.where(without, 0.0, trials.predicted), weights),
        weights=weights,
        off=np.where(there, off, np.nan),
    )


def exact(trials: Trials) -> NDArray[np.bool_]:
    """Tell which kernels a form foretold at all held-out points: bool, shape (kernel,)."""
    off = np.abs(trials.errors[..., FORM])
    told = np.isfinite(off)
    near = (np.where(told, off, 0.0) <= EXACT).all(axis=1)
    return np.asarray(near & (told.sum(axis=1) >= MIN_EXACT))


def width_features(trials: Trials, weighed: Weighed) -> NDArray[np.float64]:
    """Return what the width depends on.

    Returns
    -------
    float64 array, shape (kernel, 3)
        1, the logarithm of the larger of the kernel's own errors and the distance between
        candidates, and that of the distance to the target.
    """
    there = trials.distance > 0.0
    # Errors of slopes grow with the distance.
    farther = np.maximum(trials.ahead[:, None] / np.where(there, trials.distance, 1.0), 1.0)
    size = np.log(farther * np.abs(weighed.off) + MIN_ERROR)
    own = np.where(there, size, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    own[~there.any(axis=1)] = -np.inf
    apart = (
        np.where(weighed.weights > 0.0, trials.predicted, 0.0) - weighed.predicted[:, None]
    ) ** 2
    spread = np.sqrt((weighed.weights * apart).sum(axis=1))
    size = np.maximum(own, np.log(spread + MIN_ERROR))
    return np.column_stack([np.ones_like(own), size, np.log(trials.ahead)])


def interval_widths(trials: Trials, weighed: Weighed) -> NDArray[np.float64]:
    """Return how far the interval's low and high end are from the prediction, as logarithms.

    Returns
    -------
    float64 array, shape (2, kernel)
        Both above 0.
    """
    return np.asarray(np.exp(WIDTHS @ width_features(trials, weighed).T))


MIN_POINTS = 2
"""Points of a kernel. From four on, the last ones are held out; with fewer, other kernels say which
candidates do well, or all count alike."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredKernels:
    """Kernels of one metric, measured at the same points.

    Attributes
    ----------
    points : float64 array, shape (point,)
        Ascending, above 0.
    values : float64 array, shape (kernel, point)
        Above 0; NaN where a kernel has no measurement.
    recent : float64 array, shape (kernel,), optional
        Points of each kernel's last behaviour, where it is known to change; infinite where not.
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    recent: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """Predictions of kernels at a target.

    Attributes
    ----------
    predicted, low, high : float64 array, shape (kernel,)
        In the metric's unit; 90 % of new measurements lie between low and high. NaN without an
        interval.
    weights : float64 array, shape (kernel, candidate)
        What each candidate counts for; their sum is 1, or 0 where the model predicts.
    missed : float64 array, shape (kernel,)
        Factor, 1 or more, by which the same weights would have missed the last point.
    """

    predicted: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weights: NDArray[np.float64]
    missed: NDArray[np.float64]

    @property
    def by_model(self) -> NDArray[np.bool_]:
        """Which kernels their models predict: shape (kernel,)."""
        return np.asarray(self.weights.sum(axis=1) == 0.0)

    def sources(self, number: int) -> tuple[tuple[str, float], ...]:
        """Return what continues a kernel, the largest weight first; empty if the model does."""
        weighed = zip(map(str, Candidate), self.weights[number].tolist(), strict=True)
        return tuple(sorted(filter(itemgetter(1), weighed), key=itemgetter(1), reverse=True))


def forecast_kernels(experiment: Sequence[MeasuredKernels], at: float) -> list[Predictions]:
    """Predict all kernels of an experiment beyond their points.

    Kernels learn from one another which candidates did well at their last points, so hand over all
    of one metric together.

    Parameters
    ----------
    experiment : sequence of MeasuredKernels
    at : float
        Beyond every point.

    Returns
    -------
    list of Predictions, one for each entry of `experiment`

    Raises
    ------
    DataError
        A kernel of fewer than 2 points, a value that is not above 0, or a target that is not
        beyond the points.
    """
    parts = [trials_of(each, at) for each in experiment]
    trials = joint_trials(parts)
    weighed = weigh(trials)
    below, above = interval_widths(trials, weighed)
    found, begin = [], 0
    for part in parts:
        own = slice(begin, begin + part.ahead.size)
        middle = weighed.predicted[own]
        found.append(
            Predictions(
                predicted=np.exp(middle),
                low=np.exp(middle - below[own]),
                high=np.exp(middle + above[own]),
                weights=weighed.weights[own],
                missed=np.exp(np.abs(weighed.off[own, 0])),
            )
        )
        begin = own.stop
    return found


def trials_of(kernels: MeasuredKernels, at: float) -> Trials:
    """Check kernels, and let all candidates predict their target and last points."""
    there = np.isfinite(kernels.values)
    count = there.sum(axis=1)
    if (count < MIN_POINTS).any():
        kernel = int(np.argmax(count < MIN_POINTS))
        raise DataError(
            f"Kernel {kernel} has {count[kernel]} points; a prediction beyond them needs "
            f"{MIN_POINTS}: measure {MIN_POINTS - count[kernel]} more."
        )
    if not (kernels.values[there] > 0.0).all():
        raise DataError("A value is not above 0; predictions take logarithms: leave it out.")
    largest = float(kernels.points[there.any(axis=0)].max())
    if not largest < at < np.inf:
        raise DataError(f"The target {at:g} is not beyond the largest point, {largest:g}.")
    return hold_out(kernels.points, kernels.values, at, kernels.recent)


def joint_trials(parts: Sequence[Trials]) -> Trials:
    """Put the trials of several groups of kernels behind each other."""
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Trials)
    }
    return Trials(**columns)
