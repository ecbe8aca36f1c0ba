"""From nights to segments: one penalised likelihood over levels and lines, and one test.

A change must raise the likelihood by what a chi-squared test of its place at ``alpha`` asks; a line
is as dear as a change, so that of one step and one line the better fit wins, and a line wins over
a flight of steps. A change that was confirmed before is tested at ``keep`` instead (hysteresis).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.models.changepoint.robust.fits import BOUND, Fit, cost, fit
from hindmost.models.changepoint.robust.noise import Noise, noise_of_residuals, noise_of_steps

SHORTEST, FIRST = 3, 5
"""Nights of a segment, and of the first one, at least."""
SHORTEST_LINE = 30
PASSES = 2
"""Number of times that levels and noise are estimated from each other."""
PRIOR_NIGHTS = 40.0
"""Nights that the noise counts as, in the variance of a segment."""
WANDER = 0.1
"""Standard deviations by which a level may wander without a change."""
SWITCHES, EQUAL = 4, 0.33
"""Consecutive changes back and forth that make two modes of a regime, and the share of their
distance by which levels of one mode differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the search asks of a change.

    Attributes
    ----------
    alpha : float
        Significance level of a change at one place.
    keep : float
        The same of a change that was confirmed before.
    least : float
        Least difference of logarithms of a new change.
    is_kept : bool array, shape (observation,)
        Where a change was confirmed before, or next to it.
    """

    alpha: float
    keep: float
    least: float
    is_kept: NDArray[np.bool_]

    @property
    def penalty(self) -> NDArray[np.float64]:
        """Twice the log likelihood that a change at an observation must bring, at least."""
        new, kept = (float(special.chdtri(1.0, level)) for level in (self.alpha, self.keep))
        return np.where(self.is_kept, kept, new)

    def level_at(self, place: int) -> float:
        """Return the significance level of a change that begins at an observation."""
        return self.keep if self.is_kept[place] else self.alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Nights on one level or line.

    Attributes
    ----------
    fit : Fit
    line, switching : bool
        Whether it is a line, or switches between two levels.
    sigma, rho : float
        Noise of its nights.
    shared : float
        Degrees of freedom of the noise of all nights, of which ``sigma`` is one.
    """

    fit: Fit
    line: bool = False
    switching: bool = False
    sigma: float
    rho: float
    shared: float = math.inf

    @property
    def nights(self) -> float:
        """Nights that its variance counts as, less those that its level or line used."""
        return PRIOR_NIGHTS + self.fit.inliers - (2.0 if self.line else 1.0)

    @property
    def variance(self) -> float:
        """That of its nights, shrunk towards the noise."""
        return (PRIOR_NIGHTS * self.sigma**2 + self.fit.square) / self.nights

    @property
    def freedom(self) -> float:
        """Degrees of freedom of its variance.

        It cannot be known better than from all nights, and correlated nights count as fewer: a
        variance of n of them is known as well as one of n (1 - rho^2) / (1 + rho^2) independent
        ones (Bartlett, JRSS 98 (1935)).
        """
        fewer = (1.0 - self.rho**2) / (1.0 + self.rho**2)
        return max(min(self.nights, self.shared) * fewer, 1.0)

    @property
    def error(self) -> float:
        """The squared standard error of its level."""
        return self.variance / self.fit.inliers * long_run_factor(self.fit.inliers, self.rho)

    @property
    def slope_error(self) -> float:
        """The standard error of its slope: an observation."""
        spread = max((self.fit.inliers**2 - 1.0) / 12.0, 1.0)
        return math.sqrt(self.error / spread)

    def at_end(self, last: bool) -> tuple[float, float]:
        """Return the level at the first or last night, with its squared standard error."""
        if not self.line:
            return self.fit.level, self.error
        way = self.fit.half if last else -self.fit.half
        return self.fit.level + way * self.fit.slope, self.error + (way * self.slope_error) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """The test of what lies between two segments.

    Attributes
    ----------
    before, after : float
        Levels at the seam.
    error, freedom : float
        Standard error of their difference, and its degrees of freedom.
    p_value : float
        With levels that wander.
    """

    before: float
    after: float
    error: float
    freedom: float
    p_value: float


def long_run_factor(nights: int, rho: float) -> float:
    """Return the factor by which AR(1) correlation enlarges the variance of a mean."""
    if rho <= 0.0 or nights < 2:
        return 1.0
    # 1 + 2 sum over k < n of (1 - k / n) rho^k, summed in closed form.
    tail = 2.0 * rho * (1.0 - rho**nights) / (nights * (1.0 - rho) ** 2)
    return (1.0 + rho) / (1.0 - rho) - tail


def compare(left: Segment, right: Segment) -> Seam:
    """Test the levels on both sides of a seam by Welch's test."""
    before, a = left.at_end(True)
    after, b = right.at_end(False)

    def freedom(u: float, v: float) -> float:
        return (u + v) ** 2 / (u**2 / left.freedom + v**2 / right.freedom)

    def p_value(u: float, v: float) -> float:
        return float(2.0 * special.stdtr(freedom(u, v), -abs(after - before) / math.sqrt(u + v)))

    # The larger p-value: where the test passes at 1 - level, that interval excludes zero.
    wandering = p_value(a + WANDER**2 * left.variance, b + WANDER**2 * right.variance)
    return Seam(
        before=before,
        after=after,
        error=math.sqrt(a + b),
        freedom=freedom(a, b),
        p_value=max(wandering, p_value(a, b)),
    )


def with_shared_noise(segments: Sequence[Segment]) -> list[Segment]:
    """Return segments that know how well the noise of all their nights is known."""
    shared = float(sum(segment.fit.inliers for segment in segments) - len(segments))
    return [replace(segment, shared=max(shared, 1.0)) for segment in segments]


def visible_steps(segment: Segment, rules: Rules) -> NDArray[np.float64]:
    """Return the step after which as many series of this noise show a change as show none.

    The likelihood, the test and the least change ask for a difference each; the largest decides.

    Parameters
    ----------
    segment : Segment
        The last one of a series.
    rules : Rules

    Returns
    -------
    float64 array, shape (observation,)
        Of the logarithm, where the last 1, 2, ... observations are at the new level; infinite where
        one of the levels has too few.
    """
    size = segment.fit.end - segment.fit.begin
    after = np.arange(1, max(size, 1))
    factor = np.array([long_run_factor(nights, segment.rho) for nights in range(1, size)])
    errors = segment.variance / after * factor  # of a level of 1, 2, ... observations
    new, old = errors, errors[::-1]
    wander = WANDER**2 * segment.variance
    u, v = old + wander, new + wander
    freedom = segment.freedom * (u + v) ** 2 / (u**2 + v**2)
    tested = -special.stdtrit(freedom, 0.5 * rules.alpha) * np.sqrt(u + v)
    wide = segment.sigma * math.sqrt((1.0 + segment.rho) / (1.0 - segment.rho))
    gain = math.sqrt(float(special.chdtri(1.0, rules.alpha)))
    likely = gain * wide * np.sqrt(1.0 / after + 1.0 / after[::-1])
    steps = np.maximum(np.maximum(tested, likely), rules.least)
    shortest = FIRST if segment.fit.begin == 0 else SHORTEST
    steps[(after < SHORTEST) | (after[::-1] < shortest)] = math.inf
    return steps


def find_segments(
    y: NDArray[np.float64], day: NDArray[np.int64], rules: Rules
) -> tuple[list[Segment], Noise]:
    """Find the segments of a series.

    Parameters
    ----------
    y : float64 array, shape (observation,)
        Logarithms.
    day : int64 array, shape (observation,)
        Runs of one night have one number.
    rules : Rules

    Returns
    -------
    list of Segment
    Noise
        Of the residuals around the levels.
    """
    from hindmost.models.changepoint.robust.fits import level_grid, partition

    noise = noise_of_steps(y)
    starts = np.zeros(1, np.int64)
    # Alternate: levels for the noise so far, then noise and correlation of their residuals.
    for _ in range(PASSES):
        wide = noise.wide
        levels = level_grid(y, float(wide.min()), BOUND)
        starts = partition(y, wide, levels, BOUND, rules.penalty, SHORTEST)
        noise = noise_around(y, starts, wide)
    segments = join_switching(y, levels_and_lines(y, starts, noise, rules), noise)
    return drop_insignificant(y, segments, day, noise, rules), noise


def noise_around(
    y: NDArray[np.float64], starts: NDArray[np.int64], sigma: NDArray[np.float64]
) -> Noise:
    """Return the noise around levels that begin at some nights; see `fit` for ``sigma``."""
    bounds = pairwise([*starts.tolist(), y.size])
    fitted = np.concatenate([fit(y, begin, end, sigma).values for begin, end in bounds])
    return noise_of_residuals(y, y - fitted, starts)


def segments_between(y: NDArray[np.float64], places: list[int]) -> tuple[list[Segment], Noise]:
    """Return the levels between given changes, and the noise around them."""
    starts = np.array([0, *places])
    noise = noise_around(y, starts, noise_of_steps(y).wide)
    bounds = pairwise([*starts.tolist(), y.size])
    return with_shared_noise([segment_of(y, begin, end, noise) for begin, end in bounds]), noise


def segment_of(
    y: NDArray[np.float64], begin: int, end: int, noise: Noise, line: bool = False
) -> Segment:
    """Return a level or a line with the noise of its nights."""
    wide = noise.wide if line else noise.sigma
    sigma = float(np.median(noise.sigma[begin:end]))
    return Segment(fit=fit(y, begin, end, wide, line), line=line, sigma=sigma, rho=noise.rho)


def levels_and_lines(
    y: NDArray[np.float64], starts: NDArray[np.int64], noise: Noise, rules: Rules
) -> list[Segment]:
    """Replace one level or several by a line wherever that costs less, by optimal partitioning.

    Parameters
    ----------
    y : float64 array, shape (observation,)
    starts : int64 array, shape (segment,)
    """
    wide, penalty = noise.wide, rules.penalty
    slope = float(penalty.max())
    bounds = [*starts.tolist(), y.size]
    best = [0.0]
    chosen: list[tuple[int, Segment]] = []
    # best[j]: least cost of the first j levels, the last of them a level, or a line over some.
    for j in range(1, len(bounds)):
        level = segment_of(y, bounds[j - 1], bounds[j], noise)
        options = [
            (best[-1] + cost(y, level.fit, wide) + float(penalty[bounds[j - 1]]), j - 1, level)
        ]
        for i in range(j):
            if bounds[j] - bounds[i] >= SHORTEST_LINE:
                line = segment_of(y, bounds[i], bounds[j], noise, line=True)
                total = best[i] + cost(y, line.fit, wide) + float(penalty[bounds[i]]) + slope
                options.append((total, i, line))
        least, i, part = min(options, key=lambda option: option[0])
        best.append(least)
        chosen.append((i, part))
    segments: list[Segment] = []
    j = len(chosen)
    while j > 0:
        j, part = chosen[j - 1]
        if part.line and abs(part.fit.slope) * 2.0 * part.fit.half < rules.least:
            part = segment_of(y, part.fit.begin, part.fit.end, noise)
        segments.insert(0, part)
    return segments


def join_switching(y: NDArray[np.float64], segments: list[Segment], noise: Noise) -> list[Segment]:
    """Join segments that alternate between two levels: two modes of a machine are one regime."""
    joined: list[Segment] = []
    s = 0
    while s < len(segments):
        last = last_switch(segments, s)
        if last - s >= SWITCHES:
            joined.append(switching(y, segments[s].fit.begin, segments[last].fit.end, noise))
            s = last + 1
        else:
            joined.append(segments[s])
            s += 1
    return joined


def switching(y: NDArray[np.float64], begin: int, end: int, noise: Noise) -> Segment:
    """Return a regime of two modes: its noise is at least the spread of both."""
    spread = np.maximum(noise.sigma, float(np.std(y[begin:end])))
    return replace(segment_of(y, begin, end, noise._replace(sigma=spread)), switching=True)


def last_switch(segments: list[Segment], first: int) -> int:
    """Return the last of the segments that alternate between the levels of one and its next."""
    # Running mean of both modes; alternate segments must stay close to theirs.
    last = first
    mode, weight = [0.0, 0.0], [0, 0]
    for s in range(first, len(segments)):
        side, found = (s - first) % 2, segments[s].fit
        if segments[s].line:
            break
        if weight[side] and abs(found.level - mode[side]) >= EQUAL * abs(mode[0] - mode[1]):
            break
        weight[side] += found.inliers
        mode[side] += (found.level - mode[side]) * found.inliers / weight[side]
        last = s
    return last


def drop_insignificant(
    y: NDArray[np.float64],
    segments: list[Segment],
    day: NDArray[np.int64],
    noise: Noise,
    rules: Rules,
) -> list[Segment]:
    """Join levels that do not differ, the least certain first, until all changes pass the test.

    Parameters
    ----------
    y, segments, day, noise, rules
        See `find_segments`.
    """
    segments = with_shared_noise(segments)
    while len(segments) > 1:
        doubts = [doubt(left, right, day, rules) for left, right in pairwise(segments)]
        worst = max(doubts)
        if worst <= 1.0:
            break
        s = doubts.index(worst)
        left, right = segments[s : s + 2]
        begin, end = left.fit.begin, right.fit.end
        modes = left.switching or right.switching
        joined = (switching if modes else segment_of)(y, begin, end, noise)
        segments = with_shared_noise([*segments[:s], joined, *segments[s + 2 :]])
    return segments


def doubt(left: Segment, right: Segment, day: NDArray[np.int64], rules: Rules) -> float:
    """Return how much is missing for a change between two levels: above 1 it is not significant.

    Where a line begins or ends, there may be no step.
    """
    if left.line or right.line:
        return 0.0
    nights = [day[each.fit.end - 1] - day[each.fit.begin] + 1 for each in (left, right)]
    if min(nights) < SHORTEST or (left.fit.begin == 0 and nights[0] < FIRST):
        return math.inf
    seam, place = compare(left, right), right.fit.begin
    if not rules.is_kept[place] and abs(seam.after - seam.before) < rules.least:
        return 2.0 / rules.alpha
    return seam.p_value / rules.level_at(place)
