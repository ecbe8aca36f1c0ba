"""The robust method, from checked observations to a detection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.errors import UsageError
from hindmost.models.changepoint.changes import (
    WITHIN,
    ChangePoint,
    OutlierRun,
    Regime,
    SmallShift,
    Trend,
    relative,
)
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.observations import CheckedSeries, check_probability
from hindmost.models.changepoint.robust.settings import DEFAULTS, LATE, RobustSettings
from hindmost.text import choose

LEVEL = 0.95
CONFIRMATIONS = 3
LINE, SWITCHING = 1, 2
"""Kinds of segments, as the loops number them; their modules need numba."""
POSITIVE = (
    "above",
    "below",
    "penalty",
    "shortest",
    "first",
    "noise_floor",
    "prior_nights",
    "switches",
    "fineness",
    "passes",
)
"""Settings that must be above 0."""
OUTLYING = 4.0
"""Standard deviations from the fit beyond which a night is an outlier."""
LEAST_MOVES = 5
"""Nights one unit off the last one, of a series that is rounded: a step has one, a spike two."""
FEWEST_VALUES, FEW_UNITS, OFTEN, EQUAL = 3, 3.5, 0.05, 1e-6
"""Different values of a series that is rounded, or the units up to which two do, the share of its
nights that are one unit off the last one, and the share of a unit that does not count."""
FARTHEST = 50.0
"""Logarithm of a ratio to the median beyond which values count as equal there."""


def detect_robustly(
    series: CheckedSeries,
    *,
    level: float = LEVEL,
    confirmations: int = CONFIRMATIONS,
    **settings: Any,
) -> Detection:
    """Find steps, outlier runs and trends.

    Parameters
    ----------
    series : CheckedSeries
    level : float
        Probability of all intervals. No change or trend is reported whose interval contains zero:
        ``alpha`` is at most ``1 - level``.
    confirmations : int
        Consecutive passes, each with one more night, that confirm a change.
    **settings
        Of `RobustSettings`.

    Raises
    ------
    UsageError
        There is no such setting, or it is out of range.
    """
    chosen = settings_from(settings)
    check_probability("level", level)
    if confirmations < 1:
        raise UsageError(f"confirmations = {confirmations} must be 1 or more.")
    chosen = chosen._replace(
        alpha=min(chosen.alpha, 1.0 - level),
        refuted=min(chosen.refuted, 1.0 - level),
        noise_floor=max(chosen.noise_floor, rounding_noise(series.logs)),
    )
    times = tuple(series.times.tolist())
    needed = chosen.first + chosen.shortest
    if series.size < needed or series.day[-1] + 1 < needed:
        return Detection(method="robust", observations=series.size, times=times, too_short=needed)
    from hindmost.models.changepoint.robust import describe, doubtful, held_changes, tested

    found = held_changes.find_segments(series.logs, series.may_change, series.day, chosen)
    starts, kinds, rho = found.starts, found.kinds, float(found.rho)
    seams = describe.describe_seams(series.logs, found, series.may_change, chosen, level)
    segments, fitted = describe.describe_segments(
        series.logs, starts, kinds, found.sigma, rho, chosen
    )
    steps = seams[seams["is_step"]]
    large = np.abs(steps["after"] - steps["before"]) >= chosen.held_least
    seen = times_seen(series, steps["place"], large, chosen, confirmations, found.held)
    half = 0.5 + 0.5 * level
    reach = (special.stdtrit(steps["freedom"], half) * steps["error"]).tolist()
    freedoms = freedom_of_means(segments, rho)
    reach_of_mean = (special.stdtrit(freedoms, half) * segments["error"]).tolist()
    shifts: tuple[SmallShift, ...] = ()
    if found.too_small:
        fewest = chosen.shortest + confirmations - 1  # as many as a confirmed change needs
        shifts = doubtful.find_small_shifts(
            series, starts, kinds, chosen, level, fewest, found.held
        )
        fitted = doubtful.follow_shifts(fitted, starts, shifts)
    outliers = tuple(
        OutlierRun(start=begin, stop=end, effect=relative(effect))
        for begin, end, effect in describe.describe_outliers(
            series.logs, fitted, found.sigma, found.came_back, OUTLYING
        )
    )
    unjudged = doubtful.find_unjudged(series, starts, found.came_back, outliers, chosen)
    places = max(int(np.count_nonzero(series.may_change)) - 1, 1)
    return Detection(
        method="robust",
        observations=series.size,
        times=times,
        changes=tuple(
            change_of(seam, width, times, places, level, count, confirmations)
            for seam, width, count in zip(steps, reach, seen, strict=True)
        ),
        regimes=tuple(
            regime_of(segment, width, freedom, int(kind))
            for segment, width, freedom, kind in zip(
                segments, reach_of_mean, freedoms.tolist(), kinds, strict=True
            )
        ),
        outliers=tuple(
            run
            for run in outliers
            if not any(each.start <= run.start < each.stop for each in unjudged)
        ),
        trends=tuple(
            trend_of(
                segment,
                tested.slope_error(int(segment["inliers"]), float(segment["deviation"]), rho),
                level,
            )
            for segment, kind in zip(segments, kinds, strict=True)
            if kind == LINE
        ),
        correlation=rho,
        small_shifts=shifts,
        unjudged=unjudged,
        suspects=tuple(found.doubtful.tolist()),
    )


def settings_from(settings: dict[str, Any]) -> RobustSettings:
    """Check settings and put them over the defaults.

    Raises
    ------
    UsageError
        There is no such setting, or it is out of range.
    """
    if not settings:
        return DEFAULTS
    unknown = sorted(set(settings) - set(RobustSettings._fields))
    if unknown:
        raise UsageError(
            f"The robust method has no setting {unknown[0]!r}; "
            f"{choose(['level', 'confirmations', *RobustSettings._fields])}."
        )
    try:
        typed = {name: type(getattr(DEFAULTS, name))(value) for name, value in settings.items()}
    except (TypeError, ValueError) as error:
        raise UsageError(f"The settings of the robust method are numbers: {error}.") from error
    chosen = DEFAULTS._replace(**typed)
    check_probability("alpha", chosen.alpha)
    for name in POSITIVE:
        if not getattr(chosen, name) > 0:
            raise UsageError(f"{name} = {getattr(chosen, name)} must be larger than 0.")
    return chosen


def times_seen(
    series: CheckedSeries,
    places: NDArray[np.int64],
    large: NDArray[np.bool_],
    settings: RobustSettings,
    confirmations: int,
    held: NDArray[np.int64],
) -> list[int]:
    """Count how many of the last consecutive passes find each change.

    Every pass has one night less than the next. Changes more than `LATE` nights ago count as
    confirmed, unless they are so large that they would have been held, and are not.

    Parameters
    ----------
    series : CheckedSeries
    places : int64 array, shape (change,)
    large : bool array, shape (change,)
        Whether a change is large enough to be held.
    settings : RobustSettings
    confirmations : int
    held : int64 array, shape (change,)
        Changes that were confirmed before.
    """
    nights = int(series.day[-1]) + 1
    going = ((series.day[places] > nights - LATE) | large) & ~np.isin(places, held)
    if not going.any():
        return [confirmations] * places.size
    seen = np.where(going, 1, confirmations)
    for fewer in range(1, confirmations):
        shorter = series.before(int(np.searchsorted(series.day, nights - fewer)))
        if not going.any() or shorter.size < settings.first + settings.shortest:
            break
        earlier = steps_of(shorter, settings, held)
        near = np.abs(places[:, None] - earlier[None, :]) <= WITHIN
        going &= near.any(axis=1) if earlier.size else False
        seen += going
    return [int(count) for count in seen]


def steps_of(
    series: CheckedSeries, settings: RobustSettings, held: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the first observations of all segments but the first."""
    from hindmost.models.changepoint.robust import held_changes

    found = held_changes.find_segments(series.logs, series.may_change, series.day, settings, held)
    starts: NDArray[np.int64] = found.starts[1:]
    return starts


def change_of(
    seam: np.void,
    reach: float,
    times: tuple[float, ...],
    places: int,
    level: float,
    seen: int,
    needed: int,
) -> ChangePoint:
    """Turn a row of `describe_seams` into a change; ``reach`` is half its interval."""
    index, p_value = int(seam["place"]), float(seam["p_value"])
    before, after = float(seam["before"]), float(seam["after"])
    difference = after - before
    return ChangePoint(
        index=index,
        time=times[index],
        interval=(int(seam["first"]), int(seam["last"])),
        level=level,
        before=math.exp(before),
        after=math.exp(after),
        effect=relative(difference),
        effect_interval=(relative(difference - reach), relative(difference + reach)),
        p_value=p_value,
        p_anywhere=min(1.0, p_value * places),
        seen=seen,
        needed=needed,
    )


def rounding_noise(logs: NDArray[np.float64]) -> float:
    """Return the relative noise that rounding to coarse values may hide: half a unit; else 0.

    Times of 0.02 and 0.03 s in a file with two decimals are mostly equal, so that their median
    deviation is 0 up to that noise. Exact counts seldom move by one unit.

    Parameters
    ----------
    logs : float64 array, shape (observation,)
    """
    values = np.exp(np.clip(logs - np.median(logs), -FARTHEST, FARTHEST))
    distinct = np.unique(values)
    if distinct.size < 2:
        return 0.0
    unit = float(np.diff(distinct).min())
    units = distinct[0] / unit
    few = units < FEW_UNITS and abs(units - round(units)) < EQUAL  # of two values, as 0.01 and 0.02
    if distinct.size < FEWEST_VALUES and not few:
        return 0.0
    by_one = np.count_nonzero(np.abs(np.abs(np.diff(values)) - unit) < EQUAL * unit)
    return 0.5 * unit if by_one >= max(OFTEN * (values.size - 1), LEAST_MOVES) else 0.0


def freedom_of_means(segments: NDArray[np.void], rho: float) -> NDArray[np.float64]:
    """Return the degrees of freedom of the segments' levels.

    The variance of a segment is shrunk towards that of all nights. It cannot be known better than
    from all nights, and correlated nights count as fewer.

    Parameters
    ----------
    segments : SEGMENT array, shape (segment,)
        Of `describe_segments`.
    rho : float
        AR(1) coefficient of the noise. A variance of n such nights is known as well as one of
        n (1 - rho^2) / (1 + rho^2) independent ones (Bartlett, JRSS 98 (1935)).

    Returns
    -------
    float64 array, shape (segment,)
    """
    shared = float(segments["inliers"].sum()) - len(segments)
    fewer = (1.0 - rho**2) / (1.0 + rho**2)
    freedom: NDArray[np.float64] = np.maximum(np.minimum(segments["freedom"], shared) * fewer, 1.0)
    return freedom


def regime_of(segment: np.void, reach: float, freedom: float, kind: int) -> Regime:
    """Turn a row of `describe_segments` into a regime; ``reach`` is half its interval."""
    level = float(segment["level"])
    return Regime(
        start=int(segment["begin"]),
        stop=int(segment["end"]),
        mean=math.exp(level),
        interval=(math.exp(level - reach), math.exp(level + reach)),
        n=int(segment["inliers"]),
        freedom=freedom,
        deviation=relative(float(segment["deviation"])),
        trend=kind == LINE,
        switching=kind == SWITCHING,
    )


def trend_of(segment: np.void, error: float, level: float) -> Trend:
    """Turn a row of `describe_segments` into a trend; ``error`` is that of its slope."""
    start, stop, slope = int(segment["begin"]), int(segment["end"]), float(segment["slope"])
    nights = stop - start - 1.0
    freedom = max(float(segment["freedom"]) - 1.0, 1.0)
    reach = float(special.stdtrit(freedom, 0.5 + 0.5 * level)) * error
    return Trend(
        start=start,
        stop=stop,
        effect=relative(slope * nights),
        effect_interval=(relative((slope - reach) * nights), relative((slope + reach) * nights)),
        p_value=float(2.0 * special.stdtr(freedom, -abs(slope) / error)),
    )
