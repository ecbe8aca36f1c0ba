"""Joint changes: a step in many weak series on one night, that none of them shows for certain.

All series of a panel share their nights (one timer in all cases of a machine). What is left of each
series after its own changes is averaged over the series, night by night. That pool is a series with
much less noise, and the robust method finds its changes. The noise of the pool is estimated from
the pool itself, so that it contains what the series have in common: noise that all series of a
night share is not taken for evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.changes import WITHIN, ChangePoint, Regime, relative
from hindmost.models.changepoint.contrast import find_contrast_steps
from hindmost.models.changepoint.detect import detect
from hindmost.models.changepoint.detection import RECOVERED, Detection

SETTINGS: dict[str, Any] = {"alpha": 1e-6, "least": 0.004, "noise_floor": 1e-3, "above": 3.5}
"""Of the robust method for a pool: its noise is symmetric, and smaller than that of a series."""
FEWEST_SERIES = 5
"""Series with a result on a night without which the night is not in the pool."""
FEWEST_MEMBERS = 5
"""Series that show a joint change, at least."""
FEWEST_NIGHTS = 20
"""Nights of a pool that is judged, at least."""
FAR = 3.0
"""Standard deviations beyond which a night counts as that far: it may be an outlier."""
NOISE_FLOOR = 0.003
"""Lower limit of a series' noise, as in the robust method."""
SPAN = 30
"""Nights before and after a joint change that tell which series show it."""
FEWEST_BESIDE = 3
"""Nights on either side without which nothing is said about a series."""
LEAST = 0.01
"""Least median shift of the members: a difference of logarithms."""
APART = 5
"""Nights by which a step of some series is away from one of all, at least, to be another one."""
NOW = 10
"""Last nights that tell whether a step has been undone."""
TWICE = 1.96
"""Standard errors on either side of a 95 % interval."""
SHOWN = 2.0
"""Standard errors of its own shift beyond which a series shows a joint change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What is left of a series when its own large changes are taken away.

    Attributes
    ----------
    nights : int64 array, shape (observation,)
        The night of each observation, ascending.
    logs, noise : float64 arrays, shape (observation,)
        Difference of the logarithm from the level, and its standard deviation. Changes that are
        small compared with the noise are left in.
    changes : int64 array, shape (change,)
        The nights on which the series has a change of its own.
    correlation : float
        AR(1) coefficient of the noise.
    """

    nights: NDArray[np.int64]
    logs: NDArray[np.float64]
    noise: NDArray[np.float64]
    changes: NDArray[np.int64]
    correlation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JointChange:
    """A step that many series of a panel share.

    Attributes
    ----------
    night : int
        The first night of the new level.
    interval : (int, int)
        Nights; contains the first one of the new level with the probability of the robust method.
    effect : float
        Relative, in the mean over all series.
    effect_interval : (float, float)
    p_value : float
        Of all nights together: in the pool times their number (Bonferroni), or see `contrast`.
    confirmed : bool
        In the pool, as of a change of a series. A step of some series against the others is found
        after five nights, and is confirmed then.
    undone : bool
        Whether the members have since recovered half of it or more.
    members : tuple of int
        The series that show it: their own shift has the same sign, and is `SHOWN` standard errors
        or more.
    shifts : tuple of float
        Of the members, differences of logarithms.
    own : tuple of int
        The series that have a change of their own there, members or not.
    measured : int
        The number of series with results on both sides.
    found : bool
        Whether the last reading finds it; else it is held, see `joint_held`.
    since : int or None
        The night from which it is held.
    now : float or None
        By how much the last nights of the members differ from those before it: a difference of
        logarithms.
    """

    night: int
    interval: tuple[int, int]
    effect: float
    effect_interval: tuple[float, float]
    p_value: float
    confirmed: bool
    undone: bool
    members: tuple[int, ...]
    shifts: tuple[float, ...]
    own: tuple[int, ...]
    measured: int
    found: bool = True
    since: int | None = None
    now: float | None = None

    @property
    def rises(self) -> bool:
        """Whether the members rise."""
        return bool(np.median(self.shifts) > 0.0)


def leftover(
    logs: NDArray[np.float64], nights: NDArray[np.int64], detection: Detection
) -> Leftover:
    """Take the levels, drifts and large changes that were found away from a series.

    Parameters
    ----------
    logs : float64 array, shape (observation,)
        Logarithms of the values.
    nights : int64 array, shape (observation,)
        Of several observations of a night, the last one counts.
    detection : Detection
        What was found in the series.
    """
    rest = np.full(logs.size, np.nan)
    noise = np.full(logs.size, np.nan)
    slopes = {
        trend.start: math.log1p(trend.effect) / max(trend.stop - trend.start - 1, 1)
        for trend in detection.trends
    }
    weak = {change.index for change in detection.changes if is_weak(change, detection)}
    joined: list[list[Regime]] = []
    for regime in detection.regimes:
        if joined and regime.start in weak:
            joined[-1].append(regime)
        else:
            joined.append([regime])
    for regimes in joined:
        sizes = [regime.stop - regime.start for regime in regimes]
        level = float(np.average([math.log(each.mean) for each in regimes], weights=sizes))
        for regime in regimes:
            part = slice(regime.start, regime.stop)
            slope = slopes.get(regime.start, 0.0) if regime.trend else 0.0
            middle = 0.5 * (regime.start + regime.stop - 1)
            along = slope * (np.arange(regime.start, regime.stop) - middle)
            rest[part] = logs[part] - level - along
            noise[part] = max(regime.deviation, NOISE_FLOOR)
    for stretch in detection.unjudged:
        rest[stretch.start : stretch.stop] = np.nan
    kept = np.isfinite(rest) & np.append(np.diff(nights) > 0, True)
    return Leftover(
        nights=nights[kept],
        logs=rest[kept],
        noise=noise[kept],
        changes=nights[[change.index for change in detection.changes]],
        correlation=detection.correlation,
    )


def is_weak(change: ChangePoint, detection: Detection) -> bool:
    """Tell whether a change is small compared with the noise, so that it is left to the pool."""
    noise = max(
        regime.deviation
        for regime in detection.regimes
        if change.index in (regime.start, regime.stop)
    )
    return abs(math.log(change.after) - math.log(change.before)) <= FAR * max(noise, NOISE_FLOOR)


def find_joint_changes(panel: Sequence[Leftover], **settings: Any) -> tuple[JointChange, ...]:
    """Find the nights on which many series of a panel change together.

    Parameters
    ----------
    panel : sequence of Leftover
    **settings
        Of the robust method, instead of `SETTINGS`.
    """
    if len(panel) < FEWEST_SERIES:
        return ()
    calendar = np.unique(np.concatenate([each.nights for each in panel]))
    scaled = np.full((len(panel), calendar.size), np.nan)
    noise = np.full((len(panel), calendar.size), np.nan)
    for row, each in enumerate(panel):
        column = np.searchsorted(calendar, each.nights)
        # Bounded, so that no outlier of one series moves the mean of all.
        scaled[row, column] = np.clip(each.logs / each.noise, -FAR, FAR)
        noise[row, column] = each.noise
    measured = np.isfinite(scaled)
    enough = measured.sum(axis=0) >= FEWEST_SERIES
    if enough.sum() < FEWEST_NIGHTS:
        return ()
    calendar, scaled, noise = calendar[enough], scaled[:, enough], noise[:, enough]
    steps = find_steps(panel, scaled, noise, settings)
    bounds = [0, *(step.index for step in steps), calendar.size]
    joint = []
    for step, first, last in zip(steps, bounds, bounds[2:], strict=False):
        shifts = {
            row: shift
            for row, each in enumerate(panel)
            if (shift := shift_of(each, scaled[row], noise[row], first, step.index, last))
        }
        # The series that shift most tell the direction: the others may show noise in common.
        way = math.copysign(1.0, sum(z**3 for _, z in shifts.values()))
        members = tuple(row for row, (_, z) in shifts.items() if way * z >= SHOWN)
        sizes = tuple(shifts[row][0] for row in members)
        if len(members) < FEWEST_MEMBERS or abs(np.median(sizes)) < LEAST:
            continue
        begin, end = (int(calendar[place]) for place in step.interval)
        joint.append(
            JointChange(
                night=int(calendar[step.index]),
                interval=(begin, end),
                effect=step.effect,
                effect_interval=step.effect_interval,
                p_value=step.p_value,
                confirmed=step.confirmed,
                undone=is_back((scaled * noise)[list(members)], first, step.index, last),
                members=members,
                shifts=sizes,
                own=tuple(
                    row
                    for row in shifts
                    if any(begin - WITHIN <= night <= end + WITHIN for night in panel[row].changes)
                ),
                measured=len(shifts),
            )
        )
    return tuple(joint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a panel, before the series are asked; attributes as of `JointChange`."""

    index: int
    interval: tuple[int, int]
    effect: float
    effect_interval: tuple[float, float]
    p_value: float
    confirmed: bool


def find_steps(
    panel: Sequence[Leftover],
    scaled: NDArray[np.float64],
    noise: NDArray[np.float64],
    settings: Mapping[str, Any],
) -> list[Step]:
    """Find the steps of the mean of all series, and those of some series against the others.

    Parameters
    ----------
    panel : sequence of Leftover
    scaled, noise : float64 arrays, shape (series, night)
    settings : mapping
        Of the robust method.
    """
    pool = pool_of(scaled, noise)
    found = detect(np.exp(pool), **(SETTINGS | dict(settings)))
    steps = [
        Step(
            index=change.index,
            interval=change.interval,
            effect=change.effect,
            effect_interval=change.effect_interval,
            p_value=change.p_anywhere,
            confirmed=change.confirmed,
        )
        for change in found.changes
    ]
    correlations = np.array([each.correlation for each in panel])
    for contrast in find_contrast_steps(scaled, correlations):
        if any(abs(contrast.index - step.index) <= APART for step in steps):
            continue
        before = pool[max(contrast.index - SPAN, 0) : contrast.index]
        after = pool[contrast.index : contrast.index + SPAN]
        shift = float(after.mean() - before.mean())
        inflation = (1.0 + found.correlation) / (1.0 - found.correlation)
        error = math.sqrt(inflation * (before.var() / before.size + after.var() / after.size))
        steps.append(
            Step(
                index=contrast.index,
                interval=contrast.interval,
                effect=relative(shift),
                effect_interval=(relative(shift - TWICE * error), relative(shift + TWICE * error)),
                p_value=contrast.p_value,
                confirmed=True,
            )
        )
    return sorted(steps, key=lambda step: step.index)


def is_back(rest: NDArray[np.float64], first: int, place: int, last: int) -> bool:
    """Tell whether series have recovered half of a step or more.

    Parameters
    ----------
    rest : float64 array, shape (series, night)
        Differences from the level; NaN without a result.
    first, place, last : int
        As of `shift_of`.
    """
    before = np.nanmean(rest[:, max(first, place - SPAN) : place])
    after = np.nanmean(rest[:, place : min(last, place + SPAN)])
    now = rest[:, -NOW:]
    if not np.isfinite(now).any():
        return False
    return bool((np.nanmean(now) - before) / (after - before) <= RECOVERED)


def pool_of(scaled: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the series, night by night, as a difference of logarithms.

    Parameters
    ----------
    scaled, noise : float64 arrays, shape (series, night)
        Differences from the level in standard deviations, and these; NaN without a result.

    Returns
    -------
    float64 array, shape (night,)
    """
    # Weights of least variance, but no series counts more than that of the median noise.
    weight = 1.0 / np.maximum(noise, np.nanmedian(noise)) ** 2
    mean: NDArray[np.float64] = np.nansum(weight * scaled * noise, axis=0) / np.nansum(
        weight, axis=0
    )
    return mean


def shift_of(
    series: Leftover,
    scaled: NDArray[np.float64],
    noise: NDArray[np.float64],
    first: int,
    place: int,
    last: int,
) -> tuple[float, float] | None:
    """Return a series' own shift, and the same in standard errors; None without enough nights.

    Parameters
    ----------
    series : Leftover
    scaled, noise : float64 arrays, shape (night,)
    first, place, last : int
        The first night of the level before, that of the level after, and the end of that.
    """
    before = slice(max(first, place - SPAN), place)
    after = slice(place, min(last, place + SPAN))
    sides = [(scaled * noise)[side] for side in (before, after)]
    left, right = (side[np.isfinite(side)] for side in sides)
    if min(left.size, right.size) < FEWEST_BESIDE:
        return None
    sigma = float(np.nanmean(noise[before.start : after.stop]))
    inflation = (1.0 + series.correlation) / max(1.0 - series.correlation, 0.05)
    error = sigma * math.sqrt(inflation * (1.0 / left.size + 1.0 / right.size))
    shift = float(right.mean() - left.mean())
    return shift, shift / error
