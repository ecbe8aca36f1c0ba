"""The loops of the report's algorithms 1 to 3; they need numba: import them inside functions.

Kyle Shan, Performance Variation of the Albany Land-Ice Code (2020), section 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.student import two_sided
from hindmost.models.compiled import declared, part

MAD_TO_SIGMA = 1.4826
"""The median absolute deviation of a normal law times this is its standard deviation."""
BOUND = 3.0
"""In standard deviations: an outlier lies farther from the median."""
ROUNDING = 1e-11
"""Difference of the means of logarithms that may be an error of rounding."""
DIVISOR_K, DIVISOR_TESTED, DIVISOR_LARGER = 0, 1, 2
RULES = "Tuple((b1, i8, i8, b1, b1, i8))"
"""Types of the rules of a variant."""


@part
def trimmed(
    x: NDArray[np.float64], trims_from: int, most: int, less: int
) -> tuple[float, float, int]:
    """Return the mean, the variance and the count of a side without its outliers.

    Parameters
    ----------
    x : float64 array, shape (observation,)
    trims_from : int
        Shorter sides are left as they are.
    most : int
        Observations that may go, the farthest from the median first.
    less : int
        0 or 1: what is taken from the count to divide the squares by.
    """
    n = x.size
    stays = n
    order = np.arange(n)
    if n >= trims_from and most > 0:
        # Section 3.3: remove what lies beyond 3 standard deviations by the median absolute
        # deviation, the farthest first, up to a tenth of the data.
        distance = np.abs(x - np.median(x))
        bound = BOUND * MAD_TO_SIGMA * np.median(distance)
        order = np.argsort(distance, kind="mergesort")
        while stays > n - most and distance[order[stays - 1]] > bound:
            stays -= 1
    mean = 0.0
    for i in order[:stays]:
        mean += x[i]
    mean /= stays
    square = 0.0
    for i in order[:stays]:
        square += (x[i] - mean) ** 2
    return mean, square / max(stays - less, 1), stays


@part
def t_test(
    left: tuple[float, float, int], right: tuple[float, float, int], welch: bool
) -> tuple[float, float]:
    """Return the t statistic of two sides without its sign, and its two-sided p-value.

    Parameters
    ----------
    left, right : (mean, variance, count)
    welch : bool
        Whether the variances may differ; each side then needs two observations.
    """
    n, m = left[2], right[2]
    # Student's t-test pools the variances (section 3.1); Welch's does not (section 5.1).
    if n + m < 3 or (welch and min(n, m) < 2):
        return 0.0, 1.0
    if welch:
        a, b = left[1] / n, right[1] / m
        square = a + b
        freedom = 1.0
        if square > 0.0:
            freedom = square * square / (a * a / (n - 1) + b * b / (m - 1))
    else:
        freedom = n + m - 2.0
        square = ((n - 1) * left[1] + (m - 1) * right[1]) / freedom * (1.0 / n + 1.0 / m)
    difference = abs(right[0] - left[0])
    if difference < ROUNDING:
        return 0.0, 1.0
    if square <= 0.0:
        return (np.inf, 0.0) if difference > 0.0 else (0.0, 1.0)
    t = difference / np.sqrt(square)
    return t, two_sided(t, freedom)


@part
def test_at(
    x: NDArray[np.float64],
    place: int,
    rules: tuple[bool, int, int, bool, bool, int],
    welch: bool,
) -> tuple[float, float]:
    """Return the t statistic and the p-value of x_1 .. x_(nu-1) against x_nu .. x_n.

    Parameters
    ----------
    x : float64 array, shape (observation,)
    place : int
        nu, from 0 on.
    rules : tuple
        Of `Variant`, as for `single`.
    """
    _, _, trims_from, of_both, keeps_count, less = rules
    n = x.size
    size = (place, n - place)
    left = trimmed(x[:place], trims_from, (n if of_both else size[0]) // 10, less)
    right = trimmed(x[place:], trims_from, (n if of_both else size[1]) // 10, less)
    if keeps_count:
        left = (left[0], left[1], size[0])
        right = (right[0], right[1], size[1])
    t, p = t_test(left, right, welch)
    return t, p


@declared(f"(f8[::1], {RULES}, b1, f8[::1])")
def candidate_p(
    x: NDArray[np.float64],
    rules: tuple[bool, int, int, bool, bool, int],
    welch: bool,
    p: NDArray[np.float64],
) -> None:
    """Write the p-value of a change at every place but the first."""
    for place in range(1, x.size):
        p[place] = test_at(x, place, rules, welch)[1]


@part
def single(
    x: NDArray[np.float64],
    may_change: NDArray[np.bool_],
    alpha: float,
    k: int,
    rules: tuple[bool, int, int, bool, bool, int],
    welch: bool,
    statistic: NDArray[np.float64],
) -> None:
    """Run algorithm 1: write the t statistic of every viable candidate, and 0 elsewhere.

    Parameters
    ----------
    x : float64 array, shape (observation,)
        Logarithms of times.
    may_change : bool array, shape (observation,)
        Whether a regime may begin at an observation.
    alpha : float
        Before it is divided by the number of tests.
    k : int
        Largest first differences to look at.
    rules : tuple
        Of `Variant`: tests all places, divisor, trims from, trims a tenth of both sides, keeps the
        full count, and what is taken from it for the variance.
    welch : bool
    statistic : float64 array, shape (observation,)
        Is overwritten.
    """
    tests_all, divisor = rules[0], rules[1]
    n = x.size
    statistic[:] = 0.0
    if n < 3:
        return
    # K: the places in descending order of |x_nu - x_(nu-1)|, where a regime may begin.
    order = np.argsort(-np.abs(x[1:] - x[:-1]), kind="mergesort") + 1
    order = order[may_change[order]]
    # Bonferroni: alpha is divided by the number of tests, which the readings count differently.
    tested = order.size if tests_all else min(k, order.size)
    tests = k
    if divisor == DIVISOR_TESTED:
        tests = max(tested, 1)
    elif divisor == DIVISOR_LARGER:
        tests = max(n, k)
    for place in order[:tested]:
        # t-test of x_1 .. x_(nu-1) against x_nu .. x_n; viable where |t| > t*.
        t, p = test_at(x, place, rules, welch)
        if p < alpha / tests:
            statistic[place] = t


run_single = declared(f"(f8[::1], b1[::1], f8, i8, {RULES}, b1, f8[::1])")(single)
"""`single`, for those that are no loop."""


@declared(f"(f8[::1], b1[::1], f8, i8, i8, i8, {RULES}, b1)")
def several(
    x: NDArray[np.float64],
    may_change: NDArray[np.bool_],
    alpha: float,
    k: int,
    confirmations: int,
    window: int,
    rules: tuple[bool, int, int, bool, bool, int],
    welch: bool,
) -> tuple[list[int], list[int], list[bool]]:
    """Run algorithm 2 or 3: read night by night, and mark changes as they are detected.

    Algorithm 2 is algorithm 3 with one confirmation, an unlimited window and no trimming.

    Returns
    -------
    changes : list of int
        The first observation of each new regime.
    seen : list of int
        The last observation that had been read when a change was detected.
    suspects : list of bool, shape (observation,)
        Places that are candidates at the last observation, but not yet for long enough.
    """
    n = x.size
    recent = np.zeros((confirmations, n))  # row j % m: S_j, the statistics at observation j
    changes = [0 for _ in range(0)]
    seen = [0 for _ in range(0)]
    suspects = [False for _ in range(n)]
    i, j = 0, 0
    while j < n:
        row = recent[j % confirmations]
        row[:] = 0.0
        # C_j, S_j: the candidates of x_i .. x_j with their statistics.
        single(x[i : j + 1], may_change[i : j + 1], alpha, k, rules, welch, row[i : j + 1])
        # V: the candidates in all of the last m passes; nu* has the largest sum of statistics.
        best, most = -1, 0.0
        for place in range(i + 1, j + 1):
            total = 0.0
            for r in range(confirmations):
                if recent[r, place] <= 0.0:
                    total = 0.0
                    break
                total += recent[r, place]
            if total > most:
                best, most = place, total
        if best >= 0:
            # Backtrack to the change, and disregard the data before it.
            changes.append(best)
            seen.append(j)
            i = best
            recent[:] = 0.0
            j = best + 1
        else:
            # Look back at most over the window, or the smallest of changes becomes significant.
            j += 1
            i = max(i, j - window + 1)
    for place in range(i + 1, n):
        suspects[place] = recent[(n - 1) % confirmations, place] > 0.0
    return changes, seen, suspects
