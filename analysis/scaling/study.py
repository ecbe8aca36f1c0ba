"""The study of an experiment: every series modelled, and ranked by how it grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import Experiment, KernelSeries
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import IN_SECONDS
from hindmost.analysis.scaling.batches import ScalingOptions, fit_batch, group_series
from hindmost.analysis.scaling.next_point import BUDGET, NextPoint, next_point
from hindmost.analysis.scaling.target import TargetScale, choose_target
from hindmost.errors import DataError
from hindmost.executors import Executor, ThisProcess
from hindmost.models.pmnf.forecast.kernels import Predictions
from hindmost.models.pmnf.kernels import KernelModel, KernelModels, predict_together
from hindmost.models.pmnf.observations import MIN_POINTS
from hindmost.models.pmnf.segments.segmentation import beyond, listed
from hindmost.text import counted, percent, quantity

MAX_POINTS = 1000
"""Of a series: the search for segments tries a model at every point of it."""
WIDEST = 1000.0
"""High end of an interval over its low end, above which the interval says next to nothing."""
MISSED = 2.0
"""Factor by which a kernel's last point would have been missed, from which it is said."""
SIGNIFICANT_SHARE = 0.01
"""Share of the total from which a kernel is worth looking at ..."""
OF_EVEN_SHARE = 0.1
"""... or, of many kernels, this part of what each would have if all were alike."""
MIN_NAMED = 0.1
"""Weight from which a source of a prediction is named."""
OF_MODEL = "the model"
"""Where predictions come from among the measured points, over several parameters, and with the
method of Extra-P."""
SCATTER = 0.05
"""Share by which a call path may exceed its caller by chance."""
NARROW = 0.25
"""Range of the points, over the way from the largest to the target, both as logarithms; below it
next to nothing is known of the growth that is extrapolated."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelAtTarget:
    """A kernel at the target scale.

    Attributes
    ----------
    series : KernelSeries
    kernel : KernelModel
    target : TargetScale
    predicted, low, high : float
        At the target, in the metric's unit; a new measurement there lies between low and high at
        90 %. NaN without an interval. The width beyond the points is of `interval_widths` of
        `hindmost.models.pmnf.forecast.kernels`, within them of `KernelModel.interval`.
    weights : tuple of (str, float)
        What was weighed and joined to foretell it, the largest weight first; empty if the model
        predicts.
    missed : float
        Factor by which the last measured point, foretold in this way, would have been missed.
    share : float
        Of the sum of the predictions of all kernels, or of those without a caller.
    growth : float
        Predicted at the target over the value at the largest measured point: what was measured
        there if the prediction continues that, what the model says if the model predicts.
    span_then : float
        High over low end of the interval that is expected once the next point is measured; NaN
        where none is proposed.
    """

    series: KernelSeries
    kernel: KernelModel
    target: TargetScale
    predicted: float
    low: float
    high: float
    weights: tuple[tuple[str, float], ...]
    missed: float
    share: float
    growth: float
    span_then: float = math.nan

    @property
    def growth_interval(self) -> tuple[float, float]:
        """The ends of the interval over the value at the largest point; NaN without an interval."""
        before = self.predicted / self.growth if self.growth > 0.0 else math.nan
        return self.low / before, self.high / before

    @property
    def sources(self) -> tuple[tuple[str, float], ...]:
        """Where the prediction comes from, with weights of sum 1."""
        return self.weights or ((OF_MODEL, 1.0),)

    def interval(self) -> str:
        """Write the interval."""
        if math.isnan(self.low):
            return "none"
        return " to ".join(quantity(each, self.series.unit) for each in (self.low, self.high))

    def source(self) -> str:
        """Name the sources that matter."""
        named = [source for source in self.sources if source[1] >= MIN_NAMED]
        return ", ".join(f"{name} ({percent(weight, 0)})" for name, weight in named)

    def doubts(self) -> list[str]:
        """Say what makes the prediction doubtful; empty if nothing does."""
        found, target = [], self.target
        if not self.kernel.unexplained(target.at):
            found = self.kernel.model_at(target.at).doubts()
        found += [value for value in self.kernel.whole.lone_values() if value not in found]
        if self.missed > MISSED:
            found.append(
                "predicted in the same way from the points before it, the last point would be off "
                f"by a factor of {self.missed:.2g}: the target may be as well"
            )
        ahead = max(at / largest for at, largest in zip(target.at, target.largest, strict=True))
        if self.predicted <= 0.0 < self.kernel.whole.values.max():
            found.append(f"the model is not above 0 at {target.explain()}: too far to extrapolate")
        if math.isnan(self.low):
            from hindmost.models.pmnf.several.averaging import lacking_together

            found.append(
                "no interval: the points lie on lines, and too few of them show how "
                f"{' and '.join(target.parameters)} act together; measure "
                f"{lacking_together(self.kernel.model_at(target.at).points)} more at which two of "
                "them or more are large"
            )
        low = max(self.low, 0.0)
        if self.high > WIDEST * (low or abs(self.predicted)):
            found.append(
                f"the interval spans a factor of more than {WIDEST:g}: the target is {ahead:.3g} "
                "times the largest point; measure nearer to it"
            )
        points = self.series.points
        for name, at, own in zip(target.parameters, target.at, points.T, strict=True):
            least, most = float(own.min()), float(own.max())
            if at > most and math.log(most / least) < NARROW * math.log(at / most):
                found.append(
                    f"the points span a factor of {most / least:.3g} in {name}, and the target is "
                    f"{at / most:.3g} times the largest: the interval may be too narrow; measure "
                    "over a wider range"
                )
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricStudy:
    """All kernels by one metric; arrays contain the kernels of one batch after the other.

    Attributes
    ----------
    metric, unit : str
    series : tuple of KernelSeries
    batches : tuple of KernelModels
        Kernels that were measured at the same points are in one batch.
    target : TargetScale
    predictions : Predictions
        At the target; beyond the points by `hindmost.models.pmnf.forecast.kernels`.
    growth : float64 array, shape (kernel,)
        From the largest measured point to the target; NaN where a model is not above 0
        at either.
    share : float64 array, shape (kernel,)
        Of the sum of all predictions at the target.
    order : int array, shape (kernel,)
        Numbers of the kernels, the worst growth first.
    inclusive : bool
        Whether the values of a call path include its callees; shares are then of the kernels
        without a caller.
    next : NextPoint or None
        Where to measure next.
    """

    metric: str
    unit: str
    series: tuple[KernelSeries, ...]
    batches: tuple[KernelModels, ...]
    target: TargetScale
    predictions: Predictions
    growth: NDArray[np.float64]
    share: NDArray[np.float64]
    order: NDArray[np.intp]
    inclusive: bool = False
    next: NextPoint | None = None

    def __len__(self) -> int:
        return int(self.order.size)

    @property
    def predicted(self) -> NDArray[np.float64]:
        """The predictions at the target: shape (kernel,)."""
        return self.predictions.predicted

    def kernel(self, number: int) -> KernelModel:
        """Return a kernel's models by its number."""
        for batch in self.batches:
            if number < len(batch):
                return batch[number]
            number -= len(batch)
        raise IndexError(number)

    def at_target(self, numbers: NDArray[np.intp]) -> list[KernelAtTarget]:
        """Return some kernels at the target, in the order of their numbers."""
        found, said = [], self.predictions
        for number in numbers.tolist():
            found.append(
                KernelAtTarget(
                    series=self.series[number],
                    kernel=self.kernel(number),
                    target=self.target,
                    predicted=float(self.predicted[number]),
                    low=float(said.low[number]),
                    high=float(said.high[number]),
                    weights=said.sources(number),
                    missed=float(said.missed[number]),
                    share=float(self.share[number]),
                    growth=float(self.growth[number]),
                    span_then=float(self.next.then[number]) if self.next else math.nan,
                )
            )
        return found

    def where_next(self) -> str:
        """Say where to measure next, for the kernel of the widest interval; empty if nowhere."""
        if self.next is None:
            return ""
        width = np.nan_to_num(self.predictions.high - self.predictions.low)
        widest = int(np.where(np.isfinite(self.next.then), width, -1.0).argmax())
        return self.next.explain(self.names()[widest], widest, self.target)

    def names(self) -> list[str]:
        """Return the kernels, batch after batch."""
        return [series.kernel for series in self.series]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScalingStudy:
    """All metrics of an experiment.

    Attributes
    ----------
    experiment : Experiment
    options : ScalingOptions
    target : TargetScale
    metrics : tuple of MetricStudy
    warnings : tuple of str
        What was left out, and what to measure: a sentence each.
    """

    experiment: Experiment
    options: ScalingOptions
    target: TargetScale
    metrics: tuple[MetricStudy, ...]
    warnings: tuple[str, ...]


def study_scaling(
    experiment: Experiment,
    options: ScalingOptions | None = None,
    *,
    at: str | None = None,
    budget: float = BUDGET,
    executor: Executor | None = None,
) -> ScalingStudy:
    """Model every series of an experiment.

    Parameters
    ----------
    experiment : Experiment
    options : ScalingOptions, optional
    at : str, optional
        The target scale, as `choose_target` reads it.
    budget : float
        What the point to measure next may cost, over the cost of all points.
    executor : Executor, optional
        Models kernels, those of one metric and the same points together.

    Raises
    ------
    DataError
        No series has enough points.
    UsageError
        Options or a target do not exist.
    """
    options = options or ScalingOptions()
    remarks = Remarks()
    enough = [series for series in experiment.series if _has_enough(series, experiment, remarks)]
    enough = _with_values_enough(enough, experiment, remarks)
    warnings = (*experiment.warnings, *remarks.sentences())
    if not enough:
        raise DataError(
            f"{experiment.source}: no kernel has the {MIN_POINTS} to {MAX_POINTS:,} points of "
            "a model. " + " ".join(warnings)
        )
    target = choose_target(at, experiment.parameters, [series.points for series in enough])
    metrics = []
    for metric in dict.fromkeys(series.metric for series in enough):
        series = [each for each in enough if each.metric == metric]
        groups = group_series(series, complete=options.method == "paper")
        fit = partial(fit_batch, parameters=experiment.parameters, options=options)
        batches = tuple((executor or ThisProcess()).map(fit, groups))
        metrics.append(
            _by_metric(
                [each for group in groups for each in group],
                batches,
                target,
                experiment.inclusive,
                budget,
            )
        )
    return ScalingStudy(
        experiment=experiment,
        options=options,
        target=target,
        metrics=tuple(metrics),
        warnings=warnings,
    )


def _by_metric(
    series: Sequence[KernelSeries],
    batches: tuple[KernelModels, ...],
    target: TargetScale,
    inclusive: bool | None,
    budget: float,
) -> MetricStudy:
    """Compare all kernels at the target."""
    metric, unit = series[0].metric, series[0].unit
    predictions = predict_together(batches, target.at)
    predicted = predictions.predicted
    largest = np.concatenate([batch.evaluate(target.largest) for batch in batches])
    # What is continued goes on from the measured value; a model need not fit there.
    measured = np.concatenate([batch.measured(target.largest) for batch in batches])
    continued = ~predictions.by_model & np.isfinite(measured)
    largest = np.where(continued, measured, largest)
    growth, grown = np.full((2, largest.size), np.nan)
    np.divide(predicted, largest, out=growth, where=(largest > 0.0) & (predicted > 0.0))
    np.divide(predictions.low, largest, out=grown, where=largest > 0.0)
    callers = callers_of(series)
    if inclusive is None:
        inclusive = _includes_callees(callers, series)
    root = np.array([caller is None or not inclusive for caller in callers])
    above = np.maximum(predicted, 0.0)
    share = above / max(float(above[root].sum()), np.finfo(float).tiny)
    return MetricStudy(
        metric=metric,
        unit=unit,
        series=tuple(series),
        batches=batches,
        target=target,
        predictions=predictions,
        growth=growth,
        share=share,
        order=rank(growth, grown, share),
        inclusive=not root.all(),
        next=next_point(batches, target, root, budget=budget) if is_time(metric, unit) else None,
    )


def is_time(metric: str, unit: str) -> bool:
    """Tell whether a metric costs what it measures; some formats give no unit."""
    return unit.lower() in IN_SECONDS or (not unit and "time" in metric.lower())


def callers_of(series: Sequence[KernelSeries]) -> list[int | None]:
    """Return the number of each kernel's nearest caller among them; None if it has none.

    Call paths are written ``main->compute``; what follows a comma, as in ``main, n = 400``, tells
    kernels of one name apart.
    """
    numbers = {each.kernel: number for number, each in enumerate(series)}
    callers: list[int | None] = []
    for each in series:
        path, comma, rest = each.kernel.partition(", ")
        caller = None
        while caller is None and "->" in path:
            path = path.rpartition("->")[0]
            caller = numbers.get(path + comma + rest)
        callers.append(caller)
    return callers


def _includes_callees(callers: Sequence[int | None], series: Sequence[KernelSeries]) -> bool:
    """Tell whether no call path was measured to have more than its nearest caller."""
    if not any(caller is not None for caller in callers):
        return False
    medians = [
        dict(zip(map(tuple, each.points.tolist()), np.nanmedian(each.values, axis=1), strict=True))
        for each in series
    ]
    return all(
        value <= (1.0 + SCATTER) * medians[caller].get(point, np.inf)
        for own, caller in zip(medians, callers, strict=True)
        if caller is not None
        for point, value in own.items()
    )


def rank(
    growth: NDArray[np.float64], grown: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the numbers of the kernels, the worst first.

    First come those that are shown to grow, by how much they grow at least. Among them growth alone
    would put first what is next to nothing, so kernels with a share worth looking at come first,
    the steepest of them at the top. Of two that grow alike, the larger one. Those whose interval
    includes no growth follow in the same order, by the growth that is predicted.

    Parameters
    ----------
    growth, grown : float64 array, shape (kernel,)
        From the largest measured point to the target, predicted and at least; NaN counts as none.
    share : float64 array, shape (kernel,)
        Of the total at the target.
    """
    matters = share >= min(SIGNIFICANT_SHARE, OF_EVEN_SHARE / max(share.size, 1))
    shown = grown > 1.0
    steep = np.where(shown, grown, growth)
    steep = np.where(steep > 0.0, steep, 1e-300)  # NaN as well
    return np.asarray(
        np.lexsort((-share, -np.round(np.log10(steep), 2), ~matters, ~shown)), np.intp
    )


def _has_enough(series: KernelSeries, experiment: Experiment, remarks: Remarks) -> bool:
    """Tell whether a series can be modelled; if not, remark on what to change."""
    if len(series.points) > MAX_POINTS:
        remarks.add(
            "series of too many points",
            f"{series.kernel} ({series.metric}) has {len(series.points):,} points, and at most "
            f"{MAX_POINTS:,} are modelled; left out. Use fewer points, or means over neighbours.",
        )
        return False
    lacking = MIN_POINTS - len(series.points)
    if lacking <= 0:
        return True
    remedy = f"measure {counted(lacking, 'more point')}"
    if len(experiment.parameters) == 1:
        more = beyond(series.points[:, 0], lacking)
        remedy = f"measure {listed(more, experiment.parameters[0])}"
    remarks.add(
        "series of too few points",
        f"{series.kernel} ({series.metric}) has {counted(len(series.points), 'point')}, and a "
        f"model needs {MIN_POINTS}; left out; {remedy}.",
    )
    return False


def _with_values_enough(
    series: Sequence[KernelSeries], experiment: Experiment, remarks: Remarks
) -> list[KernelSeries]:
    """Leave out series that lack values of a parameter of which others have enough."""
    counts = [[np.unique(column).size for column in each.points.T] for each in series]
    if len(experiment.parameters) == 1 or all(min(count) < MIN_POINTS for count in counts):
        return list(series)
    for each, found in zip(series, counts, strict=True):
        if min(found) < MIN_POINTS:
            parameter = experiment.parameters[int(np.argmin(found))]
            remarks.add(
                "series of too few values of a parameter",
                f"{each.kernel} ({each.metric}) has {counted(min(found), 'value')} of {parameter}, "
                f"and a model needs {MIN_POINTS}; left out; measure at "
                f"{MIN_POINTS - min(found)} more.",
            )
    return [each for each, found in zip(series, counts, strict=True) if min(found) >= MIN_POINTS]
