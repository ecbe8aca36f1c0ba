"""Studies as JSON, version 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hindmost.analysis.scaling.expected_growth import UnexpectedGrowth
from hindmost.analysis.scaling.kernel import KernelScaling, model_choices
from hindmost.analysis.scaling.study import LEVEL, KernelAtTarget, MetricStudy, ScalingStudy
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.noise import Noise
from hindmost.models.pmnf.segments.fit import Segment

JSON_VERSION = 1


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
        "version": JSON_VERSION,
        "source": study.experiment.source,
        "parameters": list(target.parameters),
        "method": study.options.method,
        "space": study.options.chosen_space,
        "target": dict(zip(target.parameters, target.at, strict=True)),
        "largest": dict(zip(target.parameters, target.largest, strict=True)),
        "level": LEVEL,
        "models": [
            _kernel(standing, metric)
            for metric in study.metrics
            for standing in metric.at_target(metric.order[:top])
        ],
        "held_out": [
            {
                "metric": metric.metric,
                "kernels": len(batch.series),
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
        "findings": [_finding(each, study) for each in findings],
        "warnings": list(study.warnings),
    }


def _kernel(standing: KernelAtTarget, metric: MetricStudy) -> dict[str, Any]:
    """Return one kernel."""
    kernel = standing.kernel
    model = kernel.model_at(metric.target.at)
    changes = [
        {
            "range": [each.low, each.high],
            "likely": list(each.likely),
            "parameter": kernel.joint.parameter if kernel.joint else kernel.whole.parameters[0],
        }
        for each in kernel.changes
    ]
    return {
        "kernel": kernel.series.kernel,
        "metric": kernel.series.metric,
        "unit": kernel.series.unit,
        "segmented": kernel.segmented,
        "verdict": str(kernel.verdict),
        "change": changes[0]["range"] if changes else None,
        "changes": changes,
        "segments": _segments(kernel),
        "whole": _model(kernel.whole),
        "scores": _scores(kernel.whole if len(kernel.segments) < 2 else model),
        "predicted": standing.predicted,
        "interval": [standing.low, standing.high],
        "prediction_from": [
            {"source": name, "weight": weight} for name, weight in standing.source.weights
        ],
        "model_predicts": standing.explained,
        "disagreement": standing.disagreement() or None,
        "share": standing.share,
        "growth": standing.growth,
        "noise": _noise(kernel.whole.noise),
        "windows": _windows(kernel),
        "runners_up": _runners_up(model),
        "explanation": kernel.explain(),
        "doubts": standing.doubts(metric.target),
        "advice": kernel.advice(),
    }


def _windows(kernel: KernelScaling) -> dict[str, Any] | None:
    """Return the windows of the paper's rule; None by likelihood."""
    if kernel.model is None or not kernel.model.segmentation.window_errors:
        return None
    told = kernel.model.segmentation
    return {"nrss": list(told.window_errors), "pattern": told.pattern}


def _segments(kernel: KernelScaling) -> list[dict[str, Any]]:
    """Return every segment with its model; without segments the whole."""
    if not kernel.segments:
        return [_model(kernel.whole)]
    if kernel.joint:
        return [
            {**_model(side), "points": side.values.size, "provisional": False}
            for side in kernel.joint.sides
        ]
    return [_segment(each) for each in kernel.segments]


def _segment(segment: Segment) -> dict[str, Any]:
    """Return a segment; without a model if its points are too few for one."""
    told = {"range": [segment.low, segment.high], "points": segment.points}
    if segment.model is None:
        return {**told, "expression": None, "terms": [], "scores": None, "provisional": True}
    return {
        **_model(segment.model),
        **told,
        "provisional": segment.provisional,
    }


def _model(model: ScalingModel) -> dict[str, Any]:
    return {**model.to_json(), "scores": _scores(model)}


def _scores(model: ScalingModel) -> dict[str, Any]:
    """Return how well a model fits; the misfit is null where it fits, or nothing was repeated."""
    found = model.misfit
    return {
        "smape": model.smape,
        "adjusted_r2": model.adjusted_r2,
        "misfit": found
        and {"at": list(found.at), "off": found.off, "standard_errors": found.ratio},
    }


def _noise(noise: Noise) -> dict[str, Any]:
    return {"kind": str(noise.kind), "known": noise.known, "source": noise.source}


def _runners_up(model: ScalingModel) -> list[dict[str, Any]]:
    """Return alternatives to the function, and by how much their criterion is worse."""
    return [
        {"expression": expression, "behind": behind} for expression, behind in model_choices(model)
    ]


def _finding(finding: UnexpectedGrowth, study: ScalingStudy) -> dict[str, Any]:
    """Return a kernel that grows worse than expected."""
    standing = finding.standing
    return {
        "kernel": standing.kernel.series.kernel,
        "metric": standing.kernel.series.metric,
        "expected": finding.expectation.formula.text,
        "found": standing.kernel.model_at(study.target.at).expression(),
        "parameters": list(finding.parameters),
        "expected_growth": finding.expectation.factor,
        "growth": standing.growth,
        "growth_at_least": finding.low_growth,
        "text": finding.explain(study.target),
    }
