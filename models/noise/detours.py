"""Detours of a rank, found from the times of its iterations alone.

An iteration takes the usual time of its place in the restart cycle, with jitter; detours only add.
Excesses of more than `CLEAR` jitters over the usual time are detours. Their lengths are a mixture
of families, each of exponential lengths or of one length: exponential lengths are so beyond any
threshold, so the shorter detours, which jitter hides, are counted from those beyond it. Families
are added while the BIC falls clearly. Whether the detours of a family come by a clock is decided
from the times of the iterations that have one (`clocks`), and whether they come in every nth
iteration from their numbers (`hindmost.models.recurring`).

Whether detours come by a clock, from the times at which they came.

At the frequency of a clock the phases of its detours agree (Rayleigh's test). Detours that come
close to each other count once: a burst is no clock. Where a clock drives only some of the detours,
as the tick of a system does, the share that follows it is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.models.recurring import LONG_SHARE, Rule, as_by_clock, excess_of, rules_in
from hindmost.models.simulation.blocks import NEGLIGIBLE, RESOLUTION_S, slabs

MIN_PERIODIC = 8
"""Detours from which on their times are tested."""
MIN_SHARE = 0.3
"""Of the detours, that must follow a clock to speak of one."""
SLOWEST, FASTEST = 0.12, 1.9
"""Frequencies that are tried, over the mean rate of detours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What the times of detours say on a clock.

    Attributes
    ----------
    period_s : float or None
        Of the clock that they follow; None if there is none, or if this is not known.
    share : float
        Of the detours, that follow it: 1 for all, 0 without one.
    known : bool
        Whether there is an answer: there are enough detours, and the iterations do not come by the
        same clock themselves, as where a rank gets its core in turn with another process.
    """

    period_s: float | None
    share: float
    known: bool


UNKNOWN = Timing(period_s=None, share=0.0, known=False)
RANDOM = replace(UNKNOWN, known=True)


def timing_of(times_s: FloatArray, every_s: FloatArray) -> Timing:
    """Return whether detours follow a clock.

    Parameters
    ----------
    times_s : float64 array, shape (detour,), seconds
        Ascending.
    every_s : float64 array, shape (iteration,), seconds
        Times of all iterations, ascending.
    """
    times_s = times_s[:2000]
    span = float(times_s[-1] - times_s[0]) if times_s.size else 0.0
    if times_s.size < MIN_PERIODIC or not span > 0.0:
        return UNKNOWN
    rate = (times_s.size - 1) / span
    slowest = max(SLOWEST * rate, 0.5 * MIN_PERIODIC / span)
    fastest = FASTEST * rate
    steps = max(int(6.0 * (fastest - slowest) * span), 12)
    frequency = np.linspace(slowest, fastest, steps)
    strength = alignments(times_s, frequency)
    # The lowest of those that align about as well: the others are its multiples.
    # A multiple of a clock's frequency aligns nearly as well as the best.
    rises = np.flatnonzero(strength >= 0.8 * strength.max())
    end = rises[0]
    while end + 1 < steps and strength[end + 1] > strength[end]:
        end += 1
    step = frequency[1] - frequency[0]
    fine = frequency[end] + np.linspace(-1.0, 1.0, 101) * step
    fine_strength = alignments(times_s, fine)
    best = float(fine[int(np.argmax(fine_strength))])
    share = float(fine_strength.max())
    tried = max(steps / 6.0, 1.0)
    # Of so many, a clock would have been found.
    without = RANDOM if times_s.size >= 30 else UNKNOWN
    if share < MIN_SHARE or chance(times_s, best) * tried > 1e-5:
        return without
    halves = np.array_split(times_s, 2)
    if any(aligned_in(half, best) < 0.6 * share for half in halves if half.size >= MIN_PERIODIC):
        return without
    there = every_s[(every_s >= times_s[0]) & (every_s <= times_s[-1])]
    if aligned_in(there, best) > 0.5 * share:
        return UNKNOWN
    return Timing(period_s=1.0 / best, share=share, known=True)


def alignments(times_s: FloatArray, frequency: FloatArray) -> FloatArray:
    """Return the length of the mean phase at frequencies, 1 if all agree: shape (frequency,)."""
    parts = []
    for some in slabs(frequency.size, times_s.size):
        turns = np.multiply.outer(frequency[some], times_s)
        parts.append(np.abs(np.exp(2j * np.pi * turns).mean(axis=1)))
    return np.concatenate(parts)


def aligned_in(times_s: FloatArray, frequency: float) -> float:
    """Return the alignment of some of the detours at a frequency."""
    return float(alignments(times_s, np.array([frequency]))[0])


def chance(times_s: FloatArray, frequency: float) -> float:
    """Return how probably random detours align at a frequency as these do.

    Of n random phases, n R^2 exceeds z with a probability of about exp(-z); all of them lie in an
    arc of the circle, of length w, with probability n w^(n-1). The detours of one turn count once.
    """
    turns = times_s * frequency
    turn = np.floor(turns - np.angle(np.exp(2j * np.pi * turns).mean()) / (2 * np.pi) + 0.5)
    first = np.concatenate(([True], np.diff(turn) > 0))
    phases = turns[first] % 1.0
    count = phases.size
    if count < MIN_PERIODIC:
        return 1.0
    mean = float(np.abs(np.exp(2j * np.pi * phases).mean()))
    ordered = np.sort(phases)
    gaps = np.diff(np.append(ordered, ordered[0] + 1.0))
    arc = 1.0 - float(gaps.max())
    in_arc = count * arc ** (count - 1)
    return float(min(2.0 * min(math.exp(-count * mean**2), in_arc), 1.0))


Kind = Literal["exponential", "fixed"]
FloatArray = NDArray[np.float64]

MIN_ITERATIONS = 100
CLEAR = 5.0
"""Jitters that a detour must last to be told from jitter."""
MIN_DETOURS = 5
"""Of a family."""
WORTH = 12.0
"""By how much a further family must lower the BIC."""
NARROW, NARROWEST = 0.15, 0.01
"""Spread of one length, over the length."""
QUANTILE = 0.2
"""Of the times at one place of a cycle, that stands for the place."""
MIN_OF_PLACE = 60
"""Iterations whose times stand for a place; with fewer, neighbouring places count as one."""
MIN_CLEAN = 0.02
"""Share of the iterations without a detour."""
PEAKS = 3
"""Lengths at which a search for one length begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetourFamily:
    """Detours of one law.

    Attributes
    ----------
    kind : str
        ``exponential`` or ``fixed`` lengths.
    count : float
        Expected number of detours.
    mean_s : float
        Mean length.
    count_error, mean_error_s : float
        Standard errors, if detours of this family are independent.
    period_s : float or None
        Of the clock that they follow; None if they come at random, or if this is not known.
    on_clock : float
        Share that follows the clock; 0 without one.
    timing_known : bool
        Whether there were enough detours, in few enough iterations, to test for a clock.
    every, first : int or None
        They come in every nth iteration from a first one on, counted over the iterations that were
        looked at: the program does so. A ``period_s`` beside it explains them as well.
    """

    kind: Kind
    count: float
    mean_s: float
    count_error: float
    mean_error_s: float
    period_s: float | None
    on_clock: float
    timing_known: bool
    every: int | None = None
    first: int | None = None

    @property
    def rule(self) -> Rule | None:
        """By which iterations they come; None if by none."""
        if self.every is None or self.first is None:
            return None
        return Rule(self.every, self.first)

    @property
    def total_s(self) -> float:
        """Time of all of its detours."""
        return self.count * self.mean_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDetours:
    """The detours of one rank.

    Attributes
    ----------
    families : tuple of DetourFamily
        That which takes most of the time first; empty if there are none.
    iterations : int
        Iterations that were looked at.
    seconds : float
        From the begin of the first to the end of the last.
    others, others_s : float
        Detours of other lengths than the families have: number, and total time.
    work_s, jitter_s : float
        Of an iteration without detours: its mean, and the standard deviation.
    """

    families: tuple[DetourFamily, ...]
    iterations: int
    seconds: float
    others: float
    others_s: float
    work_s: float
    jitter_s: float

    @property
    def share(self) -> float:
        """Share of the time that all detours take, others included."""
        return (sum(family.total_s for family in self.families) + self.others_s) / self.seconds

    @property
    def noise_share(self) -> float:
        """The same without families that come by iteration, as the program's own output."""
        own_s = sum(family.total_s for family in self.families if family.rule is not None)
        return self.share - own_s / self.seconds

    @property
    def least_s(self) -> float:
        """The shortest detour that would have been seen."""
        return CLEAR * self.jitter_s


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
    if work_s.size < MIN_ITERATIONS:
        return None
    excess_s, usual_s = excess_over_place(work_s, place)
    seconds = max(float(start_s[-1] - start_s[0] + work_s[-1]), RESOLUTION_S)
    base_s, jitter_s, laws = 0.0, 0.0, list[Law]()
    varied = float(np.ptp(excess_s)) > RESOLUTION_S
    if varied:
        base_s, jitter_s, laws = laws_in(excess_s, NEGLIGIBLE * usual_s)
    length_s = excess_s - base_s
    beyond = varied & (length_s > CLEAR * jitter_s)
    least_s = max(CLEAR * jitter_s, NEGLIGIBLE * usual_s)
    # Each begins somewhere in its iteration; the middle is as good a guess as any.
    middle_s = start_s + 0.5 * work_s
    rules = rules_in(excess_of(work_s, place)) if laws else []
    families = []
    for law, chance in zip(laws, chances_of(length_s[beyond], laws), strict=True):
        if law.mean_s <= least_s:
            continue
        taken = np.flatnonzero(beyond)[chance > 0.5]
        family = family_of(law, chance, CLEAR * jitter_s, middle_s, taken)
        families.append(by_iteration(family, taken, rules, start_s))
    others_s = length_s[beyond] if not laws else np.empty(0)
    return RankDetours(
        families=tuple(sorted(families, key=lambda each: -each.total_s)),
        iterations=work_s.size,
        seconds=seconds,
        others=float(others_s.size),
        others_s=float(others_s.sum()),
        work_s=usual_s + base_s,
        jitter_s=jitter_s,
    )


@dataclass(frozen=True, slots=True)
class Law:
    """A law of lengths: its share of the detours beyond the threshold, mean, and spread.

    The spread is that of one length; 0 of exponential lengths.
    """

    share: float
    mean_s: float
    spread_s: float
    threshold_s: float

    @property
    def hidden(self) -> float:
        """Detours of any length, over those beyond the threshold."""
        return 1.0 if self.spread_s else math.exp(min(self.threshold_s / self.mean_s, 50.0))

    def log_density(self, length_s: FloatArray) -> FloatArray:
        """Return the log density of lengths beyond the threshold, shape (detour,)."""
        if self.spread_s:
            away = (length_s - self.mean_s) / self.spread_s
            return np.asarray(-0.5 * away**2 - math.log(self.spread_s * math.sqrt(2.0 * math.pi)))
        return np.asarray(-(length_s - self.threshold_s) / self.mean_s - math.log(self.mean_s))


def laws_in(excess_s: FloatArray, least_s: float) -> tuple[float, float, list[Law]]:
    """Return usual excess and jitter in seconds, and the laws of the detours.

    A law with a mean below ``least_s`` is a tail of the jitter.

    Jitter is that of the iterations without a detour, the shorter ones: how many these are follows
    from the detours, and these from the jitter.
    """
    clean, laws = 1.0, list[Law]()
    for _ in range(8):
        shortest_s, base_s = np.quantile(excess_s, (0.1 * clean, 0.5 * clean))
        jitter_s = max(float(base_s - shortest_s) / 1.2816, RESOLUTION_S)
        length_s = excess_s[excess_s > base_s + CLEAR * jitter_s] - base_s
        laws = mixture(length_s, CLEAR * jitter_s, jitter_s)
        detours = [law for law in laws if law.mean_s > least_s]
        count = length_s.size * sum(detour.share * detour.hidden for detour in detours)
        before, clean = clean, float(np.clip(1.0 - count / excess_s.size, MIN_CLEAN, 1.0))
        if abs(clean - before) < 0.01:
            break
    return float(base_s), jitter_s, laws


def mixture(length_s: FloatArray, threshold_s: float, jitter_s: float) -> list[Law]:
    """Return the laws of lengths beyond a threshold, one after another while the BIC falls.

    Parameters
    ----------
    length_s : float64 array, shape (detour,), seconds
    """
    if length_s.size < MIN_DETOURS:
        return []
    some = np.sort(length_s)[:: max(1, -(-length_s.size // 5000))]
    weight = length_s.size / some.size
    laws, score = list[Law](), math.inf
    while True:
        tried = [
            fitted([*laws, start], some, jitter_s) for start in starts(laws, some, threshold_s)
        ]
        scored = [(score_of(each, some, weight), each) for each in tried]
        best = min(scored, key=lambda each: each[0], default=(math.inf, []))
        if best[0] > score - (WORTH if laws else 0.0):
            return laws
        score, laws = best


def starts(laws: list[Law], length_s: FloatArray, threshold_s: float) -> list[Law]:
    """Return where the search for a further law begins: exponential ones, and one length."""
    grid = np.quantile(length_s - threshold_s, (0.1, 0.5, 0.95)).tolist()
    means = [*grid, float((length_s - threshold_s).mean())]
    begins = [Law(0.3, max(mean, 1e-3 * threshold_s), 0.0, threshold_s) for mean in means]
    # The lengths around which there are most detours beyond those that are expected.
    ends = np.stack([(1.0 - NARROW) * length_s, (1.0 + NARROW) * length_s])
    seen = np.diff(np.searchsorted(length_s, ends), axis=0)[0]
    now = np.exp(densities(laws, length_s)) if laws else np.zeros(length_s.size)
    expected = np.maximum((ends[1] - ends[0]) * length_s.size * now, 0.5)
    more = np.where(seen > expected, seen * np.log(seen / expected), 0.0)
    for _ in range(PEAKS):
        at = float(length_s[np.argmax(more)])
        begins.append(Law(0.1, at, 0.5 * NARROW * at, threshold_s))
        more[np.abs(length_s - at) < 2.0 * NARROW * at] = 0.0
    return begins


def fitted(laws: list[Law], length_s: FloatArray, jitter_s: float) -> list[Law]:
    """Return laws of more likelihood by expectation and maximisation."""
    for _ in range(60):
        chances = chances_of(length_s, laws)
        count = chances.sum(axis=1) + 1e-9
        mean = chances @ length_s / count
        square = np.maximum(chances @ length_s**2 / count - mean**2, 0.0)
        laws = [
            Law(
                float(count[k]) / length_s.size,
                float(mean[k]) if law.spread_s else max(float(mean[k]) - law.threshold_s, 1e-12),
                float(np.clip(square[k] ** 0.5, NARROWEST * mean[k], NARROW * mean[k] + jitter_s))
                if law.spread_s
                else 0.0,
                law.threshold_s,
            )
            for k, law in enumerate(laws)
        ]
    return laws


def densities(laws: list[Law], length_s: FloatArray) -> FloatArray:
    """Return the log density of the mixture, shape (detour,)."""
    each = [law.log_density(length_s) + math.log(law.share + 1e-300) for law in laws]
    return np.asarray(np.logaddexp.reduce(each, axis=0))


def chances_of(length_s: FloatArray, laws: list[Law]) -> FloatArray:
    """Return how probably each detour is of each law: shape (law, detour)."""
    if not laws:
        return np.empty((0, length_s.size))
    each = np.stack([law.log_density(length_s) + math.log(law.share + 1e-300) for law in laws])
    return np.asarray(np.exp(each - np.logaddexp.reduce(each, axis=0)))


def score_of(laws: list[Law], length_s: FloatArray, weight: float) -> float:
    """Return the BIC, infinite if a law has too few detours or is too much like another."""
    size = weight * length_s.size
    if min(law.share for law in laws) * size < MIN_DETOURS - 1:
        return math.inf
    for alike in ([law.mean_s for law in laws if bool(law.spread_s) == own] for own in (0, 1)):
        if any(b < 2.0 * a for a, b in pairwise(sorted(alike))):
            return math.inf
    parameters = sum(3 if law.spread_s else 2 for law in laws) - 1
    likelihood = weight * float(densities(laws, length_s).sum())
    return parameters * math.log(size) - 2.0 * likelihood


def family_of(
    law: Law,
    chance: FloatArray,
    threshold_s: float,
    middle_s: FloatArray,
    taken: NDArray[np.intp],
) -> DetourFamily:
    """Return a family with the times at which its detours came.

    Parameters
    ----------
    chance : float64 array, shape (detour,)
        Probability that a detour beyond the threshold is of the law.
    middle_s : float64 array, shape (iteration,), seconds
    taken : int array, shape (family's detour,)
        Their iterations.
    """
    seen = float(chance.sum())
    count = seen * law.hidden
    tested = round(count) >= MIN_PERIODIC and count <= 0.5 * middle_s.size
    timing = timing_of(middle_s[taken], middle_s) if tested else UNKNOWN
    mean_error_s = (law.spread_s or law.mean_s) / math.sqrt(max(seen, 1.0))
    # Unknown are the detour of an iteration, and how many the threshold hides.
    hidden_error = 0.0 if law.spread_s else count * threshold_s * mean_error_s / law.mean_s**2
    return DetourFamily(
        kind="fixed" if law.spread_s else "exponential",
        count=min(count, float(middle_s.size)),
        mean_s=law.mean_s,
        count_error=math.hypot(float(np.sqrt(chance @ (1.0 - chance))), hidden_error),
        mean_error_s=mean_error_s,
        period_s=timing.period_s,
        on_clock=timing.share,
        timing_known=timing.known,
    )


def by_iteration(
    family: DetourFamily, taken: NDArray[np.intp], rules: Sequence[Rule], start_s: FloatArray
) -> DetourFamily:
    """Return a family with the rule by which its iterations come, if most of both are the same.

    Parameters
    ----------
    taken : int array, shape (detour,)
        Iterations that have one.
    start_s : float64 array, shape (iteration,), seconds
    """
    for rule in rules:
        rows = rule.rows(start_s.size)
        common = np.intersect1d(rows, taken).size
        if common >= LONG_SHARE * max(rows.size, taken.size):
            period_s = as_by_clock(start_s, rule)
            return replace(
                family,
                period_s=period_s,
                on_clock=0.0 if period_s is None else 1.0,
                timing_known=True,
                every=rule.every,
                first=rule.first,
            )
    return family


def excess_over_place(
    work_s: FloatArray, place: NDArray[np.integer[Any]]
) -> tuple[FloatArray, float]:
    """Return the work over that of each place, and the mean work of the places, in seconds."""
    _, number, counts = np.unique(place, return_inverse=True, return_counts=True)
    number = number // math.ceil(MIN_OF_PLACE / float(np.median(counts)))
    order = np.argsort(number, kind="stable")
    groups = np.split(work_s[order], np.cumsum(np.bincount(number))[:-1])
    usual = np.array([np.quantile(group, QUANTILE) for group in groups])
    return work_s - usual[number], float(usual[number].mean())
