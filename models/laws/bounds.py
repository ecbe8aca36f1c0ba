"""Bounds on the expected maximum of N random variables from their mean and standard deviation."""

from __future__ import annotations

import numpy as np


def cramer_bound(mean: float, deviation: float, count: int) -> float:
    """Bound the maximum of independent variables: mu + sigma (N-1) / sqrt(2N-1), equation 9."""
    return float(mean + deviation * (count - 1) / np.sqrt(2 * count - 1))


def bertsimas_bound(mean: float, deviation: float, count: int) -> float:
    """Bound the maximum of dependent variables: mu + sigma sqrt(N-1), equation 10."""
    return float(mean + deviation * np.sqrt(count - 1))
