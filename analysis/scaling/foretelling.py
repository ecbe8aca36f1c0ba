"""Predictions at a target: foretold beyond a kernel's points, by its model among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.scaling.batches import Batch
from hindmost.models.foretell import Forecast, MeasuredKernels, foretell
from hindmost.text import percent

LEAST_NAMED = 0.1
"""Weight from which a source of a prediction is named."""
OF_MODEL = "the model"
"""Where predictions come from among the measured points, over several parameters, with the method
of Extra-P, and of kernels whose last points a function of all points foretells best."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """Where a prediction comes from.

    Attributes
    ----------
    weights : tuple of (str, float)
        What was weighed and joined, the largest weight first; their sum is 1.
    missed : float
        Factor by which the last measured point, foretold in this way, would have been missed.
    """

    weights: tuple[tuple[str, float], ...] = ((OF_MODEL, 1.0),)
    missed: float = 1.0

    @property
    def foretold(self) -> bool:
        """Whether the prediction is not that of the model."""
        return self.weights[0][0] != OF_MODEL

    def explain(self) -> str:
        """Name the sources that matter."""
        named = [
            f"{name} ({percent(weight, 0)})"
            for name, weight in self.weights
            if weight >= LEAST_NAMED
        ]
        return ", ".join(named)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """Predictions of all kernels of a metric at a target, batch after batch.

    Attributes
    ----------
    predicted : float64 array, shape (kernel,)
    explained : float64 array, shape (kernel,)
        What the models say; the same where nothing is foretold.
    forecasts : tuple of (int array, Forecast)
        For each batch: the kernels, by their number in the metric, that lie before the point.
    by_model : bool array, shape (kernel,)
        Which kernels their models predict.
    """

    predicted: NDArray[np.float64]
    explained: NDArray[np.float64]
    forecasts: tuple[tuple[NDArray[np.intp], Forecast], ...]
    by_model: NDArray[np.bool_]

    def foretold(self, number: int) -> tuple[Forecast, int] | None:
        """Return the forecast of a kernel and its row in it; None if its model predicts."""
        if self.by_model[number]:
            return None
        for kernels, forecast in self.forecasts:
            row = int(np.searchsorted(kernels, number))
            if row < kernels.size and kernels[row] == number:
                return forecast, row
        return None

    def source(self, number: int) -> Source:
        """Say where the prediction of a kernel comes from."""
        found = self.foretold(number)
        if found is None:
            return Source()
        forecast, row = found
        return Source(
            weights=tuple((str(name), share) for name, share in forecast.sources(row)),
            missed=float(forecast.missed[row]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForetoldPath:
    """A kernel at its last point, and what is foretold of it at the target.

    Attributes
    ----------
    at, predicted, low, high : float64 array, shape (2,)
        At the last point, all three are what was measured.
    """

    at: NDArray[np.float64]
    predicted: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def foretold_paths(
    batches: Sequence[Batch], numbers: NDArray[np.intp], target: tuple[float, ...]
) -> dict[int, ForetoldPath]:
    """Foretell some kernels of a metric at the target; those whose models predict have no path."""
    found: dict[int, ForetoldPath] = {}
    aim = predict_all(batches, target)
    first = 0
    for batch in batches:
        for number in numbers[(numbers >= first) & (numbers < first + len(batch.series))].tolist():
            foretold = aim.foretold(number)
            if foretold is not None:
                forecast, row = foretold
                last = float(batch.series[number - first].points[-1, 0])
                value = float(batch.medians[number - first, batch.points == last][0])
                sides = (forecast.predicted, forecast.low, forecast.high)
                predicted, low, high = (np.array([value, side[row]]) for side in sides)
                found[number] = ForetoldPath(
                    at=np.array([last, target[0]]), predicted=predicted, low=low, high=high
                )
        first += len(batch.series)
    return found


def predict_all(batches: Sequence[Batch], at: tuple[float, ...]) -> Predictions:
    """Predict all kernels of a metric at a point.

    Beyond its last point a kernel is foretold from how well candidates foretold the last points of
    all kernels; the other predictions are those of the models, as are those of kernels that follow
    their models.
    """
    explained = np.concatenate([batch.predict(at) for batch in batches])
    by_model = np.ones(explained.size, bool)
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
                    gamma=batch.noise.kind.gamma,
                )
            )
            numbers.append(first + np.flatnonzero(beyond))
        first += len(batch.series)
    forecasts = foretell(groups, at[0]) if groups else []
    predicted = explained.copy()
    usable = np.isfinite(explained) & (explained > 0.0)
    for kernels, forecast in zip(numbers, forecasts, strict=True):
        by_model[kernels] = forecast.follows_model & usable[kernels]
        predicted[kernels] = np.where(by_model[kernels], explained[kernels], forecast.predicted)
    return Predictions(
        predicted=predicted,
        explained=explained,
        forecasts=tuple(zip(numbers, forecasts, strict=True)),
        by_model=by_model,
    )
