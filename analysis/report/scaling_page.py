"""The sections of a page on scaling experiments, and conclusions on their kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.figures.run_figure import DEFAULT_HEIGHT_INCHES
from hindmost.analysis.scaling.figures import kernels_chart, scaling_chart
from hindmost.analysis.scaling.study import KernelAtTarget, MetricStudy, ScalingStudy
from hindmost.analysis.scaling.tables import SHARES, kernel_lines, scaling_table
from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.facts import Certainty, Link, Stated
from hindmost.analysis.show.html_charts import live_chart
from hindmost.analysis.show.page import Folded, Heading, Paragraph, Part, Widget
from hindmost.analysis.show.table import LEADING, MAX_LISTED
from hindmost.models.inference import MATTERS
from hindmost.models.pmnf.segments.segmentation import where
from hindmost.text import capital, factor, percent, quantity

CAPTION = (
    "Measurements, the model, and what is predicted up to the target, with its 90 % interval. "
    "Bands across mark where the behaviour changes."
)
OF_FIRST = " The interval and the bands across are of the first kernel."
INCHES = DEFAULT_HEIGHT_INCHES["full"]
LEGEND = (
    "predicted: beyond the points by what best predicted the last ones, else by the model. growth: "
    "prediction at the target over the value at the largest measured point; ? where the interval "
    "includes neither growth nor fall for sure. worst: by what factor the model is off at most."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage:
    """What a page says of scaling experiments.

    Attributes
    ----------
    parts : sequence of Part
        The sections.
    pictures : sequence of Widget
        Of the first screen: the kernels that matter at the target, by the first metric.
    conclusions : sequence of Conclusion
        What they cost there.
    """

    parts: Sequence[Part]
    pictures: Sequence[Widget]
    conclusions: Sequence[Stated]


def scaling_page(studies: Sequence[ScalingStudy], numbers: Iterator[int]) -> ScalingPage:
    """Return the parts of a page on experiments; ``numbers`` gives each chart its number."""
    parts: list[Part] = []
    pictures: list[Widget] = []
    found: list[Stated] = []
    for place, study in enumerate(studies):
        for number, metric in enumerate(study.metrics):
            anchor = f"scaling-{place}-{number}"
            order = by_share(metric)
            standings = metric.at_target(order[:MAX_LISTED])
            charts = [scaling_chart(standing, metric.target) for standing in standings[:LEADING]]
            picture = leading_chart(study, metric, standings, charts, numbers)
            pictures += [] if number else [picture]
            heading, *others = section(study, metric, standings, charts, anchor, numbers)
            parts += [heading, *([picture] if number else []), *others]
            found += [
                on_kernel(study, metric, standing, anchor) for standing in standings[:LEADING]
            ]
    return ScalingPage(parts=parts, pictures=pictures, conclusions=found)


def by_share(metric: MetricStudy) -> NDArray[np.intp]:
    """Return the numbers of the kernels, the largest share at the target first."""
    return np.argsort(-metric.share, kind="stable")


def leading_chart(
    study: ScalingStudy,
    metric: MetricStudy,
    standings: Sequence[KernelAtTarget],
    charts: Sequence[Chart],
    numbers: Iterator[int],
) -> Widget:
    """Return one chart of the kernels that matter, over the parameter that drives the first."""
    shown = [
        (chart, f"{each.series.kernel} ({percent(each.share, 0)} at the target)")
        for chart, each in zip(charts, standings, strict=False)
        if chart.x == charts[0].x and (chart is charts[0] or each.share >= MATTERS)
    ]
    first = charts[0]
    at = metric.target.at[metric.target.parameters.index(first.x.text)]
    drawn = kernels_chart([chart for chart, _ in shown], [name for _, name in shown], at=at)
    unit = "" if metric.unit else " (the file gives no unit)"
    heading = f"{metric.metric}{unit} over {first.x.text}: {Path(study.experiment.source).name}"
    caption = CAPTION + (OF_FIRST if shown[1:] else "")
    return live_chart(drawn, heading, caption, numbers, height=INCHES)


def section(
    study: ScalingStudy,
    metric: MetricStudy,
    standings: Sequence[KernelAtTarget],
    charts: Sequence[Chart],
    anchor: str,
    numbers: Iterator[int],
) -> list[Part]:
    """Return the section on one metric."""
    at, source = metric.target.explain(), study.experiment.source
    lines = kernel_lines(metric, standings)
    drawn = [
        live_chart(chart, each.series.kernel, CAPTION, numbers, height=INCHES)
        for chart, each in zip(charts, standings, strict=False)
    ]
    return [
        Heading(
            f"{metric.metric} at {at}: {source}",
            anchor=anchor,
            short=f"Scaling: {Path(source).name}",
        ),
        scaling_table(metric, standings),
        *(Paragraph(line, quiet=True) for line in study.warnings),
        *(
            [
                Folded(
                    "Changes of behaviour, doubts and what to measure",
                    [Paragraph(line) for line in lines],
                )
            ]
            if lines
            else []
        ),
        Folded("A chart of each kernel, with the models of each stretch", drawn),
        Paragraph(f"{SHARES[metric.inclusive]} {LEGEND}", quiet=True),
    ]


def growth(standing: KernelAtTarget) -> str:
    """Write a growth as a factor."""
    return f"{factor(standing.growth)}x" if math.isfinite(standing.growth) else "unknown"


def on_kernel(
    study: ScalingStudy, metric: MetricStudy, standing: KernelAtTarget, anchor: str
) -> Stated:
    """Return what a kernel costs at the target."""
    kernel, unit = standing.kernel, metric.unit
    known = math.isfinite(standing.growth) and standing.growth > 0.0
    more = standing.predicted * (1.0 - 1.0 / standing.growth) if known else 0.0
    changes = " and ".join(where(change) for change in kernel.changes)
    doubts = standing.doubts()
    said = (
        f"Predicted {quantity(standing.predicted, unit)} at {metric.target.explain()}, "
        f"{growth(standing)} the {'time' if unit == 's' else 'value'} at the largest measured point"
    )
    said += f"; its behaviour changes {changes}." if changes else "."
    return Stated(
        quantity=f"Growth of {standing.series.kernel}",
        text=said + (f" {capital('; '.join(doubts))}." if doubts else ""),
        cost_s=more if unit == "s" else 0.0,
        share=standing.share,
        relative=True,
        amount="" if unit == "s" else f"+{quantity(more, unit)}",
        certainty=Certainty.OPEN if doubts or not known else Certainty.PREDICTED,
        basis=f"90 % interval {standing.interval()}; {percent(standing.share)} of all kernels"
        + (" without a caller" if metric.inclusive else ""),
        run_name=study.experiment.source,
        links=(Link(anchor=anchor, text="Kernels"),),
    )
