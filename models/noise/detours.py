"""Detours of a rank, found from the times of its iterations alone.

The excess of an iteration over the usual work of its place in the restart cycle is taken as a
mixture (`mixtures`): jitter, and detours of up to four families, each of exponential lengths or of
one length, and others of any length. Jitter that is skewed by a good part of the work is taken as a
detour of exponential length in every iteration. Whether the detours of a family come by a clock is
decided from the times of the iterations that have one (`clocks`), and whether they come in every
nth iteration from their numbers (`hindmost.models.recurring`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.models.noise.clocks import LEAST_PERIODIC, UNKNOWN, timing_of
from hindmost.models.noise.mixture_fit import CLEAR, best_mixture
from hindmost.models.recurring import LONG_SHARE, Rule, as_by_clock, excess_of, rules_in

Kind = Literal["none", "exponential", "fixed", "varied"]
FloatArray = NDArray[np.float64]

LEAST_ITERATIONS = 100
LEAST_DETOURS = 5
QUANTILE = 0.2
"""Of the times at one place of a cycle, that stands for the place: detours only add."""
NOTABLE = 0.02
"""Share of the work from which skewed jitter is a detour in every iteration."""
SHORTEST_S = 1e-9
LEAST_OF_PLACE = 60
"""Iterations whose times stand for a place; with fewer, neighbouring places count as one."""
EXACT = 1e-9
"""Relative spread of times up to which they are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetourFamily:
    """Detours of one law.

    Attributes
    ----------
    kind : str
        ``exponential`` or ``fixed`` lengths; ``varied`` if no law describes them.
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
    def kind(self) -> Kind:
        """That of the family that takes most of the time."""
        return self.families[0].kind if self.families else "none"

    @property
    def count(self) -> float:
        """Expected number of detours of this family."""
        return self.families[0].count if self.families else 0.0

    @property
    def mean_s(self) -> float:
        """Their mean length; 0 if there are none."""
        return self.families[0].mean_s if self.families else 0.0

    @property
    def period_s(self) -> float | None:
        """The period of their clock; None if they come at random, or if this is not known."""
        return self.families[0].period_s if self.families else None

    @property
    def timing_known(self) -> bool:
        """Whether a clock was tested for."""
        return bool(self.families) and self.families[0].timing_known

    @property
    def probability(self) -> float:
        """Share of the iterations that have a detour of this family."""
        return self.count / self.iterations

    @property
    def per_s(self) -> float:
        """Detours of this family per second."""
        return self.count / self.seconds

    @property
    def share(self) -> float:
        """Share of the time that all detours take, others included."""
        return (sum(each.total_s for each in self.families) + self.others_s) / self.seconds

    @property
    def noise_share(self) -> float:
        """The same without families that come by iteration, as the program's own output."""
        own_s = sum(each.total_s for each in self.families if each.rule is not None)
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
    if work_s.size < LEAST_ITERATIONS:
        return None
    excess, usual_s = excess_over_place(work_s, place)
    seconds = max(float(start_s[-1] - start_s[0] + work_s[-1]), SHORTEST_S)
    if not float(np.ptp(excess)) > EXACT * usual_s:
        return RankDetours(
            families=(),
            iterations=work_s.size,
            seconds=seconds,
            others=0.0,
            others_s=0.0,
            work_s=usual_s,
            jitter_s=0.0,
        )
    found = best_mixture(excess, QUANTILE)
    chances = found.chances(excess)
    over = np.maximum(excess - found.base_s, 0.0)
    # Each begins somewhere in its iteration; the middle is as good a guess as any.
    middle_s = start_s + 0.5 * work_s
    rules = rules_in(excess_of(work_s, place))
    families = [
        by_iteration(
            family_of(each.kind, each.mean_s, each.spread_s, chance, middle_s),
            np.flatnonzero(chance > 0.5),
            rules,
            start_s,
        )
        for each, chance in zip(found.families, chances[2:], strict=True)
    ]
    others, others_s = float(chances[1].sum()), float(chances[1] @ over)
    dense = found.skew_s > max(CLEAR * found.normal_s, NOTABLE * (usual_s + found.base_s))
    if dense:
        families.append(family_of("exponential", found.skew_s, found.skew_s, chances[0], middle_s))
    elif not families and others >= LEAST_DETOURS:
        families.append(family_of("varied", others_s / others, 0.0, chances[1], middle_s))
        others = others_s = 0.0
    return RankDetours(
        families=tuple(sorted(families, key=lambda each: -each.total_s)),
        iterations=work_s.size,
        seconds=seconds,
        others=others,
        others_s=others_s,
        work_s=usual_s + found.base_s + (0.0 if dense else found.skew_s),
        jitter_s=found.normal_s if dense else found.jitter_s,
    )


def family_of(
    kind: Kind, mean_s: float, spread_s: float, chance: FloatArray, middle_s: FloatArray
) -> DetourFamily:
    """Return a family with the times at which its detours came.

    Parameters
    ----------
    spread_s : float
        Standard deviation of a fixed length.
    chance : float64 array, shape (iteration,)
        Probability that an iteration has one.
    middle_s : float64 array, shape (iteration,), seconds
    """
    count = float(chance.sum())
    tested = round(count) >= LEAST_PERIODIC and count <= 0.5 * chance.size
    timing = timing_of(middle_s[chance > 0.5], middle_s) if tested else UNKNOWN
    clock = timing.clock
    scatter_s = mean_s if kind == "exponential" else spread_s
    return DetourFamily(
        kind=kind,
        count=count,
        mean_s=mean_s,
        # Not known is which iterations have one.
        count_error=float(np.sqrt(chance @ (1.0 - chance))),
        mean_error_s=scatter_s / math.sqrt(max(count, 1.0)),
        period_s=None if clock is None else clock.period_s,
        on_clock=0.0 if clock is None else clock.share,
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
    number = number // math.ceil(LEAST_OF_PLACE / float(np.median(counts)))
    order = np.argsort(number, kind="stable")
    groups = np.split(work_s[order], np.cumsum(np.bincount(number))[:-1])
    usual = np.array([np.quantile(group, QUANTILE) for group in groups])
    return work_s - usual[number], float(usual[number].mean())
