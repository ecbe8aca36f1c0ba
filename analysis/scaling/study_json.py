"""Studies as JSON, version 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any

from msgspec import UNSET, UnsetType

from hindmost.analysis.scaling.expected_growth import UnexpectedGrowth
from hindmost.analysis.scaling.study import KernelAtTarget, ScalingStudy
from hindmost.models.inference import LEVEL
from hindmost.models.pmnf.model import ScalingModel


def study_json(
    study: ScalingStudy, findings: Sequence[UnexpectedGrowth] = (), *, top: int | None = None
) -> dict[str, Any]:
    """Return a study for ``hindmost scale --json``.

    Parameters
    ----------
    top : int, optional
        Kernels of each metric; all by default.
    """
    target = study.target
    return {
        "version": 1,
        "source": study.experiment.source,
        "parameters": target.parameters,
        "method": study.options.method,
        "space": study.options.chosen_space,
        "target": dict(zip(target.parameters, target.at, strict=True)),
        "largest": dict(zip(target.parameters, target.largest, strict=True)),
        "level": LEVEL,
        "values_include_callees": {metric.metric: metric.inclusive for metric in study.metrics},
        "measure_next": [
            {
                "metric": metric.metric,
                "at": dict(zip(target.parameters, metric.next.at, strict=True)),
                "cost": metric.next.cost,
            }
            for metric in study.metrics
            if metric.next is not None
        ],
        "models": [
            KernelEntry(standing)
            for metric in study.metrics
            for standing in metric.at_target(metric.order[:top])
        ],
        "held_out": [
            {
                "metric": metric.metric,
                "kernels": len(batch),
                "points": batch.held_out.points,
                "median_error": batch.held_out.median,
                "far_error": batch.held_out.far,
                "within": batch.held_out.within,
                "wider": batch.held_out.wider,
                "wider_by_parameter": batch.held_out.wider_by_parameter,
            }
            for metric in study.metrics
            for batch in metric.batches
            if batch.held_out is not None
        ],
        "findings": findings,
        "warnings": study.warnings,
    }


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """Where the behaviour changes."""

    range: tuple[float, float]
    likely: tuple[float, float]
    parameter: str


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a model fits."""

    of: ScalingModel

    JSON = "smape=of.smape largest_factor_off adjusted_r2=of.adjusted_r2 misfit=of.misfit"

    def largest_factor_off(self) -> float | None:
        """Return by what factor the function is off at its worst point; null if below 0."""
        worst = self.of.largest_miss
        return worst if isfinite(worst) else None


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A function of the parameters; without one if a segment has too few points."""

    of: ScalingModel | None
    points: int | UnsetType = UNSET
    provisional: bool | UnsetType = UNSET
    ends: tuple[float, float] | None = None

    JSON = "range expression=of.expression constant terms scores points provisional"

    def range(self) -> Any:
        """Return the ends of the segment, or the range of each parameter."""
        if self.ends is not None or self.of is None:
            return self.ends
        return self.of.range if len(self.of.parameters) > 1 else self.of.range[0]

    def constant(self) -> float | UnsetType:
        """Return the constant of the function."""
        return UNSET if self.of is None else self.of.form.constant

    def terms(self) -> list[TermEntry]:
        """Return the terms of the function."""
        if self.of is None:
            return []
        form, names = self.of.form, self.of.parameters
        return [
            TermEntry(
                coefficient,
                {
                    name: (float(power), float(of_logarithm))
                    for name, (power, of_logarithm) in zip(names, term.exponents, strict=True)
                },
            )
            for coefficient, term in zip(form.coefficients, form.terms, strict=True)
        ]

    def scores(self) -> Scores | None:
        """Return how well it fits."""
        return None if self.of is None else Scores(self.of)


@dataclass(frozen=True, slots=True)
class TermEntry:
    """A coefficient, and for each parameter the exponents of it and of its logarithm."""

    coefficient: float
    exponents: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """An alternative function, and by how much its criterion is worse."""

    expression: str
    behind: float


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """What a prediction comes from, and its weight."""

    source: str
    weight: float


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """One metric of one kernel, modelled."""

    of: KernelAtTarget

    JSON = (
        "kernel=of.series.kernel metric=of.series.metric "
        "unit=of.series.unit segmented=of.kernel.segmentation.segmented "
        "verdict=of.kernel.segmentation.verdict "
        "change changes segments whole scores predicted=of.predicted interval prediction_from "
        "share=of.share growth=of.growth growth_interval grows span_then "
        "noise=of.kernel.whole.noise windows runners_up explanation=of.kernel.explain "
        "doubts=of.doubts advice=of.kernel.advice"
    )

    @property
    def model(self) -> ScalingModel:
        """The model at the target."""
        return self.of.kernel.model_at(self.of.target.at)

    def changes(self) -> list[ChangeEntry]:
        """Return where the behaviour changes."""
        kernel = self.of.kernel
        return [
            ChangeEntry((change.low, change.high), change.likely, kernel.parameter)
            for change in kernel.changes
        ]

    def change(self) -> tuple[float, float] | None:
        """Return the first of them."""
        return self.changes()[0].range if self.of.kernel.changes else None

    def segments(self) -> list[ModelEntry]:
        """Return every segment with its model."""
        return [
            ModelEntry(
                segment.model,
                segment.points,
                segment.model is None or segment.provisional,
                None if self.of.kernel.named else (segment.low, segment.high),
            )
            for segment in self.of.kernel.segments
        ]

    def whole(self) -> ModelEntry:
        """Return the function over all points."""
        return ModelEntry(self.of.kernel.whole)

    def scores(self) -> Scores:
        """Return how well the kernel's model fits."""
        return Scores(self.model)

    def interval(self) -> tuple[float, float] | None:
        """Return the ends of the interval of the prediction, if there is one."""
        return None if isnan(self.of.low) else (self.of.low, self.of.high)

    def growth_interval(self) -> tuple[float, float] | None:
        """Return the ends of the interval over the value at the largest measured point."""
        low, high = self.of.growth_interval
        return None if isnan(low) else (low, high)

    def span_then(self) -> float | None:
        """Return high over low end of the interval once the next point is measured."""
        return None if isnan(self.of.span_then) else self.of.span_then

    def grows(self) -> bool:
        """Return whether the interval includes growth only; such kernels come first."""
        return self.of.growth_interval[0] > 1.0

    def prediction_from(self) -> list[SourceEntry]:
        """Return what the prediction comes from."""
        return [SourceEntry(*source) for source in self.of.sources]

    def windows(self) -> dict[str, Any] | None:
        """Return the windows of the paper's rule; None by likelihood."""
        found = self.of.kernel.segmentation
        if not found.window_errors:
            return None
        return {"nrss": found.window_errors, "pattern": found.pattern}

    def runners_up(self) -> list[RunnerUp]:
        """Return alternatives to the function."""
        return [RunnerUp(*alternative) for alternative in self.model.alternatives()]
