"""The figures of nightly results: series with their regimes, their values, p-values of changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import date_labels
from hindmost.analysis.history.judged_series import JudgedSeries, fits
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import NightlySeries
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.runs.figures.distributions import POINTS, density_in, headroom, normal_law
from hindmost.analysis.runs.figures.run_figure import FileFigure
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint.observations import check
from hindmost.models.changepoint.report.method import ALPHA, LARGEST_STEPS, candidate_p_values
from hindmost.text import MIN_P, counted, first_of, unit_for

ROOM = 0.06
NIGHTS_A_BIN, BINS = 3, (8, 60)
"""Of a histogram of nights."""
FloatArray = NDArray[np.float64]


def series_in(files: Sequence[Path], wanted: str | None) -> list[NightlySeries]:
    """Return the chosen series of histories.

    Raises
    ------
    UsageError
        None is chosen.
    """
    every = read_history(files).series
    chosen = [
        each
        for each in every
        if wanted is None
        or any(fits(wanted, name) for name in (each.name.case, each.name.timer, str(each.name)))
    ]
    if not chosen:
        names = first_of([repr(str(each.name)) for each in every])
        raise UsageError(f"No series, case or timer is called {wanted!r}; there is {names}.")
    return chosen


def make_nights(files: Sequence[Path], wanted: str | None) -> Iterator[tuple[str, Chart]]:
    """Yield the chart of each chosen series with its levels."""
    names = {each.name for each in series_in(files, wanted)}
    study = judge_history(read_history(files))
    for judged in study.judged:
        if judged.series.name in names:
            yield str(judged.series.name), nights_chart(judged)


def nights_chart(judged: JudgedSeries) -> Chart:
    """Make the chart of a series: results, levels between changes, outliers."""
    series, found = judged.series, judged.detection
    factor, unit = unit_of(series)
    x = np.arange(series.values.size, dtype=np.float64)
    y = factor * series.values
    outlying = np.zeros(y.size, bool)
    for run in found.outliers:
        outlying[run.start : run.stop] = True
    regimes = found.regimes
    parts = []
    if regimes:
        at = [x[regime.start : regime.stop] for regime in regimes]
        level = [
            np.full(each.size, factor * one.mean) for each, one in zip(at, regimes, strict=True)
        ]
        reach = [np.exp(2.0 * regime.deviation) for regime in regimes]
        gaps = [math.nan] * len(regimes)
        where = broken(at, [float(each[-1]) for each in at])
        high = broken([each * one for each, one in zip(level, reach, strict=True)], gaps)
        low = broken([each / one for each, one in zip(level, reach, strict=True)], gaps)
        parts = [
            Series(name="level, 2 standard deviations", look="band", x=where, y=high, base=low),
            Series(name="level", look="line", x=where, y=broken(level, gaps)),
        ]
    parts.append(Series(name="results", look="points", x=x[~outlying], y=y[~outlying]))
    if outlying.any():
        parts.append(Series(name="outliers", look="points", x=x[outlying], y=y[outlying]))
    ends = [each for part in parts for each in (part.y, part.base) if each is not None]
    bottom, top = float(np.nanmin(np.concatenate(ends))), float(np.nanmax(np.concatenate(ends)))
    room = ROOM * (top - bottom or top)
    return Chart(
        title=str(series.name),
        x=Quantity("night"),
        y=Quantity("time" if series.unit == "s" else "value", unit),
        series=tuple(parts),
        y_limits=(bottom - room, top + room),
        counted=True,
        names=judged.labels,
        legend_below=True,
    )


def unit_of(series: NightlySeries) -> tuple[float, str]:
    """Return the factor and the unit in which the values of a series are drawn."""
    if series.unit != "s":
        return 1.0, series.unit
    unit = unit_for(series.values)
    return unit.per_second, unit.sign


def broken(parts: Sequence[FloatArray], gap: Sequence[float]) -> FloatArray:
    """Put arrays behind each other, each with a value behind it at which lines break."""
    return np.concatenate([np.append(each, last) for each, last in zip(parts, gap, strict=True)])


def make_histograms(files: Sequence[Path], wanted: str | None) -> Iterator[tuple[str, Chart]]:
    """Yield the histogram of the results of each chosen series, with a normal law."""
    for series in series_in(files, wanted):
        yield str(series.name), nights_histogram(series)


def nights_histogram(series: NightlySeries) -> Chart:
    """Make the histogram of the results of a series."""
    factor, unit = unit_of(series)
    values = factor * series.values
    bins = int(np.clip(values.size // NIGHTS_A_BIN, *BINS))
    edges = np.linspace(values.min(), values.max() * (1.0 + 1e-9), bins + 1)
    density = density_in(values, edges)
    drawn = [Series(name="results", look="area", x=edges, y=density)]
    if values.std() > 0.0:
        x = np.linspace(edges[0], edges[-1], POINTS)
        law = normal_law(values)
        drawn.append(Series(name=law.name, look="line", x=x, y=law.pdf(x)))
    return Chart(
        title=str(series.name),
        x=Quantity("time" if series.unit == "s" else "value", unit),
        y=Quantity("density", f"1/{unit}" if unit else ""),
        series=tuple(drawn),
        y_limits=headroom(float(max(each.y.max() for each in drawn)), len(drawn)),
    )


def make_p_values(files: Sequence[Path], wanted: str | None) -> Iterator[tuple[str, Chart]]:
    """Yield the charts of the p-values of each chosen series, by the report's three algorithms."""
    for series in series_in(files, wanted):
        for algorithm in (1, 2, 3):
            yield f"{series.name} algorithm {algorithm}", p_value_chart(series, algorithm)


def p_value_chart(series: NightlySeries, algorithm: int) -> Chart:
    """Make the chart of the p-values of all candidates, at the moment of each detection."""
    try:
        moments = candidate_p_values(check(series.values), algorithm=algorithm)
    except DataError as error:
        raise UsageError(f"{series.name}: {error}") from error
    places = [moment.places.astype(np.float64) for moment in moments]
    x = broken(places, [float(place[-1]) for place in places])
    y = broken(
        [np.maximum(moment.p_values, MIN_P) for moment in moments], [math.nan] * len(moments)
    )
    found = [(moment.change, moment) for moment in moments if moment.change is not None]
    ends = np.array([0.0, series.values.size - 1.0])
    lines = [
        Series(name="p-value of a change", look="line", x=x, y=y),
        Series(name=f"significance level {ALPHA:g}", look="line", x=ends, y=np.full(2, ALPHA)),
        Series(
            name=f"the same for {LARGEST_STEPS} tests",
            look="line",
            x=ends,
            y=np.full(2, ALPHA / LARGEST_STEPS),
        ),
    ]
    if found:
        begins = np.array([float(change) for change, _ in found])
        at = [max(float(one.p_values[change - one.first - 1]), MIN_P) for change, one in found]
        lines.append(Series(name="changes", look="points", x=begins, y=np.array(at)))
    least = min(float(np.nanmin(line.y)) for line in lines)
    return Chart(
        title=f"{series.name}: algorithm {algorithm}, {counted(len(found), 'change')}",
        x=Quantity("night"),
        y=Quantity("p-value when detected"),
        series=tuple(lines),
        y_limits=(least / 3.0, 2.0),
        counted=True,
        names=date_labels(series.times),
        logarithmic=(False, True),
        legend_below=True,
    )


HISTORY_FIGURES = (
    FileFigure(
        name="nights",
        summary="nightly results: series with levels and outliers",
        caption="Results of a timer night by night, with the level between changes, two standard "
        "deviations of its noise, and outliers.",
        make=make_nights,
    ),
    FileFigure(
        name="nights-histogram",
        summary="nightly results: histogram of each series, with a normal law",
        caption="Results of a timer over all nights. Several peaks are levels.",
        make=make_histograms,
    ),
    FileFigure(
        name="p-values",
        summary="nightly results: p-values of candidates when detected, by algorithm",
        caption="The p-value of a change at each night, by each algorithm of the report: a "
        "curve at the moment of each detection, and one at the last night.",
        make=make_p_values,
    ),
)
