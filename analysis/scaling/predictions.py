"""Predictions at a target: foretold beyond a kernel's points, by its model among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.scaling.batches import Batch
from hindmost.models.forecast import Forecast, MeasuredKernels, forecast_kernels
from hindmost.models.forecast.candidates import Candidate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """Predictions of all kernels of a metric at a target, batch after batch.

    Attributes
    ----------
    predicted : float64 array, shape (kernel,)
    explained : float64 array, shape (kernel,)
        What the models say; the same where nothing is foretold.
    low, high : float64 array, shape (kernel,)
        NaN without an interval.
    by_model : bool array, shape (kernel,)
        Which kernels their models predict; the arrays that follow are of the others.
    weights : float64 array, shape (kernel, candidate)
        What was weighed and joined.
    missed : float64 array, shape (kernel,)
        Factor by which the last measured point, foretold in this way, would have been missed.
    """

    predicted: NDArray[np.float64]
    explained: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    by_model: NDArray[np.bool_]
    weights: NDArray[np.float64]
    missed: NDArray[np.float64]

    def sources(self, number: int) -> tuple[tuple[str, float], ...]:
        """Return what a kernel is foretold from, the largest weight first; empty if it is not."""
        weighed = zip(map(str, Candidate), self.weights[number].tolist(), strict=True)
        return tuple(sorted(filter(itemgetter(1), weighed), key=itemgetter(1), reverse=True))


def predict_all(batches: Sequence[Batch], at: tuple[float, ...]) -> Predictions:
    """Predict all kernels of a metric at a point.

    Beyond its last point a kernel is foretold from how well candidates foretold the last points of
    all kernels; the other predictions are those of the models.
    """
    explained = np.concatenate([batch.predict(at) for batch in batches])
    count = explained.size
    found = Predictions(
        predicted=explained.copy(),
        explained=explained,
        low=np.full(count, np.nan),
        high=np.full(count, np.nan),
        by_model=np.ones(count, bool),
        weights=np.zeros((count, len(Candidate))),
        missed=np.ones(count),
    )
    first = 0
    for batch in batches:
        for kernel in np.flatnonzero(~batch.beyond(at)).tolist():
            (low,), (high,) = batch[kernel].interval(np.array([at]))
            found.low[first + kernel], found.high[first + kernel] = low, high
        first += len(batch.series)
    for kernels, forecast in forecasts(batches, at):
        found.by_model[kernels] = False
        for name in ("predicted", "low", "high", "weights", "missed"):
            getattr(found, name)[kernels] = getattr(forecast, name)
    return found


def forecasts(
    batches: Sequence[Batch], at: tuple[float, ...]
) -> list[tuple[NDArray[np.intp], Forecast]]:
    """Foretell the kernels whose last point lies before a target: their numbers, and forecasts."""
    groups, numbers = [], []
    first = 0
    for batch in batches:
        beyond = batch.beyond(at)
        if beyond.any():
            groups.append(
                MeasuredKernels(
                    points=batch.points,
                    values=batch.medians[beyond],
                    recent=batch.recent()[beyond],
                )
            )
            numbers.append(first + np.flatnonzero(beyond))
        first += len(batch.series)
    return list(zip(numbers, forecast_kernels(groups, at[0]) if groups else (), strict=True))
