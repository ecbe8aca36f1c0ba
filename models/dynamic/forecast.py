"""A predicted time with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.models.dynamic.ratios import Ratios


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the next cycle will take.

    Attributes
    ----------
    seconds : float
        NaN where nothing is known yet.
    low_s, high_s : float
        The cycle lies between them with the probability ``level``, by how far the predictions
        before were off.
    level : float
    """

    seconds: float
    low_s: float
    high_s: float
    level: float


def forecast(seconds: float, ratios: Ratios, level: float) -> Forecast:
    """Return a prediction with the interval that ratios one step ahead give it."""
    if not math.isfinite(seconds):
        return Forecast(seconds=seconds, low_s=0.0, high_s=math.inf, level=level)
    low, high = ratios.interval(level)
    return Forecast(seconds=seconds, low_s=low * seconds, high_s=high * seconds, level=level)
