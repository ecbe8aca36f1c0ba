"""The estimates that describe the segments, as tables with named columns; needs numba."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops
from hindmost.models.changepoint.robust.line import LINE
from hindmost.models.changepoint.robust.placement import place_interval
from hindmost.models.changepoint.robust.seams import compare_at_seam
from hindmost.models.changepoint.robust.search import Segments
from hindmost.models.changepoint.robust.settings import RobustSettings
from hindmost.models.changepoint.robust.tested import segment_moments

SEAM = np.dtype(
    [
        ("place", np.int64),
        ("before", np.float64),
        ("after", np.float64),
        ("error", np.float64),
        ("freedom", np.float64),
        ("p_value", np.float64),
        ("first", np.int64),
        ("last", np.int64),
        ("is_step", np.bool_),
    ]
)
"""What lies between two segments: its first observation; the levels before and after (logarithms),
the standard error of their difference, its degrees of freedom and p-value; the first and last place
where the change may lie; and whether it is a step, or only where a trend begins or ends."""
SEGMENT = np.dtype(
    [
        ("begin", np.int64),
        ("end", np.int64),
        ("level", np.float64),
        ("error", np.float64),
        ("freedom", np.float64),
        ("deviation", np.float64),
        ("inliers", np.int64),
        ("slope", np.float64),
    ]
)
"""A segment: its first observation and the one after its last; its level in the middle (a
logarithm) with standard error and degrees of freedom; the standard deviation of the noise; the
number of inliers; and the slope per night."""


def describe_seams(
    y: NDArray[np.float64],
    found: Segments,
    may_change: NDArray[np.bool_],
    settings: RobustSettings,
    level: float,
) -> NDArray[np.void]:
    """Describe what lies between segments.

    Returns
    -------
    SEAM array, shape (segment - 1,)
    """
    starts, kinds = found.starts, found.kinds
    rows = np.zeros(starts.size - 1, SEAM)
    for s in range(1, starts.size):
        seam = starts[s]
        test = compare_at_seam(y, found, settings, s)
        before = loops.moments_of(
            test.flat, test.begin, seam, test.sigma[test.begin], settings.above
        )[0]
        wide = test.sigma * math.sqrt((1.0 + found.rho) / (1.0 - found.rho))
        first, last = place_interval(
            test.flat,
            test.begin,
            seam,
            test.end,
            wide,
            settings.above,
            settings.below,
            may_change,
            level,
        )
        # Where a line begins or ends there may be no step.
        alpha = settings.refuted if seam in found.held else settings.alpha
        step = test.p <= alpha and abs(test.difference) >= settings.least
        line = kinds[s - 1] == LINE or kinds[s] == LINE
        rows[s - 1] = (
            seam,
            before,
            before + test.difference,
            test.error,
            test.freedom,
            test.p,
            first,
            last,
            (step or not line) and seam not in found.doubtful,
        )
    return rows


def describe_segments(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
) -> tuple[NDArray[np.void], NDArray[np.float64]]:
    """Describe the segments, and fit every night.

    Returns
    -------
    SEGMENT array, shape (segment,)
    float64 array, shape (observation,)
        The fit.
    """
    n = y.size
    rows = np.zeros(starts.size, SEGMENT)
    wide = sigma * math.sqrt((1.0 + rho) / (1.0 - rho))
    fitted = loops.levels_of(y, starts, wide, settings.above)
    lines = fitted.copy()
    for s in range(starts.size):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < starts.size else n
        slope, level, error, freedom, variance, count = segment_moments(
            y, begin, end, kinds[s] == LINE, sigma, wide, fitted, rho, settings
        )
        deviation = math.sqrt(variance)
        rows[s] = (begin, end, level, math.sqrt(error), freedom, deviation, count, slope)
        lines[begin:end] = level + slope * (np.arange(end - begin) - 0.5 * (end - begin - 1))
    return rows, lines


def describe_outliers(
    y: NDArray[np.float64],
    fitted: NDArray[np.float64],
    sigma: NDArray[np.float64],
    came_back: NDArray[np.bool_],
    outlying: float,
) -> list[tuple[int, int, float]]:
    """Join observations far from the fit, and those of runs that came back, into runs.

    Parameters
    ----------
    y, fitted, sigma : float64 arrays, shape (observation,)
    came_back : bool array, shape (observation,)
    outlying : float
        In standard deviations.

    Returns
    -------
    list of (begin, end, effect)
        The effect is the median difference of logarithms.
    """
    far = (np.abs(y - fitted) > outlying * sigma) | came_back
    edges = np.flatnonzero(np.diff(far, prepend=False, append=False))
    return [
        (begin, end, float(loops.median(y[begin:end] - fitted[begin:end])))
        for begin, end in edges.reshape(-1, 2).tolist()
    ]
