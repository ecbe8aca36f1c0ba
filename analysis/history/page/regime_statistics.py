"""Statistics of each regime: confidence intervals of the mean, and tests of normality."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.models.changepoint import Regime

FEWEST = 8
"""Least number of nights for a test of normality; with fewer it has no power."""
MOST = 5000
"""Observations beyond which the p-value of Shapiro and Wilk is not accurate."""
SHOWN_LEVELS = (0.90, 0.99)


def regime_statistics(judged: JudgedSeries, level: float) -> list[dict[str, Any]]:
    """Return the regimes of a series with their intervals and tests.

    Parameters
    ----------
    judged : JudgedSeries
    level : float
        Of the intervals that the detection has.
    """
    outlying = np.zeros(judged.series.values.size, dtype=bool)
    for run in judged.detection.outliers:
        outlying[run.start : run.stop] = True
    return [
        {
            "start": regime.start,
            "stop": regime.stop,
            "n": regime.n,
            "mean": five(regime.mean),
            "intervals": [mean_interval(regime, level, shown) for shown in SHOWN_LEVELS],
            "deviation": five(100.0 * regime.deviation),
            "trend": int(regime.trend),
            **({"switching": 1} if regime.switching else {}),
            "normality": normality(regime, judged.series.values, outlying),
        }
        for regime in judged.detection.regimes
    ]


def mean_interval(regime: Regime, level: float, shown: float) -> list[float]:
    """Return the interval of a regime's mean at another level than it was computed at.

    It is symmetric in the logarithm. Its width follows from Student's law with the regime's degrees
    of freedom, which take serial correlation into account, as the detection's width does.
    """
    from scipy.special import stdtrit

    ends = stdtrit(regime.freedom, [0.5 + 0.5 * shown, 0.5 + 0.5 * level])
    wider = float(ends[0] / ends[1])
    low, high = (math.log(end) for end in regime.interval)  # their product may overflow
    middle, reach = 0.5 * (low + high), wider * 0.5 * (high - low)
    return [five(float(np.exp(end))) for end in (middle - reach, middle + reach)]


def normality(
    regime: Regime, values: NDArray[np.float64], outlying: NDArray[np.bool_]
) -> list[float] | None:
    """Return p-values of Shapiro and Wilk's test of a regime's values and of their logarithms.

    Outliers are left out. None for a trend, for fewer than 8 nights and for values all equal.
    """
    from scipy.stats import shapiro

    part = slice(regime.start, regime.stop)
    inside = values[part][~outlying[part]]
    if regime.trend or not FEWEST <= inside.size <= MOST or np.ptp(inside) == 0.0:
        return None
    scaled = inside / np.median(inside)
    return [five(float(shapiro(each).pvalue)) for each in (scaled, np.log(scaled))]


def five(value: float) -> float:
    """Round a number to five significant digits."""
    return float(f"{value:.5g}")
