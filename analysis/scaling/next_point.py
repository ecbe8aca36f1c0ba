"""Where to measure next: the point that narrows the interval at the target most, within a cost.

A prediction from a point x to the target t is as uncertain as one over the same factor t / x is
from the last measured point: its interval comes from how the candidates erred over such distances.
So the farther point is the better one, and its cost limits it. That is the time that the kernels
are predicted to take there, times the ranks where these are the parameter, over what all measured
points took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.scaling.target import TargetScale, point_text
from hindmost.models.pmnf.kernels import KernelModels, predict_together
from hindmost.text import percent

BUDGET = 1.0
"""Cost of the next point, over that of all measured ones."""
STEP = 2.0
"""Ratio of the points that are compared, from the last one on."""
OF_PROCESSORS = ("p", "ranks", "processes", "procs", "nodes", "cores", "threads", "gpus")
"""Parameters that multiply the cost of a second."""
MIN_GAIN = 1.1
"""Factor by which an interval has to become narrower for a point to be proposed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextPoint:
    """The point to measure next.

    Attributes
    ----------
    parameters : tuple of str
    at : tuple of float
    cost : float
        Over the cost of all measured points.
    spans, then : float64 array, shape (kernel,)
        High over low end of the interval at the target, now and with the point; NaN of kernels
        that are not predicted beyond their points.
    """

    parameters: tuple[str, ...]
    at: tuple[float, ...]
    cost: float
    spans: NDArray[np.float64]
    then: NDArray[np.float64]

    def explain(self, kernel: str, number: int, target: TargetScale) -> str:
        """Say what it brings for a kernel."""
        return (
            f"Measure {point_text(self.parameters, self.at)} next, for {percent(self.cost, 0)} of "
            f"the cost of the points so far: the interval of {kernel} at {target.explain()} is "
            f"then expected to span a factor of {self.then[number]:.2g} instead of "
            f"{self.spans[number]:.2g}."
        )


def next_point(
    batches: Sequence[KernelModels],
    target: TargetScale,
    roots: NDArray[np.bool_],
    *,
    budget: float = BUDGET,
) -> NextPoint | None:
    """Return the point to measure next, by kernels whose metric is a time.

    None where nothing is predicted beyond the points, or no affordable point narrows it.

    Parameters
    ----------
    roots : bool array, shape (kernel,)
        Kernels whose times add up to that of a run.
    budget : float
        The most that the point may cost, over the cost of all measured points.
    """
    last, at = target.largest[0], target.at[0]
    if len(target.parameters) > 1 or not last * STEP < at:
        return None
    now = _forecast(batches, at)
    if not np.isfinite(now[0]).any():
        return None
    points = np.unique(np.concatenate([batch.whole.observations.points for batch in batches]))
    steps = last * STEP ** np.arange(1.0, 1.0 + np.log(at / last) / np.log(STEP))
    per_second = target.parameters[0].lower() in OF_PROCESSORS
    spent = sum(
        np.nansum(np.where(roots, _measured(batches, point), 0.0)) * (point if per_second else 1.0)
        for point in points.tolist()
    )
    for step in steps[steps < at][::-1].tolist():
        predicted, _ = _forecast(batches, step)
        time = np.nansum(np.where(roots, predicted, 0.0))
        cost = float(time * (step if per_second else 1.0) / spent)
        if cost <= budget:
            _, then = _forecast(batches, last * at / step)
            if not np.nanmedian(now[1] / then) >= MIN_GAIN:
                return None
            return NextPoint(
                parameters=target.parameters, at=(step,), cost=cost, spans=now[1], then=then
            )
    return None


def _forecast(
    batches: Sequence[KernelModels], at: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return predictions and spans of intervals of all kernels, NaN of those by a model."""
    found = predict_together(batches, (at,))
    spans = found.high / np.where(found.by_model, np.nan, found.low)
    return np.where(found.by_model, np.nan, found.predicted), spans


def _measured(batches: Sequence[KernelModels], point: float) -> NDArray[np.float64]:
    return np.concatenate([batch.measured((point,)) for batch in batches])
