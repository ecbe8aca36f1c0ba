"""The robust method, from checked observations to a detection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.errors import UsageError
from hindmost.models.changepoint.changes import (
    WITHIN,
    ChangePoint,
    Jump,
    OutlierRun,
    Regime,
    Trend,
    relative,
)
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.observations import CheckedSeries, check_probability
from hindmost.models.changepoint.robust.fits import losses
from hindmost.models.changepoint.robust.noise import Noise
from hindmost.models.changepoint.robust.segments import (
    FIRST,
    SHORTEST,
    Rules,
    Segment,
    compare,
    find_segments,
    long_run_factor,
    visible_steps,
)

LEAST = 0.028
LEVEL = 0.95
FEWEST = FIRST + SHORTEST
"""Nights of a series, at least: until then, its noise is unknown."""
FARTHEST, BESIDE = 30, 2
"""Nights from the best place up to which places of a change are tried, and those that stay on
either side."""
LATE = 15
"""Nights after which a detected change has nearly always been detected before."""


def detect_robustly(
    series: CheckedSeries,
    *,
    alpha: float = 1e-4,
    least: float = LEAST,
    keep: float = 0.05,
    level: float = LEVEL,
    confirmations: int = 3,
) -> Detection:
    """Find steps and trends, and what is an outlier of them.

    Parameters
    ----------
    series : CheckedSeries
    alpha : float
        Significance level of a change at one place: the rate of false alarms.
    least : float
        Smallest change of the logarithm that is reported.
    keep : float
        Significance level at which a change that was confirmed before stays: the memory.
    level : float
        Probability of all intervals. No change or trend is reported whose interval contains zero:
        ``alpha`` and ``keep`` are at most ``1 - level``.
    confirmations : int
        Consecutive passes, each with one more night, that confirm a change.

    Raises
    ------
    UsageError
        A setting is out of range.
    """
    for name, probability in (("alpha", alpha), ("keep", keep), ("level", level)):
        check_probability(name, probability)
    if confirmations < 1:
        raise UsageError(f"confirmations = {confirmations} must be 1 or more.")
    if not least >= 0.0:
        raise UsageError(f"least = {least} must not be negative.")
    times = tuple(series.times.tolist())
    if series.day[-1] + 1 < FEWEST:
        return Detection(method="robust", observations=series.size, times=times, too_short=FEWEST)
    rules = Rules(
        alpha=min(alpha, 1.0 - level),
        keep=max(min(keep, 1.0 - level), min(alpha, 1.0 - level)),
        least=least,
        is_kept=series.is_confirmed(WITHIN),
    )
    segments, noise = find_segments(series.logs, series.day, rules)
    found = [pair for pair in pairwise(segments) if is_step(*pair, rules)]
    seen = times_seen(series, [right.fit.begin for _, right in found], rules, confirmations)
    detection = described(series, segments, noise, found, seen, level, confirmations)
    fitted = np.concatenate([segment.fit.values for segment in segments])
    sigma = np.concatenate(
        [np.full(segment.fit.values.size, segment.sigma) for segment in segments]
    )
    outliers = outlier_runs(series.logs - fitted, 4.0 * sigma)
    return replace(
        detection,
        outliers=outliers,
        trends=tuple(trend_of(segment, series.size, level) for segment in segments if segment.line),
        jump=jump_at_end(series, segments[-1], outliers, level, confirmations),
        visible_steps=tuple(np.expm1(visible_steps(segments[-1], rules)).tolist()),
    )


def described(
    series: CheckedSeries,
    segments: list[Segment],
    noise: Noise,
    found: Sequence[tuple[Segment, Segment]],
    seen: Sequence[int],
    level: float,
    confirmations: int,
) -> Detection:
    """Return segments as regimes, and pairs of them as the changes between.

    Parameters
    ----------
    found : sequence of (Segment, Segment)
    seen : sequence of int
        For each of these, how many passes found it.
    """
    return Detection(
        method="robust",
        observations=series.size,
        times=tuple(series.times.tolist()),
        changes=tuple(
            change_of(series, left, right, noise, level, count, confirmations)
            for (left, right), count in zip(found, seen, strict=True)
        ),
        regimes=tuple(regime_of(segment, level) for segment in segments),
        correlation=noise.rho,
    )


def is_step(left: Segment, right: Segment, rules: Rules) -> bool:
    """Tell whether there is a step: where a line begins or ends, only if the levels differ."""
    if not (left.line or right.line):
        return True
    seam, place = compare(left, right), right.fit.begin
    large = rules.is_kept[place] or abs(seam.after - seam.before) >= rules.least
    return bool(large and seam.p_value <= rules.level_at(place))


def times_seen(
    series: CheckedSeries, places: list[int], rules: Rules, confirmations: int
) -> list[int]:
    """Count how many of the last consecutive passes find each change.

    Every pass has one night less than the next. Changes that were confirmed before, or more than
    `LATE` nights ago, count as confirmed.
    """
    nights = int(series.day[-1]) + 1
    going = [bool(series.day[at] > nights - LATE and not rules.is_kept[at]) for at in places]
    seen = [1 if each else confirmations for each in going]
    for fewer in range(1, confirmations):
        stop = int(np.searchsorted(series.day, nights - fewer))
        if not any(going) or nights - fewer < FEWEST:
            break
        shorter = replace(rules, is_kept=rules.is_kept[:stop])
        segments, _ = find_segments(series.logs[:stop], series.day[:stop], shorter)
        earlier = [segment.fit.begin for segment in segments[1:]]
        for c, place in enumerate(places):
            going[c] = going[c] and any(abs(place - each) <= WITHIN for each in earlier)
            seen[c] += going[c]
    return seen


def change_of(
    series: CheckedSeries,
    left: Segment,
    right: Segment,
    noise: Noise,
    level: float,
    seen: int,
    needed: int,
) -> ChangePoint:
    """Return the change between two segments."""
    seam, index = compare(left, right), right.fit.begin
    difference = seam.after - seam.before
    reach = float(special.stdtrit(seam.freedom, 0.5 + 0.5 * level)) * seam.error
    bounds = (left.fit.begin, index, right.fit.end)
    return ChangePoint(
        index=index,
        time=float(series.times[index]),
        interval=place_interval(series.logs, bounds, (seam.before, seam.after), noise.wide, level),
        level=level,
        before=math.exp(seam.before),
        after=math.exp(seam.after),
        effect=relative(difference),
        effect_interval=(relative(difference - reach), relative(difference + reach)),
        p_value=seam.p_value,
        p_anywhere=min(1.0, seam.p_value * (series.size - 1)),
        seen=seen,
        needed=needed,
    )


def place_interval(
    y: NDArray[np.float64],
    bounds: tuple[int, int, int],
    levels: tuple[float, float],
    sigma: NDArray[np.float64],
    level: float,
) -> tuple[int, int]:
    """Return the first and the last place at which the new level may begin.

    Every place near a change is weighted by its likelihood under the bounded loss. The interval is
    the shortest run of places around the best one that contains the probability (a credible
    interval with a flat prior over the places).

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
        Logarithms, and the noise.
    bounds : (int, int, int)
        Where the old level begins, where the new one does, and where it ends.
    levels : (float, float)
        The old and the new one.
    level : float
        Probability that the interval contains.
    """
    begin, change, end = bounds
    # The change itself is a place also where fewer nights are on a side, as in the report's method.
    first = min(max(begin + BESIDE, change - FARTHEST), change)
    last = max(min(end - BESIDE, change + FARTHEST), change)
    near = slice(first, last)
    # A place one night later has that night at the old level.
    old, new = (losses((y[near] - level) / sigma[near]) for level in levels)
    cost = np.concatenate(([0.0], np.cumsum(old - new)))
    # The loss is -2 log likelihood; a flat prior makes the weights probabilities.
    weight = np.exp(-0.5 * (cost - cost.min()))
    weight /= weight.sum()
    # Widen the interval on the more probable side until it contains the level.
    low = high = change - first
    held = weight[low]
    while held < level and (low > 0 or high < last - first):
        more_low = weight[low - 1] if low > 0 else -1.0
        more_high = weight[high + 1] if high < last - first else -1.0
        if more_high >= more_low:
            high += 1
            held += weight[high]
        else:
            low -= 1
            held += weight[low]
    return first + low, first + high


def outlier_runs(
    residual: NDArray[np.float64], reach: NDArray[np.float64]
) -> tuple[OutlierRun, ...]:
    """Join the observations far from the fit into runs; arrays of shape (observation,)."""
    edges = np.flatnonzero(np.diff(np.abs(residual) > reach, prepend=False, append=False))
    return tuple(
        OutlierRun(start=begin, stop=end, effect=relative(float(np.median(residual[begin:end]))))
        for begin, end in edges.reshape(-1, 2).tolist()
    )


def jump_at_end(
    series: CheckedSeries,
    last: Segment,
    outliers: Sequence[OutlierRun],
    level: float,
    confirmations: int,
) -> Jump | None:
    """Return the run of outliers that the series ends with, if it is 8 sigma away; else None."""
    if not outliers or outliers[-1].stop != series.size:
        return None
    run = outliers[-1]
    values = series.logs[run.start :]
    before, error = last.at_end(True)
    after = float(np.median(values))
    if abs(after - before) < 8.0 * last.sigma:
        return None
    error = math.sqrt(error + last.variance / values.size * long_run_factor(values.size, last.rho))
    reach = float(special.stdtrit(last.freedom, 0.5 + 0.5 * level)) * error
    p_value = float(2.0 * special.stdtr(last.freedom, -abs(after - before) / error))
    nights, needed = len(set(series.day[run.start :].tolist())), SHORTEST + confirmations - 1
    effect = relative(after - before)
    return Jump(
        index=run.start,
        time=float(series.times[run.start]),
        interval=(run.start, run.start),
        level=level,
        before=math.exp(before),
        after=math.exp(after),
        effect=effect,
        effect_interval=(relative(after - before - reach), relative(after - before + reach)),
        p_value=p_value,
        p_anywhere=min(1.0, p_value * (series.size - 1)),
        seen=min(nights, needed - 1),
        needed=needed,
        precedents=sum(outlier.effect / effect >= 1.0 for outlier in outliers[:-1]),
    )


def regime_of(segment: Segment, level: float) -> Regime:
    """Turn a segment into a regime."""
    mean, freedom = segment.fit.level, segment.freedom
    reach = float(special.stdtrit(freedom, 0.5 + 0.5 * level)) * math.sqrt(segment.error)
    return Regime(
        start=segment.fit.begin,
        stop=segment.fit.end,
        mean=math.exp(mean),
        interval=(math.exp(mean - reach), math.exp(mean + reach)),
        n=segment.fit.inliers,
        freedom=freedom,
        deviation=relative(math.sqrt(segment.variance)),
        trend=segment.line,
        switching=segment.switching,
    )


def trend_of(segment: Segment, size: int, level: float) -> Trend:
    """Turn a line into a trend; both its ends were searched among the observations."""
    nights, slope, error = 2.0 * segment.fit.half, segment.fit.slope, segment.slope_error
    reach = float(special.stdtrit(segment.freedom, 0.5 + 0.5 * level)) * error
    before, after = (segment.at_end(last)[0] for last in (False, True))
    p_value = float(2.0 * special.stdtr(segment.freedom, -abs(slope) / error))
    return Trend(
        start=segment.fit.begin,
        stop=segment.fit.end,
        before=math.exp(before),
        after=math.exp(after),
        effect=relative(slope * nights),
        effect_interval=(relative((slope - reach) * nights), relative((slope + reach) * nights)),
        p_value=p_value,
        p_anywhere=min(1.0, p_value * 0.5 * size * (size - 1)),
    )
