"""The sections of a page on scaling experiments, and conclusions on their kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from hindmost.analysis.runs.conclusion import Certainty, Conclusion, Link
from hindmost.analysis.scaling.figures import scaling_chart
from hindmost.analysis.scaling.foretelling import foretold_paths
from hindmost.analysis.scaling.study import KernelAtTarget, MetricStudy, ScalingStudy
from hindmost.analysis.scaling.tables import LEGEND, kernel_lines, models_text
from hindmost.analysis.show.html_charts import live_chart
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.models.pmnf.segments.segmentation import where
from hindmost.text import counted, percent, quantity

MOST_KERNELS = 20
"""Kernels in the table of a metric."""
MOST_CHARTS = 3
MOST_CONCLUSIONS = 3
CAPTION = (
    "Measurements, the model with its 90 % interval, and what it foretells up to the target. Bands "
    "across mark where the behaviour changes."
)
CHART_INCHES = 3.0


def scaling_sections(
    studies: Sequence[ScalingStudy], numbers: Iterator[int]
) -> tuple[list[Part], list[Conclusion]]:
    """Return the sections on experiments, and what they come to.

    Parameters
    ----------
    numbers : iterator of int
        Numbers the charts of the page.
    """
    parts: list[Part] = []
    found: list[Conclusion] = []
    for place, study in enumerate(studies):
        for number, metric in enumerate(study.metrics):
            anchor = f"scaling-{place}-{number}"
            standings = metric.at_target(metric.order[:MOST_KERNELS])
            parts += section(study, metric, standings, anchor, numbers)
            found += [
                on_kernel(study, metric, each, anchor) for each in standings[:MOST_CONCLUSIONS]
            ]
    return parts, found


def section(
    study: ScalingStudy,
    metric: MetricStudy,
    standings: Sequence[KernelAtTarget],
    anchor: str,
    numbers: Iterator[int],
) -> list[Part]:
    """Return the section on one metric."""
    at, source = metric.target.explain(), study.experiment.source
    parts: list[Part] = [
        Heading(
            f"{metric.metric} at {at}: {source}",
            anchor=anchor,
            short=f"Scaling: {Path(source).name}",
        ),
        kernels_table(metric, standings),
        *(Paragraph(line) for line in kernel_lines(metric, list(standings))),
        *(Paragraph(line, quiet=True) for line in study.warnings),
        Paragraph(" ".join(LEGEND.split()), quiet=True),
    ]
    shown = metric.order[:MOST_CHARTS]
    foretold = foretold_paths(metric.batches, shown, metric.target.at)
    for number, kernel in zip(shown.tolist(), metric.kernels(shown), strict=True):
        chart = scaling_chart(kernel, metric.target, foretold.get(number))
        parts.append(live_chart(chart, kernel.series.kernel, CAPTION, numbers, height=CHART_INCHES))
    return parts


def kernels_table(metric: MetricStudy, standings: Sequence[KernelAtTarget]) -> Table:
    """Return the kernels at the target, those with a significant share and the steepest first."""
    left = len(metric) - len(standings)
    return Table(
        columns=(
            Column("kernel", WIDE),
            Column("predicted", RIGHT),
            Column("90 % interval", RIGHT),
            Column("share", RIGHT),
            Column("growth", RIGHT),
            Column("SMAPE", RIGHT),
            Column("model", WIDE),
        ),
        rows=[
            (
                each.kernel.series.kernel,
                quantity(each.predicted, metric.unit),
                interval(each, metric.unit),
                percent(each.share),
                growth(each),
                smape(each, metric),
                models_text(each.kernel, metric.target.at),
            )
            for each in standings
        ],
        notes=(f"{counted(left, 'kernel')} more.",) if left > 0 else (),
    )


def interval(standing: KernelAtTarget, unit: str) -> str:
    """Write the interval of a prediction."""
    return f"{quantity(standing.low, unit)} to {quantity(standing.high, unit)}"


def smape(standing: KernelAtTarget, metric: MetricStudy) -> str:
    """Write how well the model at the target fits; nothing without a model there."""
    at = metric.target.at
    if standing.kernel.unexplained(at):
        return ""
    return percent(standing.kernel.model_at(at).smape / 100.0)


def growth(standing: KernelAtTarget) -> str:
    """Write a growth as a factor."""
    return f"{standing.growth:.3g}x" if math.isfinite(standing.growth) else "unknown"


def on_kernel(
    study: ScalingStudy, metric: MetricStudy, standing: KernelAtTarget, anchor: str
) -> Conclusion:
    """Return what a kernel costs at the target."""
    kernel, unit = standing.kernel, metric.unit
    known = math.isfinite(standing.growth) and standing.growth > 0.0
    more = standing.predicted * (1.0 - 1.0 / standing.growth) if known else 0.0
    changes = " and ".join(where(each) for each in kernel.changes)
    doubts = standing.doubts(metric.target)
    said = (
        f"Predicted {quantity(standing.predicted, unit)} at {metric.target.explain()}, "
        f"{growth(standing)} the time at the largest measured point"
        if unit == "s"
        else f"Predicted {quantity(standing.predicted, unit)} at {metric.target.explain()}, "
        f"{growth(standing)} the value at the largest measured point"
    )
    said += f"; its behaviour changes {changes}." if changes else "."
    return Conclusion(
        title=f"Growth of {kernel.series.kernel}",
        text=said + (f" {'; '.join(doubts)}." if doubts else ""),
        cost_s=more if unit == "s" else 0.0,
        share=standing.share,
        relative=True,
        amount="" if unit == "s" else f"+{quantity(more, unit)}",
        certainty=Certainty.OPEN if doubts or not known else Certainty.PREDICTED,
        basis=f"90 % interval {interval(standing, unit)}; {percent(standing.share)} of all kernels",
        of=study.experiment.source,
        links=(Link(anchor=anchor, text="Kernels"),),
    )
