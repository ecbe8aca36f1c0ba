"""Statistics of each regime: confidence intervals of the mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.models.changepoint import Regime
from hindmost.models.inference import student

SHOWN_LEVELS = (0.90, 0.99)


def regime_statistics(judged: JudgedSeries, level: float) -> list[dict[str, Any]]:
    """Return the regimes of a series with their intervals.

    Parameters
    ----------
    judged : JudgedSeries
    level : float
        Of the intervals that the detection has.
    """
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
        }
        for regime in judged.detection.regimes
    ]


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
