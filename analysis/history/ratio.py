"""The ratio of two sets of results, with its confidence interval and significance."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


def paired_ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> Ratio:
    """Compare pairs by Student's test of the mean log ratio.

    Parameters
    ----------
    first, second : float64 array, shape (pair,), in the order of time
        Above zero.
    """
    logs = np.log(second) - np.log(first)
    error, freedom, correlation = error_of_mean(logs)
    return ratio_from(float(logs.mean()), error, freedom, correlation)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioDrift:
    """A log ratio that follows a straight line.

    Attributes
    ----------
    start : float
        The ratio of the first pair, on the line.
    end : Ratio
        That of the last pair; its p-value is of the hypothesis that it is 1.
    """

    start: float
    end: Ratio


def drifting_ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> RatioDrift:
    """Fit a line to the log ratios by least squares.

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
    _, freedom, correlation = error_of_mean(logs - line.slope * place)
    error = float(line.intercept_stderr) * inflation_of(correlation)
    return RatioDrift(
        start=exponential(float(line.intercept + line.slope * place[0])),
        end=ratio_from(float(line.intercept), error, max(freedom - 1.0, 1.0), correlation),
    )


def unpaired_ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> Ratio:
    """Compare two sets by Welch's test of the logarithms.

    Parameters
    ----------
    first : float64 array, shape (m,), in the order of time
        Above zero.
    second : float64 array, shape (n,), in the order of time
    """
    logs = np.log(first), np.log(second)
    (a, f, r), (b, g, s) = (error_of_mean(each) for each in logs)
    difference = float(logs[1].mean() - logs[0].mean())
    if not f or not g:
        return ratio_from(difference, 0.0, 0.0)
    freedom = welch_freedom((a, b), (f, g))
    return ratio_from(difference, float(np.hypot(a, b)), freedom, max(r, s))


def ratio_by_spread(
    first: float,
    second: float,
    spreads: tuple[float, float],
    freedoms: tuple[float, float] = (np.inf, np.inf),
) -> Ratio:
    """Compare two single results by Welch's test with the standard errors in their files.

    Parameters
    ----------
    first, second : float
        Above zero.
    spreads : (float, float)
        Standard errors, in the unit of the results.
    freedoms : (float, float)
        Their degrees of freedom, as repeats - 1.
    """
    errors = spreads[0] / first, spreads[1] / second
    freedom = welch_freedom(errors, freedoms)
    difference = float(np.log(second) - np.log(first))
    return ratio_from(difference, float(np.hypot(*errors)), freedom)


def welch_freedom(errors: tuple[float, float], freedoms: tuple[float, float]) -> float:
    """Return the degrees of freedom of a difference (Welch 1947; Satterthwaite 1946).

    Parameters
    ----------
    errors : (float, float)
        Standard errors of both sides.
    freedoms : (float, float)
        Above zero; may be infinite.
    """
    error = float(np.hypot(*errors))
    if error <= 0.0:
        return freedoms[0] + freedoms[1]
    # Shares first: the fourth power of a small error may underflow.
    spent = sum(
        (each / error) ** 4 / freedom for each, freedom in zip(errors, freedoms, strict=True)
    )
    return 1.0 / spent if spent > 0.0 else np.inf


def error_of_mean(logs: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the standard error of a mean, its degrees of freedom, and the lag-1 correlation.

    A significant correlation (beyond 2 over the square root of the number) widens the error as for
    an AR(1) process, and reduces the degrees of freedom.
    """
    size = logs.size
    if size < 2:
        return 0.0, 0.0, 0.0
    error = float(logs.std(ddof=1) / np.sqrt(size))
    freedom = size - 1.0
    residuals = logs - logs.mean()
    power = float(residuals @ residuals)
    if size < CORRELATED_FROM or power <= 0.0:
        return error, freedom, 0.0
    correlation = float(residuals[1:] @ residuals[:-1]) / power
    if correlation <= 2.0 / np.sqrt(size):
        return error, freedom, 0.0
    inflation = inflation_of(correlation)
    return error * inflation, max(freedom / inflation**2, 1.0), correlation


def inflation_of(correlation: float) -> float:
    """Return by what factor AR(1) correlation widens the standard error of a mean."""
    return math.sqrt((1.0 + correlation) / (1.0 - correlation))


def ratio_from(difference: float, error: float, freedom: float, correlation: float = 0.0) -> Ratio:
    """Return the ratio of a difference of logarithms with its standard error."""
    value = exponential(difference)
    if not freedom:
        return Ratio(value=value, interval=None, p_value=None, freedom=0.0)
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
