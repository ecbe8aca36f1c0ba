"""Iterations that come back longer: every nth of the run, counted from some first one.

A program that writes output or a checkpoint does so after a number of iterations, whatever time it
is. Noise does not count iterations. Each rule "every p-th iteration, from r on" is tested by the
longest iterations alone, so that how long they are, and what disturbs others, plays no part:

1. The m longest iterations, relative to their place in the restart cycle and to their neighbours,
   are taken for several m.
2. If iterations were exchangeable, h or more of the k iterations of a rule were among these with a
   probability of at most exp(-k D), where D is the divergence of h / k from m / n (Hoeffding, which
   holds for draws without replacement as well).
3. All rules and all m that are tried count (Bonferroni): a run without recurring iterations has one
   with a probability below 1e-4. Of a rule, 4 of 5 iterations must be long, and 3 of 5 in each
   half of the run, so that one slow stretch is no rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

FEWEST = 6
"""Iterations of a rule."""
LONG_SHARE, LONG_IN_HALF = 0.8, 0.6
"""Of the iterations of a rule, that must be among the longest; the others were missed."""
LONG_BESIDE, NEXT = 0.5, 2
"""The same of other rules of the period, from which on a clock is at work; and how far apart."""
STEP = 1.4
"""Between two numbers of longest iterations."""
MAX_OTHERS = 8
"""Longest iterations that are looked at, over those of a rule."""
NEIGHBOURS, BLOCKS = 60, 16
"""Fewest iterations whose median is the level of their time, and most such blocks."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Every ``every``-th iteration, from ``first`` on."""

    every: int
    first: int

    def rows(self, iterations: int) -> NDArray[np.intp]:
        """Return its iterations in a run of so many."""
        return np.arange(self.first, iterations, self.every)

    def explain(self, iterations: int, each: str = "iteration") -> str:
        """Return the rule in words: ``every 100th iteration (98, 198, … 1498)``."""
        rows = self.rows(iterations)
        return f"every {ordinal(self.every)} {each} ({rows[0]}, {rows[1]}, … {rows[-1]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurring:
    """Iterations that come back longer, and on which ranks.

    Attributes
    ----------
    rule : Rule
    count : int
        Iterations of the rule in the run.
    columns : tuple of int
        Ranks on which they are longer, as columns of the work.
    longer_s : tuple of float
        By how much, the median on each of these.
    """

    rule: Rule
    count: int
    columns: tuple[int, ...]
    longer_s: tuple[float, ...]

    @property
    def cost_s(self) -> float:
        """What they cost on the rank on which they are longest."""
        return self.count * max(self.longer_s)


def find_recurring(
    work: FloatArray, place: NDArray[np.integer[Any]], known: Iterable[Rule] = ()
) -> tuple[Recurring, ...]:
    """Find the iterations that come back longer, the most costly first.

    The rules are those of all ranks together: each is compared with each.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
        Own work.
    place : int array, shape (iteration,)
        In the restart cycle.
    known : iterable of Rule
        Found before, as in whole iterations; others are found in what these leave.
    """
    if len(work) < 2 * FEWEST or not work.shape[1]:
        return ()
    excess = np.column_stack([excess_of(column, place) for column in work.T])
    peaks = np.sort(excess, axis=0)[-max(len(work) // 20, FEWEST) :].sum(axis=0)
    searched = np.argsort(-peaks, kind="stable")[:16]
    left = excess[:, searched]
    for rule in known:
        left[rule.rows(len(work))] -= longer_by(rule, left)
    rules = dict.fromkeys([*known, *(rule for column in left.T for rule in rules_in(column))])
    found = []
    for rule in sorted(rules, key=lambda each: each.every):
        rows = rule.rows(len(work))
        longer = longer_by(rule, excess)
        usual = np.quantile(excess, max(1.0 - MAX_OTHERS / rule.every, 0.5), axis=0)
        there = np.flatnonzero(((excess[rows] > usual).mean(axis=0) >= LONG_SHARE) & (longer > 0.0))
        if there.size:
            # What a longer period adds is beyond what a shorter one, of which it is a part, does.
            excess[np.ix_(rows, there)] -= longer[there]
            found.append(
                Recurring(
                    rule=rule,
                    count=rows.size,
                    columns=tuple(there.tolist()),
                    longer_s=tuple(longer[there].tolist()),
                )
            )
    return tuple(sorted(found, key=lambda each: -each.cost_s))


def longer_by(rule: Rule, excess: FloatArray) -> FloatArray:
    """Return by how much iterations of a rule are longer than the others, in medians: (rank,)."""
    others = np.ones(len(excess), np.bool_)
    others[rule.rows(len(excess))] = False
    return np.asarray(np.median(excess[~others], axis=0) - np.median(excess[others], axis=0))


def places_of_rules(rules: Iterable[Rule], iterations: int) -> NDArray[np.intp]:
    """Return a number for each iteration, the same for those of the same rules; 0 for no rule."""
    numbers = np.zeros(iterations, np.intp)
    for bit, rule in enumerate(rules):
        numbers[rule.rows(iterations)] += 1 << bit
    return numbers


def excess_of(work: FloatArray, place: NDArray[np.integer[Any]]) -> FloatArray:
    """Return the work of a rank over that of its place and over the level of its neighbours."""
    _, which, counts = np.unique(place, return_inverse=True, return_counts=True)
    excess = work - np.median(work)
    if counts.size > 1 and np.median(counts) >= 5:
        order = np.argsort(which, kind="stable")
        for rows in np.split(order, np.cumsum(counts)[:-1]):
            excess[rows] = work[rows] - np.median(work[rows])
    size = max(NEIGHBOURS, -(-work.size // BLOCKS))
    for begin in range(0, work.size, size):
        excess[begin : begin + size] -= np.median(excess[begin : begin + size])
    return np.asarray(excess, np.float64)


def rules_in(excess: FloatArray) -> list[Rule]:
    """Return the rules by which iterations of a rank are longer: shape (iteration,), seconds."""
    left, rules = excess.copy(), list[Rule]()
    while len(rules) < 3:
        rule = best_rule(left)
        if rule is None:
            break
        left[rule.rows(left.size)] -= longer_by(rule, left)
        rules.append(rule)
    return rules


def best_rule(excess: FloatArray) -> Rule | None:
    """Return the rule that chance explains least; None if chance may explain all."""
    n, greatest = excess.size, min(excess.size // FEWEST, 5000)
    order = np.argsort(-excess, kind="stable")
    longest = sorted(
        {int(FEWEST * STEP**power) for power in range(200) if FEWEST * STEP**power <= n / 2}
        | {n // 2}  # every second one
    )
    tried = math.log(max(len(longest), 1)) + 2.0 * math.log(max(greatest, 2))
    best, limit = None, math.log(1e-4) - tried
    for m in longest:
        if not excess[order[m - 1]] > 0.0:
            break
        taken = order[:m]
        share = m / n
        first = max(2, math.ceil(LONG_SHARE / share))
        for every in range(first, min(greatest, int(MAX_OTHERS / share)) + 1):
            hits = np.bincount(taken % every, minlength=every)
            begin = int(hits.argmax())
            count = (n - 1 - begin) // every + 1
            there = int(hits[begin]) / count
            if there < LONG_SHARE or there <= share:
                continue
            chance = -count * divergence(there, share)
            if chance < limit and (
                throughout(taken[taken % every == begin], n, count)
                and alone(hits, begin, LONG_BESIDE * count)
                and exact(taken, Rule(every, begin), n)
            ):
                best, limit = Rule(every, begin), chance
    return best


def alone(hits: NDArray[np.intp], begin: int, most: float) -> bool:
    """Tell whether other rules of the same period, but for neighbours, have few long iterations.

    A clock that is no whole number of iterations comes back after some of its turns, as several
    rules of one period.
    """
    distance = np.abs(np.arange(hits.size) - begin)
    distance = np.minimum(distance, hits.size - distance)
    return not bool(np.any(hits[distance > NEXT] >= most))


def exact(taken: NDArray[np.intp], rule: Rule, iterations: int) -> bool:
    """Tell whether iterations of a rule that are not long have no long one beside them.

    A clock comes an iteration earlier or later now and then; a program that counts never does.
    """
    long = np.zeros(iterations + 2, np.bool_)
    long[taken + 1] = True
    missed = rule.rows(iterations) + 1
    missed = missed[~long[missed]]
    shifted = int(np.count_nonzero(long[missed - 1] | long[missed + 1]))
    return taken.size > 0.15 * iterations or 2 * shifted <= missed.size


def throughout(rows: NDArray[np.intp], iterations: int, count: int) -> bool:
    """Tell whether the iterations of a rule that are long are in both halves of the run."""
    early = int(np.count_nonzero(rows < iterations // 2))
    return min(early, rows.size - early) >= LONG_IN_HALF * (count // 2)


def divergence(share: float, of: float) -> float:
    """Return the Kullback-Leibler divergence of two probabilities, that of a hit each."""
    missed = 0.0 if share >= 1.0 else (1.0 - share) * math.log((1.0 - share) / (1.0 - of))
    return share * math.log(share / of) + missed


def as_by_clock(start_s: FloatArray, rule: Rule) -> float | None:
    """Return the period of a clock that would explain the iterations of a rule as well.

    Where iterations are so even that those of a rule begin at equal distances, to half an
    iteration, times do not tell a program that counts iterations from a clock.

    Parameters
    ----------
    start_s : float64 array, shape (iteration,), seconds
        Of one rank, ascending.

    Returns
    -------
    float or None
        In seconds; None if no clock does.
    """
    times = start_s[rule.rows(start_s.size)]
    turn = np.arange(times.size, dtype=np.float64)
    period, begin = np.polyfit(turn, times, 1)
    off = float(np.abs(times - begin - period * turn).max())
    return float(period) if off < 0.5 * float(np.median(np.diff(start_s))) else None


def ordinal(number: int) -> str:
    """Write a number as an ordinal: ``2nd``, ``100th``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if 10 < number % 100 < 14 else ending}"
