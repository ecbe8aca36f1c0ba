"""The table of a scaling study, and the sentences below it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.analysis.scaling.study import KernelAtTarget, MetricStudy
from hindmost.analysis.show.table import NAME, RIGHT, WIDE, Column, Table
from hindmost.models.pmnf.kernels import OPEN, KernelModel
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.noise import MIN_POOLED, MIN_REPETITIONS, Noise
from hindmost.models.pmnf.segments.segmentation import SegmentVerdict
from hindmost.text import counted, factor, percent, quantity

LONGEST_NAME = 36
MAX_KERNELS = 6
"""Kernels whose segments and open questions are described."""

UNSETTLED = {
    SegmentVerdict.OPEN: "a change is possible, but not significant",
    SegmentVerdict.TOO_FEW: "too few points to search for a change",
}
"""How a verdict that is no result reads."""

LEGEND = """\
predicted: beyond the points by what best predicted the last ones, else by the model. growth: from
the largest measured point; ? where the interval includes neither growth nor fall for sure. worst:
by what factor the model is off at its worst point. Shown growth comes first, the steepest first."""

SHARES = {
    False: "share: of the sum of all kernels at the target.",
    True: "share: of the kernels without a caller, since the values of a call path include its "
    "callees.",
}
"""By whether values include callees."""


def shortened(name: str) -> str:
    """Write a call path that fits a column: its beginning and more of its end."""
    if len(name) <= LONGEST_NAME:
        return name
    begin = LONGEST_NAME // 4
    return f"{name[:begin]}…{name[begin + 1 - LONGEST_NAME :]}"


def scaling_table(metric: MetricStudy, standings: Sequence[KernelAtTarget]) -> Table:
    """Make the table of one metric, for a terminal and a page."""
    left = len(metric) - len(standings)
    more = f"{counted(left, 'more kernel')}: 'hindmost scale --top {len(metric)}' shows all."
    heads = ("predicted", "90 % interval", "share", "growth", "SMAPE", "worst", "adj. R2")
    return Table(
        columns=(
            Column("kernel", NAME),
            *(Column(head, RIGHT) for head in heads),
            Column("model", WIDE),
        ),
        rows=[_cells(metric, standing) for standing in standings],
        notes=(more,) if left > 0 else (),
    )


def _cells(metric: MetricStudy, standing: KernelAtTarget) -> list[str]:
    """Return the row of a kernel."""
    at = metric.target.at
    model = None if standing.kernel.unexplained(at) else standing.kernel.model_at(at)
    return [
        standing.series.kernel,
        quantity(standing.predicted, metric.unit),
        standing.interval(),
        percent(standing.share),
        growth_text(standing) or "unknown",
        percent(model.smape / 100.0) if model else "",
        f"{factor(model.largest_miss)}x" if model else "",
        f"{model.adjusted_r2:.4f}" if model else "",
        models_text(standing.kernel, at),
    ]


def growth_text(standing: KernelAtTarget) -> str:
    """Write a growth as a factor, with a question mark if the interval includes none."""
    if not math.isfinite(standing.growth):
        return ""
    low, high = standing.growth_interval
    return f"{factor(standing.growth)}x{'' if low > 1.0 or high < 1.0 else '?'}"


def models_text(kernel: KernelModel, at: tuple[float, ...]) -> str:
    """Write the model that is valid at the target; of several segments all, in order."""
    if len(kernel.segments) < 2:
        return _function(kernel.model_at(at))
    return "; ".join(
        f"{_function(each.model) if each.model else 'no model'}, {_stretch(kernel, number)}"
        for number, each in enumerate(kernel.segments)
    )


def _function(model: ScalingModel) -> str:
    """Write a function, and whether it fits."""
    return f"{model.expression()}{' (does not fit)' if model.misfit else ''}"


def _stretch(kernel: KernelModel, number: int) -> str:
    """Return the range of a segment; the outer ones are open."""
    segment = kernel.segments[number]
    of = f"{kernel.parameter} " if kernel.named else ""
    if number == 0:
        return f"{of}to {segment.high:g}"
    if number == len(kernel.segments) - 1:
        return f"{of}from {segment.low:g}"
    return f"{of}{segment.low:g} to {segment.high:g}"


def kernel_lines(metric: MetricStudy, standings: Sequence[KernelAtTarget]) -> list[str]:
    """Return a line for every kernel that is segmented or open, and what would settle it."""
    lines = []
    for standing in standings:
        kernel = standing.kernel
        parts = []
        if kernel.segmentation.segmented:
            places = kernel.places()
            parts.append(f"changes {places}" if places else "segmented, at an unknown place")
            parts += [
                f"only {segment.points} points from {segment.low:g} to {segment.high:g}: "
                f"{'a provisional' if segment.model else 'no'} model"
                for segment in kernel.segments
                if segment.provisional
            ]
        elif kernel.segmentation.verdict is not SegmentVerdict.ONE:
            parts.append(UNSETTLED[kernel.segmentation.verdict])
        if standing.weights and kernel.unexplained(metric.target.at):
            parts.append(f"predicted from {standing.source()}")
        model = kernel.model_at(metric.target.at)
        if kernel.is_open(metric.target.at) and not model.misfit:
            also = [text for text, behind in model.alternatives() if behind < OPEN]
            parts.append(f"as good: {', or '.join(also)}")
        parts += standing.doubts()
        if kernel.advice():
            parts.append(kernel.advice())
        found = kernel.segmentation
        if found.window_errors:
            errors = " ".join(f"{error:.3f}" for error in found.window_errors)
            parts.append(f"windows of five points: nRSS {errors}, pattern {found.pattern}")
            if found.segmented:
                parts[-1] += f". One model of all points: {kernel.whole.expression()}"
        if parts:
            lines.append(f"{shortened(standing.series.kernel)}: {'; '.join(parts)}.")
    if len(lines) > MAX_KERNELS:
        rest = len(lines) - MAX_KERNELS
        lines = [
            *lines[:MAX_KERNELS],
            f"{counted(rest, 'more kernel')} segmented or open; --json describes all.",
        ]
    return lines


def noise_lines(noises: list[Noise], *, segments: bool) -> list[str]:
    """Return a line for every kind of noise: which it is, and how that is known.

    Parameters
    ----------
    segments : bool
        Whether changes of behaviour were searched for.
    """
    found = []
    for noise in dict.fromkeys(noises):
        if noise.known:
            how = "as given" if noise.source == "given" else f"detected from {noise.source}"
            found.append(f"Noise model: {noise.kind} ({how}).")
            continue
        how = "assumed; too few repetitions to test"
        remedy = f"{MIN_REPETITIONS} repetitions or {MIN_POOLED} kernels"
        if noise.source == "repetitions":
            how, remedy = "likely; the repetitions do not settle it", "More repetitions"
        first, second = noise.tested
        caution = (
            f"A change counts only if it is found under {first} and under {second} noise, "
            "which keeps false positives at 1 % under both while no value is more than 15 % off. "
        )
        found.append(
            f"Noise model: {noise.kind} ({how}). {caution if segments else ''}"
            f"{remedy} would settle it."
        )
    return list(dict.fromkeys(found))
