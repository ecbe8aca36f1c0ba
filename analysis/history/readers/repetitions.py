"""Repetitions of one night as one value with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

OF_A_MEDIAN = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, of many normal values."""
NORMAL_QUARTILES = 1.3489795003921634
"""Between the quartiles of a normal law of standard deviation 1."""

HUGE = 1e300
"""No measurement is above it, and floats hold what is below."""


def all_good(values: Sequence[Any]) -> list[float] | None:
    """Return repetitions as floats, None unless all of them are finite numbers above zero."""
    good = [
        value
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < HUGE
    ]
    return [float(value) for value in good] if values and len(good) == len(values) else None


def first_bad(values: Sequence[Any]) -> Any:
    """Return the first repetition that `all_good` does not take; the gathering says why."""
    return next((value for value in values if all_good([value]) is None), None)


def summarise(values: Sequence[float]) -> tuple[float, float]:
    """Return the median of repetitions and its standard error.

    The median, because one disturbed repetition should not make a night slow. Its error is that of
    normal values: sqrt(pi / 2) standard deviations over the root of their number; NaN of one value.

    Parameters
    ----------
    values : sequence of float
        At least one.
    """
    each = np.asarray(values, np.float64)
    if len(each) < 2:
        return float(each[0]), math.nan
    with np.errstate(over="ignore", invalid="ignore"):
        error = OF_A_MEDIAN * float(each.std(ddof=1)) / math.sqrt(len(each))
    return float(np.median(each)), error
