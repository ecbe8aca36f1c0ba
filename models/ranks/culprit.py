"""The culprit of a run: the rank that the others wait for, its work, what it costs, and the doubt.

One engine for all verbs and pages. The *own work* of a rank is its time outside MPI. How many times
as long it works is its own work over the median of the others', in iterations that nothing
disturbs. Its *cost* is the waiting of the others for it (see `lateness`), as the mean of all ranks:
as much of the run as equal work would save, if it alone has more.

Whether that is the program's doing is decided by the quickest iterations, which a slower core for a
part of the run, a daemon or another job leave as they are. A rank has *more work* if

1. its quickest iterations, of the whole run and of the part of it in which they are quickest, have
   `MATTERS` more than the median of the others', and
2. in most parts of the run, those of the part have at least half of that, and
3. waiting for a core, as the kernel counts it, does not explain it.

Iterations that come back longer by count (`hindmost.models.recurring`) are the program's as well.
The most costly of the ranks with more work is the culprit. Where there is none, the most costly of
the others is named with the doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.models.inference import MATTERS
from hindmost.models.ranks.extrema import COSTS, MAJORITY
from hindmost.models.ranks.lateness import Lateness
from hindmost.models.recurring import Recurring

Times = NDArray[np.float64]

QUICK, QUICKEST = 0.25, 0.05
"""Quantiles of iterations: others that use a core make many longer, but seldom the quickest."""
STEADY = 1.25
"""The first of these over the second, up to which the quickest iterations are undisturbed."""
HALF_AS_FAST = 2.0
"""Work of a rank over that of the others, from which on a slower core does not explain it."""
PARTS, FEW_PARTS, OF_A_PART = 20, 8, 15
"""Most parts of a run; parts of a short one; iterations of a part, if there are enough."""
MIN_PARTS_SHARE = 0.85
"""Of the parts that must show the excess: another rank may have had a slower core in some."""
NEARLY = 0.8
"""Part of what the first rank costs from which on the next ones are named with it."""
CHANCE = 0.01
"""Probability above which so few iterations show nothing."""


class Doubt(StrEnum):
    """Why the more work of a culprit may be no work of the program."""

    AT_TIMES = "at times"
    """Its quickest iterations, or those of many parts, do not have it."""
    UNSTEADY = "unsteady"
    """The quickest iterations differ too much to tell."""
    CORE = "core"
    """It may have waited for a core."""
    FEW = "few"
    """There are too few iterations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickestWork:
    """Own work of the quickest iterations, of a run and of its parts; those of stretches add up.

    Attributes
    ----------
    whole_s : float64 array, shape (rank,), seconds
        Of an iteration: the quantile `QUICKEST` of all, the mean of all ranks where it is unsure.
    part_s : float64 array, shape (part, rank), seconds
        The same of the iterations of each part.
    recurring_s : float64 array, shape (rank,), seconds
        What iterations that come back longer add to an iteration, on average.
    unsure : bool
        Whether the quickest iterations of some rank do not agree, so that they do not tell who
        works most: that rank has not twice the work of the quicker quarter of any other.
    """

    whole_s: Times
    part_s: Times
    recurring_s: Times
    unsure: bool

    @classmethod
    def of(cls, work: Times) -> QuickestWork:
        """Return that of iterations: float64 array, shape (iteration, rank), seconds."""
        return cls.of_quantiles(quickest_of(work))

    @classmethod
    def of_processor_time(cls, spent_s: Times, iterations: int) -> QuickestWork:
        """Return that of processor times, which nothing disturbs: shape (rank,), seconds."""
        each_s = spent_s / iterations
        return cls(
            whole_s=each_s, part_s=each_s[None], recurring_s=np.zeros(each_s.size), unsure=False
        )

    @classmethod
    def of_quantiles(cls, quantiles: Times) -> QuickestWork:
        """Return it from what `quickest_of` returns: shape (2 + part, rank), seconds."""
        quickest_s, quick_s = quantiles[:2]
        most, unsure = int(quickest_s.argmax()), False
        more = over_others(quickest_s)[most] > 1.0 + MATTERS
        if more and (quick_s > STEADY * quickest_s).any():
            others_s = np.delete(quick_s, most).max(initial=0.0)
            unsure = bool(quickest_s[most] < HALF_AS_FAST * others_s)
        known = np.delete(quantiles, 1, axis=0)
        if unsure:
            known = np.repeat(known.mean(axis=1, keepdims=True), known.shape[1], axis=1)
        return cls(
            whole_s=known[0], part_s=known[1:], recurring_s=np.zeros(quick_s.size), unsure=unsure
        )

    @classmethod
    def total(cls, stretches: Sequence[QuickestWork]) -> QuickestWork:
        """Return that of iterations of several stretches; one that is unsure blames nobody."""
        return cls(
            whole_s=np.sum([stretch.whole_s for stretch in stretches], axis=0),
            part_s=np.sum([stretch.part_s for stretch in stretches], axis=0),
            recurring_s=np.sum([stretch.recurring_s for stretch in stretches], axis=0),
            unsure=any(stretch.unsure for stretch in stretches),
        )

    @property
    def typical_s(self) -> Times:
        """Own work of an iteration that nothing disturbs: shape (rank,), seconds."""
        return self.whole_s + self.recurring_s

    def shows_more(self, least: float = MATTERS) -> NDArray[np.bool_]:
        """Tell which ranks have more work, in the run and in most of its parts: shape (rank,).

        Parameters
        ----------
        least : float
            How much more, as a share of the others'.
        """
        excess, of_fastest, of_parts = (
            over_others(each + self.recurring_s) - 1.0
            for each in (self.whole_s, self.part_s.min(axis=0), self.part_s)
        )
        in_parts = (of_parts >= MAJORITY * excess).mean(axis=0) >= MIN_PARTS_SHARE
        return np.asarray((np.minimum(excess, of_fastest) > least) & in_parts)

    def excess_s(self) -> Times:
        """Return how much more work an iteration has than the others': shape (rank,), seconds.

        That of the parts of the run, on average: work may grow.
        """
        parts_s = self.part_s + self.recurring_s
        return np.asarray(np.maximum(parts_s - median_of_others(parts_s), 0.0).mean(axis=0))

    def with_recurring(self, found: Iterable[Recurring], iterations: int) -> QuickestWork:
        """Return it with what iterations of some rules add; their columns are ranks."""
        recurring_s = np.zeros(self.whole_s.size)
        for each in found:
            recurring_s[list(each.columns)] += each.count * np.array(each.longer_s) / iterations
        return replace(self, recurring_s=recurring_s)

    def of_groups(self, of: NDArray[np.int64]) -> QuickestWork:
        """Return the medians of groups of ranks, such as those of a node."""
        whole_s, part_s, recurring_s = (
            medians(each, of) for each in (self.whole_s, self.part_s, self.recurring_s)
        )
        return replace(self, whole_s=whole_s, part_s=part_s, recurring_s=recurring_s)


def quickest_of(work: Times) -> Times:
    """Return the quantiles of the quickest iterations: shape (2 + part, ...), seconds.

    `QUICKEST` and `QUICK` of all iterations, and the first of each part.

    Parameters
    ----------
    work : float64 array, shape (iteration, ...), seconds
    """
    parts = np.array_split(work, min(np.clip(len(work) // OF_A_PART, FEW_PARTS, PARTS), len(work)))
    of_parts = [np.quantile(part, QUICKEST, axis=0) for part in parts]
    return np.array([*np.quantile(work, (QUICKEST, QUICK), axis=0), *of_parts])


def over_others(values: Times) -> Times:
    """Return each value over the median of the others along the last axis; 1 of nothing."""
    return np.asarray(
        np.divide(
            values,
            others := median_of_others(values),
            out=np.where(values > 0.0, np.inf, 1.0),
            where=others > 0.0,
        )
    )


def median_of_others(values: Times) -> Times:
    """Return the median of all values but each itself, along the last axis; itself of one alone."""
    count = values.shape[-1]
    if count < 2:
        return values
    ordered, place = np.sort(values, axis=-1), values.argsort(axis=-1).argsort(axis=-1)
    # The two middle ones of the others, which are one place further where it stands before them.
    middle = [
        np.take_along_axis(ordered, at + (place <= at), axis=-1)
        for at in ((count - 2) // 2, (count - 1) // 2)
    ]
    return np.asarray(0.5 * (middle[0] + middle[1]))


def medians(values: Times, of: NDArray[np.int64]) -> Times:
    """Return the medians of groups of ranks: shape (..., rank) to (..., group)."""
    groups = [np.median(values[..., of == each], axis=-1) for each in range(int(of.max()) + 1)]
    return np.stack(groups, axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """The rank, or the node, that the others wait for.

    Attributes
    ----------
    rank : int
        Of a node the one that costs most.
    node : str
        Its node, where that holds up the others and none of its ranks does alone; else empty.
    ranks : tuple of int
        All ranks of that node, or those that cost nearly as much, the first by itself.
    times : float
        Own work over the median of the others', of iterations that nothing disturbs; of all if
        these do not show it. Of nodes, of their medians. Which of these:
        `hindmost.analysis.runs.straggler.verdict_of`.
    quickest : bool
        Whether others take so much longer that this is not to be seen in sums.
    processor : bool
        Whether processor time tells that: what disturbs a rank is not in it.
    undisturbed : bool
        Whether the share is of the time that the run would take without disturbances.
    cost_s, share : float
        Waiting of the others for it, the mean of all ranks, and as a share of the run's time. In a
        disturbed run no more than its additional work in the quickest iterations explains.
    saved_s : float
        What the iterations would be shorter if it were as fast as the next one.
    last : int
        Iterations in which it is last.
    chance : float or None
        Bound on the probability that one of equal ranks costs as much; None if unknown or a node.
    doubt : Doubt or None
        Why this may be no work of the program.
    waited : float
        Share of its additional work that may be waiting for a core.
    """

    rank: int
    node: str = ""
    ranks: tuple[int, ...]
    times: float
    quickest: bool = False
    processor: bool = False
    undisturbed: bool = False
    cost_s: float
    share: float
    saved_s: float
    last: int
    chance: float | None
    doubt: Doubt | None = None
    waited: float = 0.0

    @property
    def sure(self) -> bool:
        """Whether it has more work."""
        return self.doubt is None


def find_culprit(
    late: Lateness,
    own_s: Times,
    whole_s: float,
    quickest: QuickestWork | None = None,
    core_wait_s: Times | None = None,
    *,
    on_core_s: Times | None = None,
    waited_part: float = 1.0,
    least: float = MATTERS,
) -> Culprit | None:
    """Return the culprit of a run; None if no rank works clearly more than the others, at a cost.

    Parameters
    ----------
    late : Lateness
    own_s : float64 array, shape (rank,), seconds
        Own work in all iterations.
    whole_s : float
        Time of the run.
    quickest : QuickestWork, optional
        Without it the sums decide.
    core_wait_s : float64 array, shape (rank,), seconds, optional
        Waiting for a core.
    on_core_s : float64 array, shape (rank,), seconds, optional
        The rest of the time: more than that nobody can have worked.
    waited_part : float
        Part of the differences of own work that ranks can have waited for.
    least : float
        How much more a rank works, as a share of the others' work, to be a culprit.
    """
    node = slow_node(late)
    charged_s, waited_s = waited_part * late.charged_s, core_wait_s
    if node is not None:
        charged_s = waited_part * late.node_charged_s
        own_s = medians(own_s, late.node_of)
        quickest = quickest and quickest.of_groups(late.node_of)
        waited_s = None if waited_s is None else medians(waited_s, late.node_of)
    if charged_s.size < 2 or not late.bodies:
        return None
    excess_s, times = own_s - median_of_others(own_s), over_others(own_s)
    more, disturbed = times > 1.0 + least, False
    shown = more
    if quickest is not None:
        typical_s = quickest.typical_s
        shown = quickest.shows_more(least)
        disturbed = float(own_s.sum()) > STEADY * late.bodies * float(typical_s.sum())
        # The time beyond that of the quickest iterations accounts for as much waiting for a core.
        if waited_s is not None:
            beyond_s = np.maximum(own_s - late.bodies * typical_s, 0.0)
            waited_s = np.where(shown, np.maximum(waited_s - beyond_s, 0.0), waited_s)
        of_quickest_s = late.bodies * (typical_s - median_of_others(typical_s))
        excess_s = np.where(shown, of_quickest_s, excess_s)
        times = np.where(shown, over_others(typical_s), times)
        if disturbed:  # what disturbs a rank is waited for as well, and is not its work
            most_s = (late.ranks - 1) * late.bodies * quickest.excess_s()
            charged_s = np.where(shown, np.minimum(charged_s, most_s), charged_s)
    waited = np.zeros(charged_s.size)
    if waited_s is not None and np.isfinite(waited_s).all():
        # Of one iteration it is not known whether others waited where they work, too.
        others_s = median_of_others(waited_s) if late.bodies > 1 else 0.0
        waited = (waited_s - others_s) / np.maximum(excess_s, 1e-300)
    if on_core_s is not None and node is None and np.isfinite(on_core_s).all():
        waited = np.maximum(waited, 1.0 - on_core_s / np.maximum(excess_s, 1e-300))
    few = late.bodies > 1 and late.ranks ** (1.0 - late.bodies) > CHANCE
    costly = charged_s > COSTS * whole_s * late.ranks
    sure = shown & costly & (waited <= MAJORITY) & (not few or times >= HALF_AS_FAST)
    chosen = sure if sure.any() else costly & (more | shown)
    if node is not None:
        chosen = chosen & (np.arange(chosen.size) == node)
    if not chosen.any():
        return None
    at = int(np.where(chosen, charged_s, -np.inf).argmax())
    doubt = None
    if not sure[at]:
        doubt = Doubt.FEW if shown[at] else Doubt.AT_TIMES
        if quickest is not None and quickest.unsure and not shown[at]:
            doubt = Doubt.UNSTEADY
        if waited[at] > MAJORITY:
            doubt = Doubt.CORE
    if node is None:
        ranks = np.flatnonzero(chosen & (charged_s >= NEARLY * charged_s[at]))
        ranks = ranks[np.argsort(-charged_s[ranks], kind="stable")]
    else:
        ranks = np.flatnonzero(late.node_of == node)
    rank = int(ranks[late.charged_s[ranks].argmax()])
    chance = None if late.bodies < 2 or node is not None else late.chance_of(rank)
    if doubt is None and quickest is None and chance is not None and chance > CHANCE:
        doubt = Doubt.FEW if times[at] < HALF_AS_FAST else None
    saved_s = late.lost_s[rank]
    if node is not None and late.node_lost_s is not None:
        saved_s = late.node_lost_s[node]
    return Culprit(
        rank=rank,
        node="" if node is None else late.nodes[node],
        ranks=tuple(ranks.tolist()),
        times=float(times[at]),
        quickest=bool(disturbed and shown[at]),
        cost_s=float(charged_s[at]) / late.ranks,
        share=float(charged_s[at]) / late.ranks / max(whole_s, 1e-300),
        saved_s=float(saved_s),
        last=int(late.last[rank] if node is None else late.node_last[at]),
        chance=chance,
        doubt=doubt,
        waited=float(np.clip(waited[at], 0.0, 1.0)),
    )


def slow_node(late: Lateness) -> int | None:
    """Return the node whose ranks together hold the others up, which none of them does alone."""
    if late.node_lost_s is None or len(late.nodes) < 2:
        return None
    node = int(late.node_lost_s.argmax())
    lost_s, own = float(late.node_lost_s[node]), late.node_of == node
    alone_s = float(late.lost_s[own].max())
    if own.sum() < 2 or lost_s < COSTS * late.total_s or 2.0 * alone_s > lost_s:
        return None
    return node
