"""From nights to segments: partition, test, fit lines, and separate outlier runs; needs numba."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops
from hindmost.models.changepoint.robust.line import LINE, settle_seams, straighten
from hindmost.models.changepoint.robust.noise import (
    correlation_of_residuals,
    correlation_of_steps,
    local_factors,
    segment_scales,
    step_scale,
)
from hindmost.models.changepoint.robust.settings import RobustSettings
from hindmost.models.changepoint.robust.switching import join_switching, visits_only
from hindmost.models.changepoint.robust.tested import drop_insignificant

EQUAL_AT = 0.01
"""p-value below which two levels are not equal."""
SAME_NOISE = 0.1
"""Relative change of the noise below which a further pass is omitted."""

NONE = np.zeros(0, np.int64)


class Segments(NamedTuple):
    """The segments of a series.

    Attributes
    ----------
    starts, kinds : int64 arrays, shape (segment,)
        The first observation of each, and whether it is a level, a line or switches.
    sigma : float64 array, shape (observation,)
        Standard deviation of the noise.
    rho : float
        Its AR(1) coefficient.
    came_back : bool array, shape (observation,)
        Whether an observation lies in an outlier run.
    too_small : bool
        Whether there are shifts that are significant, but smaller than ``settings.least``.
    held : int64 array, shape (change,)
        Changes that were held.
    doubtful : int64 array, shape (change,)
        Changes that are not reported before they are held.
    """

    starts: NDArray[np.int64]
    kinds: NDArray[np.int64]
    sigma: NDArray[np.float64]
    rho: float
    came_back: NDArray[np.bool_]
    too_small: bool
    held: NDArray[np.int64]
    doubtful: NDArray[np.int64] = NONE


def without(starts: NDArray[np.int64], gone: int) -> NDArray[np.int64]:
    """Return the segments with one of them joined to the one before."""
    return np.concatenate((starts[:gone], starts[gone + 1 :]))


def significant(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    day: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
    is_held: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], bool]:
    """Join segments, the least significant change first, until all changes pass the test.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
    starts : int64 array, shape (segment,)
    day : int64 array, shape (observation,)
        Runs of one day count as one night for the least length.
    rho : float
    settings : RobustSettings
    is_held : bool array, shape (observation,)
        Where a change stays, whatever the test says.

    Returns
    -------
    starts : int64 array, shape (segment,)
    too_small : bool
        Whether a significant change was removed only because it is below ``settings.least``.
    """
    n = y.size
    too_small = False
    while starts.size > 1:
        # Backward elimination. Above all p-values: 2 - |difference| where a change is too small,
        # and 3 where a segment is too short.
        worst, at, small = -1.0, 0, False
        for s in range(1, starts.size):
            begin = starts[s]
            if is_held[begin]:
                continue
            end = starts[s + 1] if s + 1 < starts.size else n
            difference, _, _, p = loops.compare(
                y,
                (starts[s - 1], begin),
                (begin, end),
                sigma,
                rho,
                settings.above,
                settings.prior_nights,
                settings.wander,
            )
            certain = p <= settings.alpha
            if abs(difference) < settings.least:
                p = 2.0 - abs(difference)
            if s == 1 and day[begin - 1] - day[0] + 1 < settings.first:
                p = 3.0
            if day[end - 1] - day[begin] + 1 < settings.shortest:
                p = 3.0
            if p <= settings.alpha and visits_only(y, starts[s - 1], begin, end, sigma, settings):
                p = 3.0
            if p > worst:
                worst, at, small = p, s, certain and p < 3.0
        if worst <= settings.alpha:
            break
        too_small |= small
        starts = without(starts, at)
    return starts, too_small


def revert(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    day: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
    is_held: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Turn short segments between equal levels into outlier runs (section 5.1 of the report).

    Returns
    -------
    starts, kinds : int64 arrays, shape (segment,)
    came_back : bool array, shape (observation,)
        Whether an observation lies in an outlier run.
    """
    came_back = np.zeros(y.size, np.bool_)
    s = 1
    while s < starts.size - 1:
        begin, end = starts[s], starts[s + 1]
        after = starts[s + 2] if s + 2 < starts.size else y.size
        before = starts[s - 1]
        long = day[end - 1] - day[begin] + 1 > settings.longest_run
        if kinds[s] == LINE or long or is_held[begin] or is_held[end]:
            s += 1
            continue
        # Did the data revert to the previous distribution? Compare the levels before and after.
        difference, _, _, p = loops.compare(
            y,
            (before, begin),
            (end, after),
            sigma,
            rho,
            settings.above,
            settings.prior_nights,
            settings.wander,
        )
        left = loops.moments_of(y, before, begin, sigma[before], settings.above)[0]
        inside = loops.moments_of(y, begin, end, sigma[begin], settings.above)[0]
        height = min(abs(inside - left), abs(inside - left - difference))
        # A level does not scatter; an outlier run may.
        distance = np.abs(y[begin:end] - loops.median(y[begin:end]))
        far = np.count_nonzero(distance > settings.scatter * sigma[begin])
        scattered = far > 1  # a single one may belong to the level before
        short = day[end - 1] - day[begin] + 1 <= settings.certain_run
        if (short or scattered) and abs(difference) < settings.equal * height and p > EQUAL_AT:
            came_back[begin:end] = True
            starts, kinds = without(without(starts, s + 1), s), without(without(kinds, s + 1), s)
            s = max(s - 1, 1)
        else:
            s += 1
    return starts, kinds, came_back


def partition_between(
    y: NDArray[np.float64],
    wide: NDArray[np.float64],
    held: NDArray[np.int64],
    settings: RobustSettings,
    may_change: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Partition the nights between held changes, each piece by itself.

    Returns
    -------
    int64 array, shape (segment,)
    """
    reach = max(settings.above, settings.below)
    found = []
    for begin, end in pairwise([0, *held.tolist(), y.size]):
        piece, scale = y[begin:end], wide[begin:end]
        levels = loops.level_grid(piece, scale.min(), reach, settings.fineness)
        if levels.size == 0:  # few nights far from one another: they have no level
            found.append(np.array([begin]))
            continue
        starts = loops.partition(
            piece,
            scale,
            levels,
            settings.above,
            settings.below,
            settings.penalty,
            settings.shortest,
            may_change[begin:end],
        )
        found.append(begin + starts)
    return np.concatenate(found)


def segments_with(
    y: NDArray[np.float64],
    may_change: NDArray[np.bool_],
    day: NDArray[np.int64],
    settings: RobustSettings,
    held: NDArray[np.int64],
) -> Segments:
    """Find the segments of a series in which some changes are held.

    Parameters
    ----------
    y : float64 array, shape (observation,)
        Logarithms of times.
    may_change : bool array, shape (observation,)
    day : int64 array, shape (observation,)
        Ascending; runs of one day have one number.
    settings : RobustSettings
    held : int64 array, shape (change,)
        Ascending.
    """
    is_held = np.zeros(y.size + 1, np.bool_)
    for place in held:
        is_held[place] = True
    # Noise and correlation from differences, before any change is known.
    steps = np.abs(np.diff(y))
    common = max(step_scale(steps), settings.noise_floor)
    rho = correlation_of_steps(y, common)
    factor = local_factors(steps, common, settings.noise_floor)
    # Differences of correlated nights are smaller.
    sigma = factor * (common / math.sqrt(1.0 - rho))
    starts = np.zeros(1, np.int64)
    fitted = y
    before = np.zeros(y.size)
    # Alternate: levels for the noise so far, then noise and correlation of their residuals.
    for _ in range(settings.passes):
        # A mean of correlated nights varies like that of noisier independent ones.
        wide = sigma * math.sqrt((1.0 + rho) / (1.0 - rho))
        if np.max(np.abs(wide - before) / wide) < SAME_NOISE:
            break
        before = wide
        starts = partition_between(y, wide, held, settings, may_change)
        fitted = loops.levels_of(y, starts, wide, settings.above)
        sigma = segment_scales(
            y - fitted, starts, factor, settings.prior_segment, settings.noise_floor
        )
        rho = correlation_of_residuals(y - fitted, starts, sigma)
    # Test the changes; replace flights of steps by lines; remove outlier runs; join what switches
    # between two levels; and test what is left again.
    starts, too_small = significant(y, starts, day, sigma, rho, settings, is_held)
    kinds = np.zeros(starts.size, np.int64)
    if starts.size > 1:
        wide = sigma * math.sqrt((1.0 + rho) / (1.0 - rho))
        fitted = loops.levels_of(y, starts, wide, settings.above)
        starts, kinds = straighten(
            y,
            starts,
            wide,
            fitted,
            settings.above,
            settings.below,
            settings.penalty,
            settings.slope_penalty,
            settings.shortest_trend,
            settings.least,
            is_held,
        )
        starts = settle_seams(
            y, starts, kinds, wide, fitted, settings.above, settings.below, may_change, is_held
        )
    starts, kinds, came_back = revert(y, starts, kinds, day, sigma, rho, settings, is_held)
    starts, kinds, sigma = join_switching(y, starts, kinds, sigma, rho, settings, is_held)
    starts, kinds = drop_insignificant(y, starts, kinds, sigma, rho, settings, is_held)
    return Segments(starts, kinds, sigma, rho, came_back, too_small, held)
