"""The ratio of two sets of results, with its confidence interval and significance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.models.changepoint.changes import LARGEST_LOG

LEVEL = 0.9
CORRELATED_FROM = 10
"""Least number of observations for an estimate of serial correlation."""
ROUNDING = 1e-12
"""Differences of logarithms up to this are rounding errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The geometric mean of one set divided by that of another.

    Attributes
    ----------
    value : float
        Above 1: the second is larger.
    interval : (float, float) or None
        At `LEVEL`; None if there are too few data.
    p_value : float or None
        Of the hypothesis that the two are equal, two-sided; None if there are too few data.
    freedom : float
        Degrees of freedom of Student's law; infinite for a normal law, 0 if there is none.
    correlation : float
        Lag-1 correlation that widened the interval; 0 if there is none.
    """

    value: float
    interval: tuple[float, float] | None
    p_value: float | None
    freedom: float
    correlation: float = 0.0


class Estimate(NamedTuple):
    """A mean of logarithms.

    Attributes
    ----------
    log : float
    error, freedom : float
        Its standard error and the degrees of freedom of that; 0 if there are too few data.
    correlation : float
        Lag-1 correlation that widened the error.
    """

    log: float
    error: float
    freedom: float
    correlation: float = 0.0


def mean_of(logs: NDArray[np.float64]) -> Estimate:
    """Return the mean of logarithms in the order of time, shape (observation,).

    A significant correlation (beyond 2 over the square root of the number) widens the error as for
    an AR(1) process, and reduces the degrees of freedom.
    """
    size, mean = logs.size, float(logs.mean())
    if size < 2:
        return Estimate(mean, 0.0, 0.0)
    error = float(logs.std(ddof=1) / np.sqrt(size))
    residuals = logs - mean
    power = float(residuals @ residuals)
    if size < CORRELATED_FROM or power <= 0.0:
        return Estimate(mean, error, size - 1.0)
    correlation = float(residuals[1:] @ residuals[:-1]) / power
    if correlation <= 2.0 / np.sqrt(size):
        return Estimate(mean, error, size - 1.0)
    inflation = inflation_of(correlation)
    return Estimate(mean, error * inflation, max((size - 1.0) / inflation**2, 1.0), correlation)


def inflation_of(correlation: float) -> float:
    """Return by what factor AR(1) correlation widens the standard error of a mean."""
    return math.sqrt((1.0 + correlation) / (1.0 - correlation))


def ratio_of(*sides: Estimate) -> Ratio:
    """Compare the means of two sides by Welch's test, or that of the log ratios of pairs with 0."""
    correlation = max(each.correlation for each in sides)
    difference = sides[-1].log - (sides[0].log if len(sides) > 1 else 0.0)
    value = exponential(difference)
    if not all(each.freedom for each in sides):
        return Ratio(value=value, interval=None, p_value=None, freedom=0.0)
    error, freedom = math.hypot(*(each.error for each in sides)), welch_freedom(sides)
    if error > ROUNDING:
        tail = special.stdtr(freedom, -abs(difference) / error)
        reach = float(special.stdtrit(freedom, 0.5 + 0.5 * LEVEL)) * error
        p_value = float(2.0 * tail)
    else:  # all observations are equal, as counts often are
        reach, p_value = 0.0, 1.0 if abs(difference) <= ROUNDING else 0.0
    return Ratio(
        value=value,
        interval=(exponential(difference - reach), exponential(difference + reach)),
        p_value=p_value,
        freedom=freedom,
        correlation=correlation,
    )


def welch_freedom(sides: Sequence[Estimate]) -> float:
    """Return the degrees of freedom of a difference (Welch 1947; Satterthwaite 1946)."""
    error = math.hypot(*(each.error for each in sides))
    if error <= 0.0:
        return sum(each.freedom for each in sides)
    # Shares first: the fourth power of a small error may underflow.
    spent = sum((each.error / error) ** 4 / each.freedom for each in sides)
    return 1.0 / spent if spent > 0.0 else math.inf


def paired_ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> Ratio:
    """Compare pairs by Student's test of the mean log ratio.

    Parameters
    ----------
    first, second : float64 array, shape (pair,), in the order of time
        Above zero.
    """
    return ratio_of(mean_of(np.log(second) - np.log(first)))


def drifting_ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, Ratio]:
    """Fit a line to the log ratios by least squares; return its first ratio, and its last.

    Serial correlation of the residuals widens its error like that of a mean.

    Parameters
    ----------
    first, second : float64 array, shape (pair,), in the order of time
        Above zero; three or more.
    """
    from scipy.stats import linregress

    logs = np.log(second) - np.log(first)
    place = np.arange(1.0 - logs.size, 1.0)
    line = linregress(place, logs)  # its intercept is at the last pair
    rest = mean_of(logs - line.slope * place)
    error = float(line.intercept_stderr) * inflation_of(rest.correlation)
    freedom = max(rest.freedom - 1.0, 1.0)
    end = Estimate(float(line.intercept), error, freedom, rest.correlation)
    return exponential(end.log + float(line.slope * place[0])), ratio_of(end)


def exponential(logarithm: float) -> float:
    """Return a ratio from its logarithm, limited to the range of floating-point numbers."""
    return float(np.exp(np.clip(logarithm, -LARGEST_LOG, LARGEST_LOG)))


def adjust(p_values: list[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979, A simple sequentially rejective procedure)."""
    order = np.argsort(p_values)
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order.tolist()):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = highest
    return adjusted
