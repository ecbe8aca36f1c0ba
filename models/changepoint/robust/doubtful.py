"""What is not reported as a change: shifts that are too small, and stretches without a level."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.changes import OutlierRun, SmallShift, Unjudged, relative
from hindmost.models.changepoint.observations import CheckedSeries
from hindmost.models.changepoint.robust.settings import RobustSettings
from hindmost.text import signed_percent

NEAR = 2
"""A shift that lies so few observations from the end of a segment belongs to the change there."""
GAP = 2
"""Outliers so many observations apart belong to one run."""
MOST_OUTLYING = 0.5
"""Share of outliers in a segment above which its level is unknown."""


def find_small_shifts(
    series: CheckedSeries,
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    settings: RobustSettings,
    level: float,
    fewest: int,
    held: NDArray[np.int64],
) -> tuple[SmallShift, ...]:
    """Find the shifts inside levels that are significant, but below ``settings.least``.

    Parameters
    ----------
    series : CheckedSeries
    starts, kinds : int64 arrays, shape (segment,)
        As `held_changes.find_segments` returns them.
    settings : RobustSettings
    level : float
        Of the intervals.
    fewest : int
        Least number of nights that a shift lasts.
    held : int64 array, shape (change,)
        Changes that are held.
    """
    from hindmost.models.changepoint.robust import describe, held_changes

    fine = settings._replace(least=0.0)
    inner = held_changes.find_segments(series.logs, series.may_change, series.day, fine, held)
    seams = describe.describe_seams(series.logs, inner, series.may_change, fine, level)
    ends = [*inner.starts[1:].tolist(), series.size]
    outer_ends = [*starts[1:].tolist(), series.size]
    shifts = []
    for seam, kind_before, kind, inner_end in zip(
        seams, inner.kinds[:-1], inner.kinds[1:], ends[1:], strict=True
    ):
        index = int(seam["place"])
        before, after = float(seam["before"]), float(seam["after"])
        segment = int(np.searchsorted(starts, index, side="right")) - 1
        end = min(inner_end, outer_ends[segment])
        flat = kind == kind_before == kinds[segment] == 0
        inside = min(index - int(starts[segment]), outer_ends[segment] - index) > NEAR
        nights = series.day[end - 1] - series.day[index] + 1
        small = abs(after - before) < settings.least and seam["p_value"] <= settings.alpha
        if flat and inside and small and nights >= fewest:
            shifts.append(
                SmallShift(
                    index=index,
                    stop=end,
                    before=math.exp(before),
                    after=math.exp(after),
                    effect=relative(after - before),
                )
            )
    return tuple(shifts)


def follow_shifts(
    fitted: NDArray[np.float64], starts: NDArray[np.int64], shifts: tuple[SmallShift, ...]
) -> NDArray[np.float64]:
    """Return the fit of every observation, corrected for the small shifts.

    Parameters
    ----------
    fitted : float64 array, shape (observation,)
        Logarithms.
    starts : int64 array, shape (segment,)
    shifts : tuple of SmallShift
    """
    following = fitted.copy()
    done = 0
    for shift in shifts:
        begin = int(starts[np.searchsorted(starts, shift.index, side="right") - 1])
        following[max(begin, done) : shift.index] = math.log(shift.before)
        following[shift.index : shift.stop] = math.log(shift.after)
        done = shift.stop
    return following


def find_unjudged(
    series: CheckedSeries,
    starts: NDArray[np.int64],
    came_back: NDArray[np.bool_],
    outliers: tuple[OutlierRun, ...],
    settings: RobustSettings,
) -> tuple[Unjudged, ...]:
    """Find the stretches whose level is unknown.

    These are the segments that consist mostly of outliers, long runs of outliers, and the first
    nights if they are too few
    for a level and differ from those that follow.

    Parameters
    ----------
    series : CheckedSeries
    starts : int64 array, shape (segment,)
    came_back : bool array, shape (observation,)
    outliers : tuple of OutlierRun
    settings : RobustSettings
    """
    far = np.zeros(series.size, np.bool_)
    for run in outliers:
        far[run.start : run.stop] = True
    far &= ~came_back
    found = []
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), series.size], strict=True):
        outlying = int(far[begin:end].sum())
        if outlying > MOST_OUTLYING * (end - begin):
            found.append(outlying_stretch(begin, end, outlying))
    for begin, end in long_runs(far, series.day, settings.longest_run):
        if not any(each.start < end and begin < each.stop for each in found):
            found.append(outlying_stretch(begin, end, int(far[begin:end].sum())))
    found.sort(key=lambda each: each.start)
    if outliers and outliers[0].start == 0 and not (found and found[0].start == 0):
        first = outliers[0]
        nights = int(series.day[first.stop - 1] - series.day[0] + 1)
        if nights >= settings.shortest:
            reason = (
                f"the first {nights} nights differ by {signed_percent(first.effect, decimals=0)} "
                f"from the level that follows, and a change needs {settings.first} nights before it"
            )
            found.insert(0, Unjudged(start=0, stop=first.stop, reason=reason))
    return tuple(found)


def outlying_stretch(begin: int, end: int, outlying: int) -> Unjudged:
    """Return a stretch whose level is unknown because so many of its results are outliers."""
    reason = f"{outlying} of {end - begin} results are outliers, so the level is unknown"
    return Unjudged(start=begin, stop=end, reason=reason)


def long_runs(
    far: NDArray[np.bool_], day: NDArray[np.int64], longest: int
) -> list[tuple[int, int]]:
    """Return the runs of more outlying nights than disturbances last; short gaps do not end one.

    Parameters
    ----------
    far : bool array, shape (observation,)
    day : int64 array, shape (observation,)
    longest : int
        Largest number of nights of a disturbance.
    """
    places = np.flatnonzero(far)
    runs = np.split(places, np.flatnonzero(np.diff(places) > GAP) + 1)
    return [(int(run[0]), int(run[-1]) + 1) for run in runs if np.unique(day[run]).size > longest]
