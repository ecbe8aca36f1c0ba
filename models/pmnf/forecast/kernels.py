"""Predictions of many kernels beyond their points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.pmnf.forecast.candidates import Candidate
from hindmost.models.pmnf.forecast.held_out import Trials, hold_out
from hindmost.models.pmnf.forecast.weighing import interval_widths, weigh

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
