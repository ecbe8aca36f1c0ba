"""Repetitions of one night as one value with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hindmost.parsing import LARGEST

OF_A_MEDIAN = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, of many normal values."""
OF_FEW = (1.0, 1.0, 1.16018, 1.09216, 1.19757, 1.13511, 1.21372, 1.15995, 1.22267, 1.17615)
"""The same of 1 to 10 values: the variance of the middle of normal values (David and Nagaraja,
Order Statistics, 2003, section 3.2), times their number."""
NORMAL_QUARTILES = 1.3489795003921634
"""Between the quartiles of a normal law of standard deviation 1."""

OF_QUARTILES = 0.37
"""Efficiency of the standard deviation from quartiles relative to that of the sample."""


class StandardError(NamedTuple):
    """The uncertainty of a value from repetitions.

    Attributes
    ----------
    error : float
        Standard error, in the unit of the value; NaN if unknown.
    freedom : float
        Degrees of freedom of that error; infinite if it is known well or not stated.
    """

    error: float
    freedom: float = math.inf


def error_of_median(deviation: float, count: float) -> float:
    """Return the standard error of the median of ``count`` normal values; NaN of one value."""
    if not count > 1.0:
        return math.nan
    factor = OF_FEW[int(count) - 1] if count <= len(OF_FEW) else OF_A_MEDIAN
    return factor * deviation / math.sqrt(count)


def summarise(values: Sequence[Any]) -> tuple[Any, StandardError | None]:
    """Return the median of repetitions and its spread, as of normal values.

    The median, because one disturbed repetition should not make the night look slow. Of
    repetitions of which one is no measurement that one, without a spread: the gathering says why.
    """
    bad = [
        value
        for value in values
        if isinstance(value, bool) or not (isinstance(value, int | float) and 0 < value < LARGEST)
    ]
    if bad or not values:
        return next(iter(bad), None), None
    each = np.asarray(values, np.float64)
    if len(each) < 2:
        return float(each[0]), StandardError(math.nan)
    error = error_of_median(float(each.std(ddof=1)), len(each))
    return float(np.median(each)), StandardError(error, len(each) - 1.0)
