"""The table of a scaling study, and the words below it."""

from __future__ import annotations

import math
import textwrap

from hindmost.analysis.scaling.json_form import model_choices
from hindmost.analysis.scaling.kernel import OPEN, KernelScaling
from hindmost.analysis.scaling.study import MetricStudy, Standing
from hindmost.analysis.tables.terminal import seconds
from hindmost.models.pmnf.noise import LEAST_POOLED, LEAST_REPETITIONS, Noise
from hindmost.models.pmnf.segments.verdict import Verdict, where

HEADS = ["kernel", "predicted", "90 % interval", "share", "growth", "SMAPE", "adj. R2"]
TO_THE_LEFT = ("kernel", "90 % interval")
GAP = "  "
NARROWEST = 40
LONGEST_NAME = 36
MANY_SECONDS = 1e4
"""From which seconds are written with an exponent rather than many digits."""
MOST_WORDS = 6
"""Kernels of whose segments and open questions the words are given."""

LEGEND = """\
share: of all kernels at the target; growth: predicted at the target over predicted at the largest
measured point. The steepest come first, among those with a share worth looking at."""


def quantity(value: float, unit: str) -> str:
    """Write a value in four digits with its unit."""
    if unit == "s" and abs(value) < MANY_SECONDS:
        return seconds(value) if value else "0 s"
    return f"{value:.4g} {unit}".rstrip()


def shortened(name: str) -> str:
    """Write a call path that fits a column: its begin and, longer, its end."""
    if len(name) <= LONGEST_NAME:
        return name
    begin = LONGEST_NAME // 4
    return f"{name[:begin]}…{name[begin + 1 - LONGEST_NAME :]}"


def scaling_table(metric: MetricStudy, standings: list[Standing], *, width: int) -> list[str]:
    """Make the table of one metric; models that have no room beside it stand below each row.

    Parameters
    ----------
    width : int
        Of the terminal, in letters.
    """
    at = metric.target.explain()
    title = f"{metric.metric} at {at}: {len(metric)} kernel{'s' if len(metric) > 1 else ''}"
    rows = [_cells(metric, standing) for standing in standings]
    widths = [max(map(len, each)) for each in zip(HEADS, *rows, strict=True)]
    aside = [_line(cells, widths) for cells in (HEADS, *rows)]
    models = ["model", *(models_text(each.kernel, metric.target.at) for each in standings)]
    if len(aside[0]) + len(GAP) + max(map(len, models)) <= width:
        return [title, *(f"{left}{GAP}{right}" for left, right in zip(aside, models, strict=True))]
    lines = [title, aside[0].rstrip()]
    for left, text in zip(aside[1:], models[1:], strict=True):
        lines.append(left.rstrip())
        lines += textwrap.wrap(
            text, max(width, NARROWEST), initial_indent="    ", subsequent_indent="      "
        )
    return lines


def _cells(metric: MetricStudy, standing: Standing) -> list[str]:
    """Return what the table has of a kernel besides its model."""
    model = standing.kernel.model_at(metric.target.at)
    low, high = quantity(standing.low, metric.unit), quantity(standing.high, metric.unit)
    return [
        shortened(standing.kernel.series.kernel),
        quantity(standing.predicted, metric.unit),
        f"{low} to {high}",
        f"{100.0 * standing.share:.1f} %",
        f"{standing.growth:.3g}x" if math.isfinite(standing.growth) else "",
        f"{model.smape:.1f} %",
        f"{model.adjusted_r2:.4f}",
    ]


def _line(cells: list[str], widths: list[int]) -> str:
    """Write a row: names and intervals to the left, numbers to the right."""
    return GAP.join(
        cell.ljust(width) if head in TO_THE_LEFT else cell.rjust(width)
        for head, cell, width in zip(HEADS, cells, widths, strict=True)
    )


def models_text(kernel: KernelScaling, at: tuple[float, ...]) -> str:
    """Write the model that holds at the target, and behind it those of other segments."""
    text = kernel.model_at(at).expression()
    if len(kernel.segments) < 2:
        return text
    holds = kernel.number_at(at)
    parts = [f"{text}, {_stretch(kernel, holds)}"]
    parts += [
        f"{each.model.expression() if each.model else 'no model'}, {_stretch(kernel, number)}"
        for number, each in enumerate(kernel.segments)
        if number != holds
    ]
    return "; ".join(parts)


def _stretch(kernel: KernelScaling, number: int) -> str:
    """Say from where to where a segment goes; the outer ones are open."""
    segment = kernel.segments[number]
    if number == 0:
        return f"to {segment.high:g}"
    if number == len(kernel.segments) - 1:
        return f"from {segment.low:g}"
    return f"{segment.low:g} to {segment.high:g}"


def words(metric: MetricStudy, standings: list[Standing]) -> list[str]:
    """Say in a line each what is segmented or open, and what would settle it."""
    lines = []
    for standing in standings:
        kernel = standing.kernel
        parts = []
        if kernel.segmented:
            places = " and ".join(where(change) for change in kernel.changes)
            parts.append(f"changes {places}" if places else "segmented; where, is not to be told")
            parts += [
                f"only {each.points} points from {each.low:g} to {each.high:g}: a provisional model"
                if each.model
                else f"only {each.points} points from {each.low:g} to {each.high:g}: no model"
                for each in kernel.segments
                if each.provisional
            ]
        elif kernel.verdict is not Verdict.ONE:
            parts.append(str(kernel.verdict))
        if kernel.is_open(metric.target.at):
            model = kernel.model_at(metric.target.at)
            also = [text for text, behind in model_choices(model) if behind < OPEN]
            parts.append(f"as good: {', or '.join(also)}")
        if kernel.advice():
            parts.append(kernel.advice())
        if parts:
            lines.append(f"{shortened(kernel.series.kernel)}: {'; '.join(parts)}.")
    if len(lines) > MOST_WORDS:
        rest = len(lines) - MOST_WORDS
        lines = [*lines[:MOST_WORDS], f"{rest} more kernels are segmented or open: see --json."]
    return lines


def noise_words(noises: list[Noise], *, segments: bool) -> list[str]:
    """Say how the kinds of noise are known, each once.

    Parameters
    ----------
    segments : bool
        Whether changes were looked for.
    """
    found = []
    for noise in dict.fromkeys(noises):
        if noise.known:
            how = "as given" if noise.source == "given" else f"told by {noise.source}"
            found.append(f"noise: {noise.kind}, {how}.")
        else:
            remedy = "More repetitions would tell"
            if noise.source != "repetitions":
                remedy = f"{LEAST_REPETITIONS} repetitions or {LEAST_POOLED} kernels would tell"
            caution = (
                ": a change counts only where it holds under multiplicative and additive noise "
                "alike, which keeps false positives at 1 % under both"
            )
            found.append(
                f"noise: taken as {noise.kind}, but its kind is not known ({noise.source})"
                f"{caution if segments else ''}. {remedy}."
            )
    return found
