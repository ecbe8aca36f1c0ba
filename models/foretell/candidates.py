"""The candidates: simple ways to continue a series of values beyond its last point.

All work on the logarithms of points and values, relative to the last point, so that units do not
matter. Each is exact for one kind of growth, and wrong for others; `held_out` finds out which.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.foretell.growth import normal_form, through_two, work_and_cost
from hindmost.models.pmnf.space import PAPER
from hindmost.models.pmnf.term import Exponents


class Candidate(StrEnum):
    """A way to continue a series, in words; in the order of all arrays over candidates."""

    SAME = "the last value"
    HALF = "half the last slope"
    SLOPE_OF_3 = "the slope of the last 3 points, from the last value"
    POWER_OF_3 = "a power law through the last 3 points"
    POWER_OF_4 = "a power law through the last 4 points"
    LINE = "a straight line through the last 2 points"
    PROPORTIONAL = "growth in proportion from the last value"
    SHARED = "ideal strong scaling from the last value"
    INVERSE = "a constant and a shared part through the last 2 points"
    LOGARITHM = "a logarithm through the last 2 points"
    WORK_AND_COST = "shared work, a constant and a growing part over the last 4 points"
    MEAN_SLOPE = "the mean slope of the last 3 steps"
    NORMAL_FORM = "a normal form of all points"
    LIKELIER_FORM = "a normal form of all points, with the likelier kind of noise"
    USUAL_SLOPE = "the usual slope, from the last value"
    WIDE_LINE = "a straight line through the last point and the last but two"
    LINEARITHMIC = "a constant and p log p through the last 2 points"


COUNT = len(Candidate)
REACH = np.array([1, 2, 3, 3, 4, 2, 1, 1, 2, 2, 4, 4, np.inf, np.inf, 1, 3, 2])
"""Points that each candidate continues; infinite for all."""
LONG = 8
"""Points from which a series is long: it tells more of itself, and is learnt from apart."""
OF_LONG = np.array([each in ("LIKELIER_FORM", "WIDE_LINE") for each in Candidate.__members__])
OF_SHORT = np.array([each == "LINEARITHMIC" for each in Candidate.__members__])
"""Candidates that only long or only short series are given: the others foretell worse with them."""
FORMS = np.array([each.endswith("_FORM") for each in Candidate.__members__])
"""Candidates that are a model of all points."""

TERMS: tuple[Exponents, ...] = (
    *PAPER.exponents,
    *((Fraction(power), Fraction(0)) for power in ("1/3", "2/3", "3/4", "5/4", "4/3", "5/3")),
)
"""Of `NORMAL_FORM`: the default search space and powers between its own."""
SAME = list(Candidate).index(Candidate.SAME)
FALL_TO_ZERO = (3.0, 1.0)
"""What stands for the logarithm of zero and less: a fall with this slope, after one by this."""
FARTHEST = 8.0
"""Slope that no prediction exceeds."""
LEAST_LOGARITHM = 0.7
"""Of the last point in `LINEARITHMIC`, which is 2 at least."""


@part
def continue_series(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    terms: NDArray[np.float64],
    count: int,
    target: int,
    answer: NDArray[np.float64],
) -> None:
    """Predict the logarithm of the value at one point from the first `count` ones.

    Parameters
    ----------
    x, y : float64 array, shape (at least count,)
        Logarithms of points and values.
    terms : float64 array, shape (term, point)
        `TERMS` at every point, up to a factor.
    count : int
        At least 3.
    target : int
        Number of the point to predict.
    answer : float64 array, shape (candidate,)
        Result.
    """
    last = count - 1
    here, ahead = y[last], x[target] - x[last]
    step = x[last] - x[last - 1]
    slope = (y[last] - y[last - 1]) / step
    # Ratios to the last point and the last value, so that no unit and no size matters.
    before, grown = np.exp(-step), np.exp(ahead)
    ratio = np.exp(y[last - 1] - here)
    answer[0] = here
    answer[1] = here + 0.5 * slope * ahead
    # Power laws: straight lines through the last 3 and 4 logarithms, by least squares.
    begin = 0
    for points in range(3, 5):
        begin = count - points if count > points else 0
        middle, level = 0.0, 0.0
        for at in range(begin, count):
            middle += x[at] / (count - begin)
            level += y[at] / (count - begin)
        length, along = 0.0, 0.0
        for at in range(begin, count):
            length += (x[at] - middle) * (x[at] - middle)
            along += (x[at] - middle) * (y[at] - level)
        if points == 3:
            answer[2] = here + along / length * ahead
        answer[points] = level + along / length * (x[target] - middle)
    # Functions a + b g(p) through the last two points: g = p, 1 / p, log p.
    lowest = -FALL_TO_ZERO[0] * ahead - FALL_TO_ZERO[1]
    answer[5] = here + through_two(ratio, before - 1.0, grown - 1.0, lowest)
    answer[6] = here + ahead
    answer[7] = here - ahead
    answer[8] = here + through_two(ratio, 1.0 / before - 1.0, 1.0 / grown - 1.0, lowest)
    answer[9] = here + through_two(ratio, -step, ahead, lowest)
    answer[10] = here + work_and_cost(x, y, begin, count, ahead, lowest)
    steps = 3 if last > 3 else last
    mean = 0.0
    slopes = np.empty(last)  # of all steps, sorted as they come
    for at in range(last):
        rise = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
        if at >= last - steps:
            mean += rise / steps
        place = at
        while place > 0 and slopes[place - 1] > rise:
            slopes[place] = slopes[place - 1]
            place -= 1
        slopes[place] = rise
    answer[11] = here + mean * ahead
    relative, likely = normal_form(y, terms, count, target, here + lowest, 1.0)
    absolute, likelier = normal_form(y, terms, count, target, here + lowest, 0.0)
    answer[12] = relative
    answer[13] = absolute if likelier > likely else relative
    usual = 0.5 * (slopes[(last - 1) // 2] + slopes[last // 2])  # their median
    answer[14] = here + usual * ahead
    wide = x[last] - x[last - 2]
    answer[15] = here + through_two(
        np.exp(y[last - 2] - here), np.exp(-wide) - 1.0, grown - 1.0, lowest
    )
    size = max(x[last], LEAST_LOGARITHM)  # of p, which has no unit where p log p makes sense
    answer[16] = here + through_two(
        ratio, before * (size - step) / size - 1.0, grown * (size + ahead) / size - 1.0, lowest
    )
    for one in range(answer.size):
        if not np.isfinite(answer[one]):
            answer[one] = here
        away = FARTHEST * np.abs(ahead) + 1.0
        answer[one] = min(max(answer[one], here - away), here + away)
