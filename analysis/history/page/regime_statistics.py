"""What is said of each regime: level, intervals of the mean, histogram."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.html_charts import curve_data
from hindmost.models.changepoint import Regime
from hindmost.models.inference import student
from hindmost.text import counted, percent, quantity

SHOWN_LEVELS = (0.90, 0.99)
MIN_DRAWN = 5
"""Nights of a histogram."""
MAX_BINS = 24


def regime_statistics(judged: JudgedSeries, level: float) -> list[dict[str, Any]]:
    """Return the regimes of a series with their intervals.

    Parameters
    ----------
    judged : JudgedSeries
    level : float
        Of the intervals that the detection has.
    """
    return [regime_data(judged, regime, level) for regime in judged.detection.regimes]


def regime_data(judged: JudgedSeries, regime: Regime, level: float) -> dict[str, Any]:
    """Return a regime: its levels at both ends, intervals as factors of them, and all words."""
    intervals = [mean_interval(regime, level, shown) for shown in SHOWN_LEVELS]
    inside = values_inside(judged, regime)
    first, last = (judged.labels[at] for at in (regime.start, regime.stop - 1))
    kind = " (switches between two levels)" if regime.switching else ""
    unit, nights = judged.series.unit, counted(inside.size, "night")
    left_out = regime.stop - regime.start - inside.size
    of_which = f"level of {regime.n} of {nights}" if regime.n < inside.size else nights
    noise = f"noise {percent(regime.deviation)}, {of_which}"
    noise += f" and {counted(left_out, 'outlier')}" if left_out else ""
    return {
        "start": regime.start,
        "stop": regime.stop,
        "trend": int(regime.trend),
        "ends": [five(each) for each in ends_of(judged, regime)],
        "intervals": [[five(end / regime.mean) for end in ends] for ends in intervals],
        "title": f"{first if first == last else f'{first} to {last}'}"
        f"{' (trend)' if regime.trend else kind}",
        "text": [
            f"mean {quantity(regime.mean, unit)}, {percent(shown, None)} interval "
            f"{quantity(low, unit)} to {quantity(high, unit)}; {noise}"
            for shown, (low, high) in zip(SHOWN_LEVELS, intervals, strict=True)
        ],
        "histogram": None if inside.size < MIN_DRAWN else histogram(inside, unit),
    }


def values_inside(judged: JudgedSeries, regime: Regime) -> NDArray[np.float64]:
    """Return the values of a regime that are no outliers."""
    inside = np.zeros(judged.series.values.size, bool)
    inside[regime.start : regime.stop] = True
    for run in judged.detection.outliers:
        inside[run.start : run.stop] = False
    values: NDArray[np.float64] = judged.series.values[inside]
    return values


def ends_of(judged: JudgedSeries, regime: Regime) -> tuple[float, float]:
    """Return the level at the first and the last night; a trend is a line of the logarithm."""
    for trend in judged.detection.trends if regime.trend else ():
        if trend.start <= regime.start < trend.stop and trend.stop - trend.start > 1:
            nights = regime.stop - 1 - regime.start
            reach = 0.5 * nights * math.log1p(trend.effect) / (trend.stop - 1 - trend.start)
            return regime.mean * math.exp(-reach), regime.mean * math.exp(reach)
    return regime.mean, regime.mean


def histogram(values: NDArray[np.float64], unit: str) -> dict[str, Any]:
    """Return the histogram of values as the script draws it."""
    best = np.histogram_bin_edges(values, "fd").size - 1
    counts, edges = np.histogram(values, min(max(best, MIN_DRAWN), MAX_BINS))
    series = Series(name="nights", look="area", x=edges, y=counts.astype(np.float64))
    drawn = Chart(
        title="",
        x=Quantity("value", unit),
        y=Quantity("nights"),
        series=(series,),
        y_limits=(0.0, 1.05 * float(counts.max())),
        marks={},
    )
    return curve_data(drawn)


def mean_interval(regime: Regime, level: float, shown: float) -> list[float]:
    """Return the interval of a regime's mean at another level than it was computed at.

    It is symmetric in the logarithm. Its width follows from Student's law with the regime's degrees
    of freedom, which take serial correlation into account, as the detection's width does.
    """
    wider = student(regime.freedom, shown) / student(regime.freedom, level)
    low, high = (math.log(end) for end in regime.interval)  # their product may overflow
    middle, reach = 0.5 * (low + high), wider * 0.5 * (high - low)
    return [five(float(np.exp(end))) for end in (middle - reach, middle + reach)]


def five(value: float) -> float:
    """Round a number to five significant digits."""
    return float(f"{value:.5g}")
