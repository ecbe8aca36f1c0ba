"""Detours of a rank, found from the times of its iterations alone.

An iteration takes the work of its place in the restart cycle, x = b + jitter, and sometimes a
detour more. The excess over that place is taken as a mixture of

- iterations without a detour: b + N(0, s) + Exp(t), so that jitter may be skewed;
- with one of exponential length, b + jitter + Exp(m), or of one length, b + jitter + L;
- others, of any length: uniform in log(x - b), at most one iteration in twenty.

All parameters are those of greatest likelihood; the kind with the smallest BIC is chosen. Jitter
that is skewed by a good part of the work is taken as a detour of exponential length in every
iteration. Whether detours come on a clock is decided by Rayleigh's test on the times of the
iterations that have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

Kind = Literal["none", "exponential", "fixed", "varied"]

LEAST_ITERATIONS = 100
LEAST_DETOURS = 5
CLEAR = 5.0
"""Jitters that a detour must last to be told from jitter."""
QUANTILE = 0.2
"""Of the times at one place of a cycle, that stands for the place: detours only add."""
MOST_OTHERS = 0.05
MOST_FIXED = 0.9
"""A detour of one length in every iteration would be the same as more work."""
BINS = 240
NOTABLE = 0.02
"""Share of the work from which skewed jitter is a detour in every iteration."""
DEAR = 3.0
"""What one of the other detours costs in likelihood: a law is to explain what it can."""
SHORTEST_S = 1e-9
LEAST_OF_PLACE = 60
"""Iterations whose times stand for a place; with fewer, neighbouring places count as one."""
EXACT = 1e-9
"""Relative spread of times up to which they are equal."""
CERTAIN = 1e-6
"""Probability below which the periodicity of random detours is not chance."""
LEAST_PERIODIC = 8
"""Detours from which on their times are tested."""
LOG_2PI = math.log(2.0 * math.pi)
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDetours:
    """The detours of one rank.

    Attributes
    ----------
    kind : str
        ``exponential`` or ``fixed`` lengths, ``varied`` if neither describes them; ``none``.
    iterations : int
        Iterations that were looked at.
    seconds : float
        From the begin of the first to the end of the last.
    count : float
        Expected number of detours in them.
    mean_s : float
        Mean length of a detour; 0 if there are none.
    others, others_s : float
        Detours of other lengths than ``kind`` has: number, and total time.
    period_s : float or None
        Of detours on a clock; None if they come at random, or if this is not known.
    timing_known : bool
        Whether there were enough detours, in few enough iterations, to test for a period.
    work_s, jitter_s : float
        Of an iteration without detours: its mean, and the standard deviation.
    """

    kind: Kind
    iterations: int
    seconds: float
    count: float
    mean_s: float
    others: float
    others_s: float
    period_s: float | None
    timing_known: bool
    work_s: float
    jitter_s: float

    @property
    def probability(self) -> float:
        """Share of the iterations that have a detour."""
        return self.count / self.iterations

    @property
    def per_s(self) -> float:
        """Detours per second."""
        return self.count / self.seconds

    @property
    def share(self) -> float:
        """Share of the time that all detours take, others included."""
        return (self.count * self.mean_s + self.others_s) / self.seconds

    @property
    def least_s(self) -> float:
        """The shortest detour that would have been seen."""
        return CLEAR * self.jitter_s


@dataclass(frozen=True, slots=True)
class Mixture:
    """A fitted mixture: the densities of its parts, in logarithms, at any excess."""

    kind: Kind
    score: float
    base_s: float
    normal_s: float
    skew_s: float
    mean_s: float
    parts: Callable[[FloatArray], FloatArray]

    @property
    def jitter_s(self) -> float:
        """The standard deviation of iterations without detours."""
        return math.hypot(self.normal_s, self.skew_s)

    def chances(self, excess_s: FloatArray) -> FloatArray:
        """Return the probabilities of the parts: shape (part, value)."""
        logs = self.parts(excess_s)
        return np.asarray(np.exp(logs - np.logaddexp.reduce(logs, axis=0)))


def find_detours(
    work_s: FloatArray, start_s: FloatArray, place: NDArray[np.integer[Any]]
) -> RankDetours | None:
    """Find the detours of one rank.

    Parameters
    ----------
    work_s : float64 array, shape (iteration,), seconds
        Time of each iteration without waiting.
    start_s : float64 array, shape (iteration,), seconds
        Ascending.
    place : int array, shape (iteration,)
        Iterations of one place do the same work.

    Returns
    -------
    RankDetours or None
        None if there are too few iterations to say anything.
    """
    if work_s.size < LEAST_ITERATIONS:
        return None
    excess, usual_s = excess_over_place(work_s, place)
    seconds = max(float(start_s[-1] - start_s[0] + work_s[-1]), SHORTEST_S)
    if not float(np.ptp(excess)) > EXACT * usual_s:
        return RankDetours(
            kind="none",
            iterations=work_s.size,
            seconds=seconds,
            count=0.0,
            mean_s=0.0,
            others=0.0,
            others_s=0.0,
            period_s=None,
            timing_known=False,
            work_s=usual_s,
            jitter_s=0.0,
        )
    found = best_mixture(excess)
    chances = found.chances(excess)
    over = np.maximum(excess - found.base_s, 0.0)
    regular, others = chances[1], chances[2]
    count, mean_s, kind = float(regular.sum()), found.mean_s, found.kind
    jitter_s, base_s = found.jitter_s, found.base_s
    others_count, others_s = float(others.sum()), float(others @ over)
    dense = found.skew_s > max(CLEAR * found.normal_s, NOTABLE * (usual_s + base_s))
    if dense:
        others, regular = regular + others, chances[0]
        others_count, others_s = float(others.sum()), float(others @ over)
        kind, count, mean_s, jitter_s = (
            "exponential",
            float(regular.sum()),
            found.skew_s,
            found.normal_s,
        )
    elif kind == "none" and others_count >= LEAST_DETOURS:
        kind, count, mean_s = "varied", others_count, others_s / others_count
        regular, others_count, others_s = others, 0.0, 0.0
    elif count < 1.0:
        kind = "none"
        others_count, others_s = others_count + count, others_s + float(regular @ over)
        count = mean_s = 0.0
    tested = LEAST_PERIODIC <= count <= 0.5 * work_s.size
    # Each begins somewhere in its iteration; the middle is as good a guess as any.
    times = (start_s + 0.5 * work_s)[regular > 0.5]
    return RankDetours(
        kind=kind,
        iterations=work_s.size,
        seconds=seconds,
        count=count,
        mean_s=mean_s,
        others=others_count,
        others_s=others_s,
        period_s=period_of(times) if tested else None,
        timing_known=tested,
        work_s=usual_s + base_s + (0.0 if dense else found.skew_s),
        jitter_s=jitter_s,
    )


def excess_over_place(
    work_s: FloatArray, place: NDArray[np.integer[Any]]
) -> tuple[FloatArray, float]:
    """Return the work over that of each place, and the mean work of the places, in seconds."""
    _, number, counts = np.unique(place, return_inverse=True, return_counts=True)
    number = number // math.ceil(LEAST_OF_PLACE / float(np.median(counts)))
    order = np.argsort(number, kind="stable")
    groups = np.split(work_s[order], np.cumsum(np.bincount(number))[:-1])
    usual = np.array([np.quantile(group, QUANTILE) for group in groups])
    return work_s - usual[number], float(usual[number].mean())


# The mixtures.


def best_mixture(excess_s: FloatArray) -> Mixture:
    """Fit the mixtures and return that of the smallest BIC, if its detours are clear."""
    value, weight = binned(excess_s)
    low = np.quantile(excess_s, (0.02, QUANTILE))
    scale = max(float(low[1] - low[0]), 1e-4 * float(np.ptp(excess_s)), 1e-12)
    most = max(float(excess_s.max()), 10 * scale)
    fits = [fitted("none", value, weight, scale, most, [()])]
    shares = (0.5, 0.1, 0.02, 0.004)
    lengths = [max(float(np.quantile(excess_s, 1 - 0.4 * each)), 5 * scale) for each in shares]
    starts = list(zip(shares, lengths, strict=True))
    fits += [fitted(kind, value, weight, scale, most, starts) for kind in ("exponential", "fixed")]
    clear = [each for each in fits[1:] if each.mean_s > CLEAR * each.jitter_s]
    return min((fits[0], *clear), key=lambda each: each.score)


def binned(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and counts of sorted neighbours, single values at both ends."""
    ordered = np.sort(values)
    if ordered.size <= 2 * BINS:
        return ordered, np.ones(ordered.size)
    ends = BINS // 4  # single values, where the tails are
    cuts = np.unique(np.linspace(ends, ordered.size - ends, BINS).astype(np.int64))
    begins = np.concatenate((np.arange(ends), cuts[:-1], np.arange(cuts[-1], ordered.size)))
    counts = np.diff(np.append(begins, ordered.size)).astype(np.float64)
    return np.add.reduceat(ordered, begins) / counts, counts


def fitted(
    kind: Kind,
    value: FloatArray,
    weight: FloatArray,
    scale: float,
    most: float,
    starts: list[tuple[float, float]] | list[tuple[()]],
) -> Mixture:
    """Fit one mixture, from several starts.

    Parameters
    ----------
    value, weight : float64 array, shape (bin,)
        Excesses in seconds, and how many they are.
    scale, most : float
        A first guess of the jitter, and the largest excess, seconds.
    starts : list of (float, float)
        Probability and length of detours to begin with; an empty one for no detours.
    """

    def parts_at(parameters: FloatArray, at: FloatArray) -> FloatArray:
        base, jitter = parameters[0] * scale, scale * math.exp(parameters[1])
        skew = scale * math.exp(parameters[3])
        others = MOST_OTHERS * expit(parameters[2])
        over = at - base
        clean = with_exponential(over, jitter, skew)
        rest = uniform_in_log(over, math.hypot(jitter, skew), most - base) - DEAR
        if kind == "none":
            logs = (clean + math.log1p(-others), np.full_like(clean, -np.inf))
            return np.stack((*logs, rest + math.log(others)))
        length = scale * math.exp(parameters[4])
        share = (MOST_FIXED if kind == "fixed" else 1.0) * expit(parameters[5])
        if kind == "exponential":
            detour = with_exponential(over - skew, math.hypot(jitter, skew), length)
        else:
            spread = scale * math.exp(parameters[6])
            detour = normal(over - skew - length, math.hypot(jitter, skew, spread))
        return np.stack(
            (
                clean + math.log((1 - others) * (1 - share) + 1e-300),
                detour + math.log((1 - others) * share + 1e-300),
                rest + math.log(others),
            )
        )

    def misfit(parameters: FloatArray) -> float:
        if np.abs(parameters).max() > 60.0:
            return 1e6
        total = np.logaddexp.reduce(parts_at(parameters, value), axis=0) + math.log(scale)
        return float(-(weight @ np.maximum(total, -700.0)) / weight.sum())

    best = None
    for start in starts:
        first = [0.0, 0.0, -1.0, -1.0]
        if start:
            probability, length = start
            first += [math.log(length / scale), math.log(probability / (1 - probability))]
            first += [math.log(max(0.05 * length / scale, 0.5))] if kind == "fixed" else []
        answer = minimize(misfit, np.array(first), method="L-BFGS-B", options={"maxiter": 200})
        if best is None or answer.fun < best.fun:
            best = answer
    assert best is not None
    found: FloatArray = np.asarray(best.x)
    count = float(weight.sum())
    return Mixture(
        kind,
        2 * count * float(best.fun) + found.size * math.log(count),
        float(found[0] * scale),
        float(scale * math.exp(found[1])),
        float(scale * math.exp(found[3])),
        0.0 if kind == "none" else float(scale * math.exp(found[4])),
        lambda at: parts_at(found, at),
    )


def expit(x: float) -> float:
    """Return 1 / (1 + exp(-x)), above 0 and below 1."""
    return min(max(1.0 / (1.0 + math.exp(-x)), 1e-12), 1 - 1e-12)


def normal(x: FloatArray, deviation: float) -> FloatArray:
    """Return the log density of N(0, deviation)."""
    return np.asarray(-0.5 * (x / deviation) ** 2 - math.log(deviation) - 0.5 * LOG_2PI)


def with_exponential(x: FloatArray, deviation: float, mean: float) -> FloatArray:
    """Return the log density of N(0, deviation) + Exp(mean)."""
    ratio = deviation / mean
    if ratio > 30.0:  # too little to be seen, and its parts cancel
        return normal(x - mean, deviation)
    return np.asarray(0.5 * ratio**2 - x / mean - math.log(mean) + log_ndtr(x / deviation - ratio))


def uniform_in_log(x: FloatArray, least: float, most: float) -> FloatArray:
    """Return the log density of a value whose logarithm is uniform from least to most."""
    width = math.log(max(most / least, 1.01))
    inside = (x >= least) & (x <= most * 1.000001)
    return np.where(inside, -np.log(np.maximum(x, least) * width), -np.inf)


# Detours on a clock.


def period_of(times_s: FloatArray) -> float | None:
    """Return the period of detours that come on a clock; None if they may be random.

    Rayleigh's test: at the right frequency the phases of all detours agree. Frequencies about their
    mean rate are tried, so that some detours may be missing, or two may come as one.

    Parameters
    ----------
    times_s : float64 array, shape (detour,), seconds
    """
    if times_s.size < LEAST_PERIODIC:
        return None
    span = float(times_s[-1] - times_s[0])
    if not span > 0.0:
        return None
    rate = (times_s.size - 1) / span
    steps = max(int(1.2 * rate * span * 6), 12)
    frequency = np.linspace(0.7 * rate, 1.9 * rate, steps)
    strength = np.array([aligned(times_s, each) for each in frequency])
    at = int(np.argmax(strength))
    fine = frequency[at] + np.linspace(-1, 1, 101) * (frequency[1] - frequency[0])
    strengths = np.array([aligned(times_s, each) for each in fine])
    best = float(strengths.max())
    # Of n random phases, n R^2 exceeds z with probability exp(-z).
    chance = math.exp(-times_s.size * best**2) * (1.2 * rate * span)
    return float(1.0 / fine[int(np.argmax(strengths))]) if chance < CERTAIN else None


def aligned(times_s: FloatArray, frequency: float) -> float:
    """Return R, the length of the mean of phases at a frequency: 1 if all agree."""
    return float(abs(np.exp(2j * np.pi * frequency * times_s).mean()))
