"""The loops of the report's algorithms 1 to 3; they need numba: import them inside functions.

Kyle Shan, Performance Variation of the Albany Land-Ice Code (2020), section 3. Where its text and
its pseudocode differ, they do what reproduces the published page: the level is divided by k however
many places are tested, only sides of ten observations or more are trimmed, by a tenth of the side,
and the statistic counts the trimmed observations too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.noise import MAD_TO_SIGMA
from hindmost.models.compiled import declared, part

BOUND = 3.0
"""In standard deviations: an outlier lies farther from the median."""


@part
def moments(x: NDArray[np.float64], trims: bool) -> tuple[float, float]:
    """Return the mean and the variance of a side, without its outliers where it is trimmed."""
    stays = n = x.size
    order = np.arange(n)
    if trims and n >= 10:
        # Section 3.3: remove what lies beyond 3 standard deviations by the median absolute
        # deviation, the farthest first, up to a tenth of the data.
        distance = np.abs(x - np.median(x))
        bound = BOUND * MAD_TO_SIGMA * np.median(distance)
        order = np.argsort(distance, kind="mergesort")
        while stays > n - n // 10 and distance[order[stays - 1]] > bound:
            stays -= 1
    mean = 0.0
    for i in order[:stays]:
        mean += x[i]
    mean /= stays
    square = 0.0
    for i in order[:stays]:
        square += (x[i] - mean) ** 2
    return mean, square / stays


@part
def t_statistic(left: tuple[float, float], right: tuple[float, float], n: int, m: int) -> float:
    """Return Student's t statistic of two sides of n and m observations, without its sign.

    Parameters
    ----------
    left, right : (mean, variance)
    n, m : int
    """
    difference = abs(right[0] - left[0])
    # The means of logarithms may differ by an error of rounding.
    if n + m < 3 or difference < 1e-11:
        return 0.0
    # The variances are pooled (section 3.1); n + m - 2 degrees of freedom.
    square = ((n - 1) * left[1] + (m - 1) * right[1]) / (n + m - 2.0) * (1.0 / n + 1.0 / m)
    t: float = difference / np.sqrt(square) if square > 0.0 else np.inf
    return t


@part
def statistic_at(x: NDArray[np.float64], place: int, trims: bool) -> float:
    """Return the statistic of x_1 .. x_(nu-1) against x_nu .. x_n; place is nu, from 0 on."""
    t: float = t_statistic(
        moments(x[:place], trims), moments(x[place:], trims), place, x.size - place
    )
    return t


@declared("(f8[::1], b1)")
def statistics(x: NDArray[np.float64], trims: bool) -> NDArray[np.float64]:
    """Return the statistic of a change at every place; 0 at the first."""
    t = np.zeros(x.size)
    for place in range(1, x.size):
        t[place] = statistic_at(x, place, trims)
    return t


@part
def single(
    x: NDArray[np.float64],
    critical: NDArray[np.float64],
    k: int,
    trims: bool,
    statistic: NDArray[np.float64],
) -> None:
    """Run algorithm 1: write the t statistic of every viable candidate, and 0 elsewhere.

    Parameters
    ----------
    x : float64 array, shape (observation,)
        Logarithms of times.
    critical : float64 array, shape (freedom,)
        t* by the degrees of freedom.
    k : int
        Largest first differences to look at.
    trims : bool
    statistic : float64 array, shape (observation,)
        Is overwritten.
    """
    n = x.size
    statistic[:] = 0.0
    if n < 3:
        return
    # K: the k places with the largest |x_nu - x_(nu-1)|; viable where |t| > t*.
    order = np.argsort(-np.abs(x[1:] - x[:-1]), kind="mergesort") + 1
    for place in order[:k]:
        t = statistic_at(x, place, trims)
        if t > critical[n - 2]:
            statistic[place] = t


run_single = declared("(f8[::1], f8[::1], i8, b1, f8[::1])")(single)
"""`single`, for those that are no loop."""


@declared("(f8[::1], f8[::1], i8, i8, i8, b1)")
def several(
    x: NDArray[np.float64],
    critical: NDArray[np.float64],
    k: int,
    confirmations: int,
    window: int,
    trims: bool,
) -> tuple[list[int], list[int]]:
    """Run algorithm 2 or 3: read night by night, and mark changes as they are detected.

    Algorithm 2 is algorithm 3 with one confirmation, an unlimited window and no trimming.

    Returns
    -------
    changes : list of int
        The first observation of each new regime.
    seen : list of int
        The last observation that had been read when a change was detected.
    """
    n = x.size
    recent = np.zeros((confirmations, n))  # row j % m: S_j, the statistics at observation j
    changes = [0 for _ in range(0)]
    seen = [0 for _ in range(0)]
    i, j = 0, 0
    while j < n:
        row = recent[j % confirmations]
        row[:] = 0.0
        # C_j, S_j: the candidates of x_i .. x_j with their statistics.
        single(x[i : j + 1], critical, k, trims, row[i : j + 1])
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
    return changes, seen
