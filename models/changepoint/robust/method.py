"""The robust method, from checked observations to a detection."""

from __future__ import annotations

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
WITHIN = 2
"""Nights that a change may move from one pass to the next and still be the same."""
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
        return Detection(
            method="robust", observations=series.size, times=times, too_short=needed
        )
    from hindmost.models.changepoint.robust import describe, search

    found = search.find_segments(series.logs, series.may_change, series.day, chosen)
    starts, kinds, sigma, rho, runs = found
    seams = describe.describe_seams(
        series.logs, starts, kinds, sigma, rho, series.may_change, chosen, level
    )
    segments, fitted = describe.describe_segments(series.logs, starts, kinds, sigma, rho, chosen)
    steps = seams[seams[:, 8] > 0.0]
    seen = times_seen(series, steps[:, 0], chosen, confirmations)
    return Detection(
        method="robust",
        observations=series.size,
        times=times,
        changes=tuple(
            change_of(row, series, level, count, confirmations)
            for row, count in zip(steps, seen, strict=True)
        ),
        regimes=tuple(
            regime_of(row, bool(kind), level) for row, kind in zip(segments, kinds, strict=True)
        ),
        outliers=outlier_runs(series.logs, fitted, sigma, runs),
        trends=tuple(
            trend_of(row, describe.slope_error(int(row[6]), row[5], rho), level)
            for row, kind in zip(segments, kinds, strict=True)
            if kind
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
    unknown = sorted(set(settings) - set(RobustSettings._fields))
    if unknown:
        raise UsageError(
            f"The robust method has no setting {unknown[0]!r}: "
            f"choose among level, confirmations, {', '.join(RobustSettings._fields)}."
        )
    typed = {name: type(getattr(DEFAULTS, name))(value) for name, value in settings.items()}
    chosen = DEFAULTS._replace(**typed)
    positive = ("above", "below", "penalty", "shortest", "first", "alpha", "noise_floor")
    positive += ("prior_nights", "fineness", "passes")
    for name in positive:
        if not getattr(chosen, name) > 0:
            raise UsageError(f"{name} = {getattr(chosen, name)} must be larger than 0.")
    return chosen


def times_seen(
    series: Observations,
    places: NDArray[np.float64],
    settings: RobustSettings,
    confirmations: int,
) -> list[int]:
    """Count for every change how many of the last passes in a row have it."""
    seen = np.ones(places.size, np.int64)
    going = np.ones(places.size, np.bool_)
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
    row: NDArray[np.float64], series: Observations, level: float, seen: int, needed: int
) -> Change:
    """Turn a row of `describe_seams` into a change."""
    index = int(row[0])
    difference = float(row[2] - row[1])
    reach = float(special.stdtrit(row[4], 0.5 + 0.5 * level) * row[3])
    places = int(series.may_change[1:].sum())
    return Change(
        index=index,
        time=float(series.times[index]),
        interval=(int(row[6]), int(row[7])),
        level=level,
        before=float(np.exp(row[1])),
        after=float(np.exp(row[2])),
        effect=relative(difference),
        effect_interval=(relative(difference - reach), relative(difference + reach)),
        p_value=float(row[5]),
        p_anywhere=min(1.0, float(row[5]) * places),
        seen=seen,
        needed=needed,
    )


def regime_of(row: NDArray[np.float64], trend: bool, level: float) -> Regime:
    """Turn a row of `describe_segments` into a regime."""
    reach = special.stdtrit(row[4], 0.5 + 0.5 * level) * row[3]
    return Regime(
        start=int(row[0]),
        stop=int(row[1]),
        mean=float(np.exp(row[2])),
        interval=(float(np.exp(row[2] - reach)), float(np.exp(row[2] + reach))),
        n=int(row[6]),
        deviation=relative(float(row[5])),
        trend=trend,
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


def outlier_runs(
    logs: NDArray[np.float64],
    fitted: NDArray[np.float64],
    sigma: NDArray[np.float64],
    runs: list[tuple[int, int]],
) -> tuple[OutlierRun, ...]:
    """Join what lies far from the fit, and the runs that came back, into runs."""
    outlying = np.abs(logs - fitted) > OUTLYING * sigma
    for begin, end in runs:
        outlying[begin:end] = True
    edges = np.flatnonzero(np.diff(np.concatenate(([False], outlying, [False])).astype(np.int8)))
    return tuple(
        OutlierRun(
            start=int(begin),
            stop=int(end),
            effect=relative(float(np.median((logs - fitted)[begin:end]))),
        )
        for begin, end in edges.reshape(-1, 2)
    )
