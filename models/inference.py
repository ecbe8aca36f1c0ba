"""Inference, in one place: intervals of a further value, means and ratios of samples, repeats.

- `student_reach`: where a further value lies (prediction interval), or a mean (`further=False`).
- `replica_interval`: where a further replica lies, whatever the law of many of them.
- `ratio_of` and `paired_ratio`: two samples, by Welch's and Student's test; `difference_interval`.
- `holm`: p-values of several tests.
- `separated` and `order_chance`: on which side all repeats of one lie, and its chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.9
"""Probability of an interval where no other is asked for."""
MATTERS = 0.05
"""Difference or share from which on it is worth advice, and a rank has more work."""
DECIDES = 0.1
"""Largest chance of an order of repeats with which it is told as a fact."""
EQUAL = 1e-12
"""Differences of logarithms up to this are rounding errors."""
MAX_LOG = 700.0
"""Logarithms beyond it have no floating-point number."""
Sample = NDArray[np.float64]


# One sample.


def student(freedom: float, level: float = LEVEL) -> float:
    """Return the quantile of Student's law whose two-sided probability is `level`."""
    from scipy import special  # not waited for by commands that fit nothing

    return float(special.stdtrit(freedom, 0.5 + 0.5 * level))


def student_reach(sample: Sample, level: float = LEVEL, *, further: bool = True) -> float:
    """Return half the width of the interval of a further value of a normal sample, or of its mean.

    Parameters
    ----------
    sample : float64 array, shape (value,)
        At least two.
    further : bool
        Of one more value; else of the mean.
    """
    spread = float(sample.std(ddof=1)) * math.sqrt(float(further) + 1.0 / sample.size)
    return student(sample.size - 1, level) * spread


def replica_interval(drawn_s: Sample) -> tuple[float, float]:
    """Return where a further replica lies with a probability of `LEVEL`, in seconds.

    Of n replicas, each is the smallest or the largest of n + 1 with probability 1 / (n + 1),
    whatever their law: those from 19 on have their k-th smallest and largest times. Fewer are taken
    as lognormal, with Student's t, and their interval has all of them.

    Parameters
    ----------
    drawn_s : float64 array, shape (replica,), seconds
        A single one has no width.
    """
    count, times_s = drawn_s.size, np.sort(drawn_s)
    place = int((1.0 - LEVEL) / 2.0 * (count + 1) + EQUAL)
    if place:
        return float(times_s[place - 1]), float(times_s[-place])
    if times_s[0] <= 0.0 or times_s[0] == times_s[-1]:
        return float(times_s[0]), float(times_s[-1])
    logs = np.log(times_s)
    middle, reach = float(logs.mean()), student_reach(logs)
    low_s, high_s = math.exp(middle - reach), math.exp(middle + reach)
    return min(low_s, float(times_s[0])), max(high_s, float(times_s[-1]))


class Estimate(NamedTuple):
    """A mean.

    Attributes
    ----------
    value : float
    error, freedom : float
        Its standard error and the degrees of freedom of that; 0 if there are too few data.
    correlation : float
        Lag-1 correlation that widened the error.
    """

    value: float
    error: float
    freedom: float
    correlation: float = 0.0


def mean_of(sample: Sample) -> Estimate:
    """Return the mean of values in the order of time, shape (observation,).

    A significant correlation (beyond 2 over the square root of the number) widens the error as for
    an AR(1) process, and reduces the degrees of freedom.
    """
    size, independent = sample.size, mean_and_error(sample)
    residuals = sample - independent.value
    power = float(residuals @ residuals)
    if size < 10 or power <= 0.0:
        return independent
    correlation = float(residuals[1:] @ residuals[:-1]) / power
    if correlation <= 2.0 / np.sqrt(size):
        return independent
    inflation = inflation_of(correlation)
    return Estimate(
        independent.value,
        independent.error * inflation,
        max((size - 1.0) / inflation**2, 1.0),
        correlation,
    )


def mean_and_error(sample: Sample) -> Estimate:
    """Return the mean of independent values, shape (value,)."""
    size = sample.size
    error = float(sample.std(ddof=1)) / math.sqrt(size) if size > 1 else 0.0
    return Estimate(float(sample.mean()), error, size - 1.0)


def inflation_of(correlation: float) -> float:
    """Return by what factor AR(1) correlation widens the standard error of a mean."""
    return math.sqrt((1.0 + correlation) / (1.0 - correlation))


# Two samples.


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The ratio of two times or values.

    Attributes
    ----------
    value : float
        Above 1: the second is larger. NaN if only the interval is known.
    interval : (float, float) or None
        At `LEVEL`; None if there are too few data.
    p_value : float or None
        Of the hypothesis that the two are equal, two-sided; None if it was not tested.
    freedom : float
        Degrees of freedom of Student's law; infinite for a normal law, 0 if there is none.
    correlation : float
        Lag-1 correlation that widened the interval; 0 if there is none.
    """

    value: float
    interval: tuple[float, float] | None
    p_value: float | None = None
    freedom: float = 0.0
    correlation: float = 0.0


def ratio_of(*sides: Estimate) -> Ratio:
    """Compare the means of logarithms of two sides by Welch's test; of one side, with 0."""
    correlation = max(side.correlation for side in sides)
    difference = sides[-1].value - (sides[0].value if len(sides) > 1 else 0.0)
    value = exponential(difference)
    if not all(side.freedom for side in sides):
        return Ratio(value=value, interval=None)
    error, freedom = math.hypot(*(side.error for side in sides)), welch_freedom(sides)
    if error > EQUAL:
        from scipy import special

        reach = student(freedom, LEVEL) * error
        p_value = float(2.0 * special.stdtr(freedom, -abs(difference) / error))
    else:  # all observations are equal, as counts often are
        reach, p_value = 0.0, 1.0 if abs(difference) <= EQUAL else 0.0
    return Ratio(
        value=value,
        interval=(exponential(difference - reach), exponential(difference + reach)),
        p_value=p_value,
        freedom=freedom,
        correlation=correlation,
    )


def welch_freedom(sides: Sequence[Estimate]) -> float:
    """Return the degrees of freedom of a difference (Welch 1947; Satterthwaite 1946)."""
    error = math.hypot(*(side.error for side in sides))
    if error <= 0.0:
        return sum(side.freedom for side in sides)
    # Shares first: the fourth power of a small error may underflow.
    spent = sum((side.error / error) ** 4 / side.freedom for side in sides)
    return 1.0 / spent if spent > 0.0 else math.inf


def ratio_of_samples(first: Sample, second: Sample) -> Ratio:
    """Compare two independent samples by their geometric means.

    Parameters
    ----------
    first, second : float64 array, shape (value,)
        Above zero, in the order of time.
    """
    return ratio_of(mean_of(np.log(first)), mean_of(np.log(second)))


def paired_ratio(first: Sample, second: Sample) -> Ratio:
    """Compare pairs by Student's test of the mean log ratio.

    Parameters
    ----------
    first, second : float64 array, shape (pair,), in the order of time
        Above zero.
    """
    return ratio_of(mean_of(np.log(second) - np.log(first)))


def drifting_ratio(first: Sample, second: Sample) -> tuple[float, Ratio]:
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
    return exponential(end.value + float(line.slope * place[0])), ratio_of(end)


def exponential(logarithm: float) -> float:
    """Return a ratio from its logarithm, limited to the range of floating-point numbers."""
    return math.exp(min(max(logarithm, -MAX_LOG), MAX_LOG))


def difference_interval(first: Sample, second: Sample, level: float = 0.99) -> tuple[float, float]:
    """Return the interval of the difference of two means, the second's less the first's (Welch).

    A single value has the spread of the others.

    Parameters
    ----------
    first, second : float64 array, shape (value,)
        At least two values of one of them.
    level : float
        Probability of the interval.
    """
    estimates = [mean_and_error(side) for side in (first, second)]
    known = max(estimates, key=lambda side: side.freedom)
    spread = known.error * math.sqrt(known.freedom + 1.0)
    sides = [side if side.freedom else Estimate(side.value, spread, 0.0) for side in estimates]
    freedom = welch_freedom(sides) if all(side.freedom for side in sides) else known.freedom
    difference = sides[1].value - sides[0].value
    reach = student(freedom, level) * math.hypot(*(side.error for side in sides))
    return difference - reach, difference + reach


# Several tests, and repeats.


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979, A simple sequentially rejective procedure)."""
    order = np.argsort(p_values)
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order.tolist()):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = highest
    return adjusted


def order_chance(first: int, second: int) -> float:
    """Return the chance that all of some values lie on one side of all others, whichever side.

    That is if both come from one distribution: two orders of all that are equally likely. Two
    repeats of each do so in 1 of 3.

    Parameters
    ----------
    first, second : int
        Numbers of values.

    Examples
    --------
    >>> round(1.0 / order_chance(2, 2), 3), round(1.0 / order_chance(3, 3), 3)
    (3.0, 10.0)
    """
    return 2.0 / math.comb(first + second, first)


def separated(first: Sequence[float], second: Sequence[float]) -> tuple[int, float]:
    """Return on which side of some values all others lie, and the chance of that.

    Returns
    -------
    int
        -1 if all of the second are smaller, 1 if all are larger, 0 if the two overlap.
    float
        See `order_chance`; 1 if they overlap.
    """
    side = int(min(second) > max(first)) - int(max(second) < min(first))
    return side, order_chance(len(first), len(second)) if side else 1.0


def repeats_words(first: Sequence[float], second: Sequence[float]) -> str:
    """Say why repeats do not decide in which order they are; empty if they do."""
    if max(len(first), len(second)) < 2:
        return "there are no repeats"
    if min(len(first), len(second)) < 2:
        return "one of the two has no repeats"
    side, chance = separated(first, second)
    if not side:
        return "the repeats overlap"
    if chance <= DECIDES:
        return ""
    return (
        f"{len(first)} and {len(second)} are in an order by chance in 1 of {1.0 / chance:.0f}; "
        "repeat each three times"
    )
