"""The figures of scaling experiments for ``hindmost plot``: models, and the errors of windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.analysis.readers.read import read_experiment
from hindmost.analysis.runs.figures.run_figure import FileFigure
from hindmost.analysis.scaling.batches import ScalingOptions
from hindmost.analysis.scaling.figures import scaling_chart
from hindmost.analysis.scaling.study import study_scaling
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.errors import UsageError
from hindmost.models.pmnf.segments.paper import (
    HETEROGENEOUS,
    SEGMENTED,
    WINDOW,
    PaperSegmentations,
    segment_by_paper,
)
from hindmost.models.pmnf.segments.segmentation import where

MAX_KERNELS = 4
"""Of each metric, those that grow most, if none is chosen."""
ROOM = 1.15


def make_scaling(files: Sequence[Path], chosen: str | None) -> Iterator[tuple[str, Chart]]:
    """Yield the chart of each kernel with its models, those that grow most first."""
    experiment = read_experiment(files, kernel=chosen)
    study = study_scaling(experiment, ScalingOptions())
    for metric in study.metrics:
        shown = metric.order if chosen else metric.order[:MAX_KERNELS]
        for standing in metric.at_target(shown):
            series = standing.series
            yield f"{series.kernel}-{series.metric}", scaling_chart(standing, study.target)


def make_window_errors(files: Sequence[Path], chosen: str | None) -> Iterator[tuple[str, Chart]]:
    """Yield the chart of the errors of windows of five points of each kernel.

    Raises
    ------
    UsageError
        The experiment varies several parameters, or has fewer than five points.
    """
    experiment = read_experiment(files, kernel=chosen)
    shown = experiment.series if chosen else experiment.series[:MAX_KERNELS]
    for series in shown:
        if series.points.shape[1] > 1:
            raise UsageError(
                f"{experiment.source} varies {', '.join(experiment.parameters)}: windows need one "
                "parameter."
            )
        values = np.nanmean(series.values, axis=1)
        if values.size < WINDOW:
            raise UsageError(f"{series.kernel} has {values.size} points; a window has {WINDOW}.")
        points = series.points[:, 0]
        found = segment_by_paper(points, values[None])
        name = f"{series.kernel}-{series.metric}"
        yield name, error_chart(series, found, experiment.parameters[0])


def error_chart(series: KernelSeries, found: PaperSegmentations, parameter: str) -> Chart:
    """Make the chart of the nRSS of each window, with both thresholds of the paper."""
    errors = found.errors[0]
    x = np.arange(errors.size, dtype=np.float64)
    ends = np.array([0.0, errors.size - 1.0])
    places = " and ".join(where(change) for change in found[0].changes)
    verdict = f"segmented, change {places}" if places else "segmented"
    return Chart(
        title=f"{series.kernel}: {verdict if found.segmented[0] else 'one behaviour'}",
        x=Quantity(f"{WINDOW} points of {parameter} from"),
        y=Quantity("nRSS"),
        series=(
            Series(name="error of the window's model", look="bars", x=x, y=errors),
            Series(
                name=f"heterogeneous above {HETEROGENEOUS:g}",
                look="line",
                x=ends,
                y=np.full(2, HETEROGENEOUS),
            ),
            Series(
                name=f"segmented above {SEGMENTED:g}",
                look="line",
                x=ends,
                y=np.full(2, SEGMENTED),
            ),
        ),
        y_limits=(0.0, ROOM * max(float(errors.max()), SEGMENTED)),
        counted=True,
        names=tuple(f"{point:g}" for point in found.points[: errors.size]),
        legend_below=True,
    )


SCALING_FIGURES = (
    FileFigure(
        name="scaling",
        summary="scaling experiments: kernels with models and changes",
        caption="Measurements of a kernel, the model of each segment, the one function for all "
        "points, and where the behaviour changes.",
        make=make_scaling,
    ),
    FileFigure(
        name="window-errors",
        summary="scaling experiments: nRSS of windows of five points",
        caption="The error of the model of each five consecutive points, which says by the paper's "
        "rule whether the behaviour changes.",
        make=make_window_errors,
    ),
)
