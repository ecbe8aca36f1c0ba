"""Single values far from both of their neighbours, which agree with each other.

Something else was measured there: another unit, another machine, a disturbed run. One such value
sways every fit, as far as a constant for what grows. So it is left out and named, unless it was
repeated or points would become too few.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LONE = 10.0
"""Ratio of a value to what its neighbours suggest, from which something else was measured."""


def lone_ratios(table: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the values that are far from what their neighbours suggest, by power laws between them.

    Over several parameters, neighbours are those on the lines along which only one parameter
    changes; a value that is like its neighbours along any line is not alone, nor is the end of a
    line that continues what the two points before it suggest.

    Parameters
    ----------
    table : float64 array, shape (point, parameter)
    values : float64 array, shape (kernel, point)
        Those that are not above 0 have no ratio, nor have their neighbours.

    Returns
    -------
    float64 array, shape (kernel, point)
        The ratio to what the neighbours suggest; NaN of values that are not alone.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.where(values > 0.0, np.log(values), np.nan)
    off = np.full(values.shape, np.nan)
    usual = np.zeros(values.shape, bool)
    for axis in range(table.shape[1]):
        for line in lines_along(table, axis):
            x, inner = np.log(table[line, axis]), line[1:-1]
            before, after = y[:, line[:-2]], y[:, line[2:]]
            part = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
            here = y[:, inner] - (before + part * (after - before))
            alone = (np.abs(here) > np.log(LONE)) & (np.abs(after - before) < 0.5 * np.abs(here))
            usual[:, inner] |= ~alone
            off[:, inner] = np.where(alone, here, off[:, inner])
            for end, one, two in ((0, 1, 2), (-1, -2, -3)):
                slope = (y[:, line[one]] - y[:, line[two]]) / (x[one] - x[two])
                beyond = y[:, line[end]] - (y[:, line[one]] + slope * (x[end] - x[one]))
                usual[:, line[end]] |= np.abs(beyond) <= np.log(LONE)
    off[usual] = np.nan
    # Where more than one in six is alone, the series jumps to and fro.
    many = np.isfinite(off).sum(axis=1) > max(1, table.shape[0] // 6)
    off[many] = np.nan
    return np.asarray(np.exp(off))


def lines_along(table: NDArray[np.float64], axis: int) -> list[NDArray[np.intp]]:
    """Return the numbers of the points on each line along a parameter, in ascending order."""
    others = np.delete(table, axis, axis=1)
    which = np.zeros(table.shape[0], np.intp)
    if others.shape[1]:
        which = np.unique(others, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((table[:, axis], which))
    borders = np.flatnonzero(np.diff(which[order])) + 1
    return [line for line in np.split(order, borders) if line.size >= 4]


def to_leave_out(
    table: NDArray[np.float64],
    ratios: NDArray[np.float64],
    values: NDArray[np.float64],
    repetitions: NDArray[np.intp],
    *,
    enough: int,
    least: int,
) -> NDArray[np.bool_]:
    """Say which lone values are left out: bool array, shape (kernel, point).

    Parameters
    ----------
    ratios, values : float64 array, shape (kernel, point)
    repetitions : int array, shape (kernel, point)
    enough : int
        Repetitions that show that a value is as it is.
    least : int
        Values of each parameter that must be left.
    """
    out = np.isfinite(ratios) & (repetitions < enough)
    for kernel in np.flatnonzero(out.any(axis=1)):
        left = table[~out[kernel] & np.isfinite(values[kernel])]
        if any(np.unique(column).size < least for column in left.T):
            out[kernel] = False
    return out
