"""The robust method, from checked observations to a detection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.errors import UsageError
from hindmost.models.changepoint.observations import Observations
from hindmost.models.changepoint.results import (
    Change,
    Detection,
    OutlierRun,
    Regime,
    Trend,
    relative,
)
from hindmost.models.changepoint.robust.settings import DEFAULTS, RobustSettings

LEVEL = 0.95
CONFIRMATIONS = 3
LINE, SWITCHING = 1, 2
"""Kinds of segments, as the loops number them; these are imported where numba may be."""
WITHIN = 2
"""Nights that a change may move from one pass to the next and still be the same."""
POSITIVE = (
    "above",
    "below",
    "penalty",
    "shortest",
    "first",
    "alpha",
    "noise_floor",
    "prior_nights",
    "switches",
    "fineness",
    "passes",
)
"""Settings that mean nothing at 0."""
LATE = 15
"""Observations after which a change that is seen at all has been seen before, nearly always."""
OUTLYING = 4.0
"""Standard deviations from the fit beyond which a night is named as an outlier."""


def detect_robustly(
    series: Observations,
    *,
    level: float = LEVEL,
    confirmations: int = CONFIRMATIONS,
    **settings: Any,
) -> Detection:
    """Find steps, outlier runs and trends.

    Parameters
    ----------
    series : Observations
    level : float
        Of all intervals.
    confirmations : int
        Passes in a row, each with one observation more, that confirm a change.
    **settings
        Of `RobustSettings`.

    Raises
    ------
    UsageError
        There is no such setting, or it is out of range.
    """
    chosen = settings_from(settings)
    if not 0.0 < level < 1.0:
        raise UsageError(f"level = {level} is no probability: give one between 0 and 1.")
    if confirmations < 1:
        raise UsageError(f"confirmations = {confirmations}: a change is seen at least once.")
    times = tuple(series.times.tolist())
    needed = chosen.first + chosen.shortest
    if series.size < needed or series.day[-1] + 1 < needed:
        return Detection(method="robust", observations=series.size, times=times, too_short=needed)
    from hindmost.models.changepoint.robust import describe, search

    found = search.find_segments(series.logs, series.may_change, series.day, chosen)
    starts, kinds, sigma, rho, came_back = found
    rows = describe.describe_seams(
        series.logs, starts, kinds, sigma, rho, series.may_change, chosen, level
    )
    segments, fitted = describe.describe_segments(series.logs, starts, kinds, sigma, rho, chosen)
    steps = rows[rows[:, 8] > 0.0]
    seen = times_seen(series, steps[:, 0], chosen, confirmations)
    half = 0.5 + 0.5 * level
    reach = (special.stdtrit(steps[:, 4], half) * steps[:, 3]).tolist()
    known = freedom_of_means(segments, float(rho))
    reach_of_mean = (special.stdtrit(known, half) * segments[:, 3]).tolist()
    places = max(int(np.count_nonzero(series.may_change)) - 1, 1)
    return Detection(
        method="robust",
        observations=series.size,
        times=times,
        changes=tuple(
            change_of(row, width, times, places, level, count, confirmations)
            for row, width, count in zip(steps.tolist(), reach, seen, strict=True)
        ),
        regimes=tuple(
            regime_of(row, width, freedom, int(kind))
            for row, width, freedom, kind in zip(
                segments.tolist(), reach_of_mean, known.tolist(), kinds, strict=True
            )
        ),
        outliers=tuple(
            OutlierRun(start=begin, stop=end, effect=relative(effect))
            for begin, end, effect in describe.describe_outliers(
                series.logs, fitted, sigma, came_back, OUTLYING
            )
        ),
        trends=tuple(
            trend_of(row, describe.slope_error(int(row[6]), row[5], rho), level)
            for row, kind in zip(segments, kinds, strict=True)
            if kind == LINE
        ),
        correlation=float(rho),
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
            f"The robust method has no setting {unknown[0]!r}: "
            f"choose among level, confirmations, {', '.join(RobustSettings._fields)}."
        )
    try:
        typed = {name: type(getattr(DEFAULTS, name))(value) for name, value in settings.items()}
    except (TypeError, ValueError) as error:
        raise UsageError(f"The settings of the robust method are numbers: {error}.") from error
    chosen = DEFAULTS._replace(**typed)
    for name in POSITIVE:
        if not getattr(chosen, name) > 0:
            raise UsageError(f"{name} = {getattr(chosen, name)} must be larger than 0.")
    return chosen


def times_seen(
    series: Observations,
    places: NDArray[np.float64],
    settings: RobustSettings,
    confirmations: int,
) -> list[int]:
    """Count for every change how many of the last passes in a row have it.

    Changes longer ago than `LATE` observations are taken for confirmed.
    """
    going = places > series.size - LATE
    if not going.any():
        return [confirmations] * places.size
    seen = np.where(going, 1, confirmations)
    for fewer in range(1, confirmations):
        shorter = series.before(series.size - fewer)
        if not going.any() or shorter.size < settings.first + settings.shortest:
            break
        earlier = steps_of(shorter, settings)
        near = np.abs(places[:, None] - earlier[None, :]) <= WITHIN
        going &= near.any(axis=1) if earlier.size else False
        seen += going
    return [int(count) for count in seen]


def steps_of(series: Observations, settings: RobustSettings) -> NDArray[np.int64]:
    """Return the first observations of all segments but the first."""
    from hindmost.models.changepoint.robust import search

    found = search.find_segments(series.logs, series.may_change, series.day, settings)
    starts: NDArray[np.int64] = found[0][1:]
    return starts


def change_of(
    row: list[float],
    reach: float,
    times: tuple[float, ...],
    places: int,
    level: float,
    seen: int,
    needed: int,
) -> Change:
    """Turn a row of `describe_seams` into a change; its difference is known to ``reach``."""
    index = int(row[0])
    difference = row[2] - row[1]
    return Change(
        index=index,
        time=times[index],
        interval=(int(row[6]), int(row[7])),
        level=level,
        before=math.exp(row[1]),
        after=math.exp(row[2]),
        effect=relative(difference),
        effect_interval=(relative(difference - reach), relative(difference + reach)),
        p_value=row[5],
        p_anywhere=min(1.0, row[5] * places),
        seen=seen,
        needed=needed,
    )


def freedom_of_means(segments: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Return the degrees of freedom of the segments' levels.

    The variance of a segment is drawn towards that of all nights, which counts for some nights in
    it; it cannot be known better than all nights tell, and correlated nights tell as much as fewer.

    Parameters
    ----------
    segments : float64 array, shape (segment, 8)
        Of `describe_segments`.
    rho : float
        AR(1) coefficient of the noise. A variance of n such nights is known as well as one of
        n (1 - rho^2) / (1 + rho^2) independent ones (Bartlett, JRSS 98 (1935)).
    """
    shared = float(segments[:, 6].sum()) - len(segments)
    fewer = (1.0 - rho**2) / (1.0 + rho**2)
    freedom: NDArray[np.float64] = np.maximum(np.minimum(segments[:, 4], shared) * fewer, 1.0)
    return freedom


def regime_of(row: list[float], reach: float, freedom: float, kind: int) -> Regime:
    """Turn a row of `describe_segments` into a regime; its level is known to ``reach``."""
    return Regime(
        start=int(row[0]),
        stop=int(row[1]),
        mean=math.exp(row[2]),
        interval=(math.exp(row[2] - reach), math.exp(row[2] + reach)),
        n=int(row[6]),
        freedom=freedom,
        deviation=relative(row[5]),
        trend=kind == LINE,
        switching=kind == SWITCHING,
    )


def trend_of(row: NDArray[np.float64], error: float, level: float) -> Trend:
    """Turn a row of `describe_segments` into a trend."""
    nights = float(row[1] - row[0] - 1.0)
    freedom = max(float(row[4]) - 1.0, 1.0)
    reach = float(special.stdtrit(freedom, 0.5 + 0.5 * level)) * error
    slope = float(row[7])
    return Trend(
        start=int(row[0]),
        stop=int(row[1]),
        effect=relative(slope * nights),
        effect_interval=(relative((slope - reach) * nights), relative((slope + reach) * nights)),
        p_value=float(2.0 * special.stdtr(freedom, -abs(slope) / error)),
    )
