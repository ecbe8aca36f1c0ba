"""The study of an experiment: every series modelled, and ranked by how it grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import Experiment, Series
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.scaling.batches import Batch, fit_batch, group_series
from hindmost.analysis.scaling.kernel import KernelScaling
from hindmost.analysis.scaling.options import ScalingOptions
from hindmost.analysis.scaling.ranking import rank
from hindmost.analysis.scaling.target import Target, choose_target
from hindmost.errors import DataError
from hindmost.models.pmnf.observations import LEAST_POINTS
from hindmost.models.pmnf.segments.advice import beyond, listed

LEVEL = 0.9
"""Of all intervals."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """A kernel at the target scale.

    Attributes
    ----------
    kernel : KernelScaling
    predicted, low, high : float
        At the target, in the metric's unit; a new measurement there lies between low and high at
        90 %. What is measured is above 0, and so are they cut off there.
    share : float
        Of the sum of all kernels' predictions.
    growth : float
        Predicted at the target over predicted at the largest measured point.
    """

    kernel: KernelScaling
    predicted: float
    low: float
    high: float
    share: float
    growth: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricStudy:
    """All kernels by one metric; arrays hold batch after batch.

    Attributes
    ----------
    metric, unit : str
    batches : tuple of Batch
    target : Target
    predicted : float64 array, shape (kernel,)
        At the target.
    growth : float64 array, shape (kernel,)
        From the largest measured point to the target; NaN where a model is not above 0 there.
    share : float64 array, shape (kernel,)
        Of the sum of all predictions at the target.
    order : int array, shape (kernel,)
        Numbers of the kernels, the worst growth first.
    """

    metric: str
    unit: str
    batches: tuple[Batch, ...]
    target: Target
    predicted: NDArray[np.float64]
    growth: NDArray[np.float64]
    share: NDArray[np.float64]
    order: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.order.size)

    def standings(self, numbers: NDArray[np.intp]) -> list[Standing]:
        """Return some kernels at the target, in the order of their numbers."""
        found: dict[int, Standing] = {}
        first = 0
        for batch in self.batches:
            own = numbers[(numbers >= first) & (numbers < first + len(batch.series))]
            low, high = batch.interval(self.target.at, own - first, LEVEL)
            for at, number in enumerate(own.tolist()):
                found[number] = Standing(
                    kernel=batch[number - first],
                    predicted=float(self.predicted[number]),
                    low=max(float(low[at]), 0.0),
                    high=max(float(high[at]), 0.0),
                    share=float(self.share[number]),
                    growth=float(self.growth[number]),
                )
            first += len(batch.series)
        return [found[number] for number in numbers.tolist()]

    def kernels(self, numbers: NDArray[np.intp]) -> list[KernelScaling]:
        """Return some kernels, in the order of their numbers, without their intervals."""
        found: dict[int, KernelScaling] = {}
        first = 0
        for batch in self.batches:
            last = first + len(batch.series)
            own = [number for number in numbers.tolist() if first <= number < last]
            found |= {number: batch[number - first] for number in own}
            first = last
        return [found[number] for number in numbers.tolist()]

    def names(self) -> list[str]:
        """Return the kernels, batch after batch."""
        return [series.kernel for batch in self.batches for series in batch.series]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """All metrics of an experiment.

    Attributes
    ----------
    experiment : Experiment
    options : ScalingOptions
    target : Target
    metrics : tuple of MetricStudy
    warnings : tuple of str
        What was left out, and what to measure: a sentence each.
    """

    experiment: Experiment
    options: ScalingOptions
    target: Target
    metrics: tuple[MetricStudy, ...]
    warnings: tuple[str, ...]


def study_scaling(
    experiment: Experiment, options: ScalingOptions | None = None, *, at: str | None = None
) -> Study:
    """Model every series of an experiment.

    Parameters
    ----------
    experiment : Experiment
    options : ScalingOptions, optional
    at : str, optional
        The target scale, as `choose_target` reads it.

    Raises
    ------
    DataError
        No series has enough points.
    UsageError
        Options or a target that there are not.
    """
    options = options or ScalingOptions()
    remarks = Remarks()
    enough = [series for series in experiment.series if _has_enough(series, experiment, remarks)]
    warnings = (*experiment.warnings, *remarks.sentences())
    if not enough:
        raise DataError(
            f"{experiment.source}: no kernel has the {LEAST_POINTS} points that a model needs. "
            + " ".join(warnings)
        )
    target = choose_target(at, experiment.parameters, [series.points for series in enough])
    metrics = []
    for metric in dict.fromkeys(series.metric for series in enough):
        series = [each for each in enough if each.metric == metric]
        groups = group_series(series, complete=options.method == "paper")
        batches = tuple(fit_batch(each, experiment.parameters, options) for each in groups)
        metrics.append(_by_metric(metric, series[0].unit, batches, target))
    return Study(
        experiment=experiment,
        options=options,
        target=target,
        metrics=tuple(metrics),
        warnings=warnings,
    )


def _by_metric(metric: str, unit: str, batches: tuple[Batch, ...], target: Target) -> MetricStudy:
    """Hold all kernels against each other at the target."""
    predicted = np.concatenate([batch.predict(target.at) for batch in batches])
    largest = np.concatenate([batch.predict(target.largest) for batch in batches])
    growth = np.full(largest.size, np.nan)
    np.divide(predicted, largest, out=growth, where=largest > 0.0)
    above = np.maximum(predicted, 0.0)
    share = above / max(float(above.sum()), np.finfo(float).tiny)
    return MetricStudy(
        metric=metric,
        unit=unit,
        batches=batches,
        target=target,
        predicted=predicted,
        growth=growth,
        share=share,
        order=rank(growth, share),
    )


def _has_enough(series: Series, experiment: Experiment, remarks: Remarks) -> bool:
    """Say whether a series has enough points for a model; if not, remark on what is missing."""
    lacking = LEAST_POINTS - len(series.points)
    if lacking <= 0:
        return True
    remedy = f"measure {lacking} more points"
    if len(experiment.parameters) == 1:
        more = beyond(series.points[:, 0], lacking)
        remedy = f"measure {listed(more, experiment.parameters[0])}"
    remarks.add(
        "series of too few points",
        f"{series.kernel} ({series.metric}) has {_points(len(series.points))}, and a model needs "
        f"{LEAST_POINTS}; left out: {remedy}.",
    )
    return False


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"
