"""Which loop of a program is the one whose iterations are measured: one answer for all ranks.

Every rank summarises its loops. Those that all ranks have are matched by the functions around
them, their depth and their order, not by their headers, which the compiler may have doubled.

The outermost loop that iterates equally often on all ranks is the one: what a program repeats is a
step of it, and what a step repeats are fields, axes or messages. A loop of too few iterations to
tell a median from a chance gives way to the one in it that does nearly all of its work, where that
has as many iterations each time, or enough: the few are then outputs between steps, repeats,
restarts or solves. If few of its iterations make most calls, it reads a script, and gives way to
whatever these do. Loops next to the chosen one are other phases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.loops.names import short
from hindmost.harness.loops.tree import (
    LONGEST_SPLIT,
    ContextCalls,
    Loop,
    LoopKey,
    calls_inside,
    calls_of_iterations,
    hidden_every,
)

ENOUGH = 32
"""Iterations that share the calls of a loop, from which on no loop in it is looked at."""
MIN_ITERATIONS = 10
"""Of a loop, and so many must share its calls; of fewer it is said that they are few."""
MIN_OF_FEW = 4
"""Iterations of a loop that is taken at all: more than axes have."""
MIN_SHARE = 0.05
"""Of the time of each rank, from which on a loop is looked at."""
NEARLY_ALL = 0.8
"""Share of the calls of a loop from which on those in it are what it does, and of its entries with
its most frequent number of iterations from which on that is constant."""
MIN_INSIDE = 1 / 3
"""Share of the time of a loop that those have that are taken in place of it."""
MIN_PHASE = 0.1
"""Share of the time from which on another loop of the program has a run file of its own."""

Signature = tuple[tuple[tuple[int, int], ...], int, int, int]
"""Functions from the outermost to that of the loop, depth in it (twice the loops around that
iterate, and one if it does not), place among the loops of that depth, and number among the calls
from which control comes to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A loop on one rank, as other ranks get to know it.

    Attributes
    ----------
    around : tuple of Signature
        The loops around it, the innermost first.
    header : int
        Of the loop, as the rank has it.
    iterations, entries : int
    share : float
        Of the rank's recorded time.
    seconds : float
        Mean time of an iteration.
    effective : float
        Iterations that share its calls: the square of their sum over the sum of their squares.
    trips : int
        Most frequent number of iterations of an entry.
    constant : float
        Share of the entries that have it; the last one, which may be cut off, aside.
    once : bool
        Whether each entry has one iteration.
    calls : int
        Of MPI in it, without MPI-IO.
    hidden : tuple of int
        Numbers of passes among which those of a loop around may be hidden.
    gaps : tuple of tuple of int
        See `hindmost.harness.loops.tree.Loop`.
    """

    around: tuple[Signature, ...]
    header: int
    iterations: int
    entries: int
    share: float
    seconds: float
    effective: float
    trips: int
    constant: float
    once: bool
    calls: int
    hidden: tuple[int, ...]
    gaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A loop that all ranks have.

    Attributes
    ----------
    signature : Signature
    ranks : tuple of Summary
    parent : Signature or None
        The innermost loop around it that all ranks have.
    slack : int
        By how many iterations ranks may differ: 1 where the program was ended.
    """

    signature: Signature
    ranks: tuple[Summary, ...]
    parent: Signature | None
    slack: int = 0

    @property
    def iterations(self) -> int:
        """The fewest on any rank."""
        return min(rank.iterations for rank in self.ranks)

    @property
    def most(self) -> int:
        """The most on any rank."""
        return max(rank.iterations for rank in self.ranks)

    @property
    def equal(self) -> bool:
        """Whether all ranks made the same number of iterations."""
        return self.most - self.iterations <= self.slack

    @property
    def share(self) -> float:
        """Of the time, on the rank where it is least."""
        return min(rank.share for rank in self.ranks)

    @property
    def iterates(self) -> bool:
        """Whether some entry has several iterations: else what repeats is not this loop."""
        return not all(rank.once for rank in self.ranks)

    @property
    def sharing(self) -> float:
        """Iterations that share its calls, the fewest of a rank; 0 if their numbers differ."""
        least = min(rank.effective for rank in self.ranks)
        return min(self.iterations, least) if self.iterates and self.equal else 0.0

    @property
    def calls(self) -> int:
        """Of MPI in it on all ranks, without MPI-IO."""
        return sum(rank.calls for rank in self.ranks)

    @property
    def constant(self) -> bool:
        """Whether it has the same number of iterations each time on all ranks."""
        return min(rank.constant for rank in self.ranks) >= NEARLY_ALL

    @property
    def short(self) -> bool:
        """Whether it goes over axes, fields or messages: a few each time, or each in no time."""
        trips = min(rank.trips for rank in self.ranks)
        seconds = max(rank.seconds for rank in self.ranks)
        # Not axes or fields, nor a message.
        return (self.constant and trips < 8) or seconds < 1e-5

    @property
    def long(self) -> bool:
        """Whether it iterates often enough each time."""
        return min(rank.iterations / rank.entries for rank in self.ranks) >= ENOUGH


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A loop whose iterations are measured.

    Attributes
    ----------
    parts : tuple of Signature
        The same loop, as it is called from several places.
    every : int
        Passes of it that make an iteration.
    iterations : int
    share : float
    around, inside : tuple of Signature
        Loops that could be taken instead, from the outermost on.
    few : bool
        Whether it is taken although it has few iterations.
    unit : int
        Of these passes, how many are summed together on some rank; 0 if all calls are there.
    passes : int
        In all, where calls are summed.
    gaps : dict of Signature to tuple of tuple of int
        Of parts some of whose iterations some rank does not know, which.
    """

    parts: tuple[Signature, ...]
    every: int
    iterations: int
    share: float
    around: tuple[Signature, ...]
    inside: tuple[Signature, ...]
    few: bool = False
    unit: int = 0
    passes: int = 0
    gaps: Mapping[Signature, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def summed(self, unit: int, candidates: Mapping[Signature, Candidate]) -> Chosen:
        """Return the loop where some rank sums its calls, of so many passes at a time."""
        return replace(
            self,
            every=self.every * unit,
            iterations=-(-self.iterations // unit),
            unit=unit,
            passes=self.iterations * self.every,
            gaps={
                part: tuple(sorted({gap for rank in candidates[part].ranks for gap in rank.gaps}))
                for part in self.parts
            },
        )


def signatures_of(
    loops: Mapping[LoopKey, Loop], key_of: Callable[[int], tuple[int, int]]
) -> dict[LoopKey, Signature]:
    """Return how the loops of a rank are matched with those of others.

    Parameters
    ----------
    key_of : callable
        From a frame to what tells its function from others.
    """
    signatures: dict[LoopKey, Signature] = {}
    headers: dict[tuple[object, int], dict[int, int]] = {}
    depth: dict[LoopKey, int] = {}
    # Of one loop the compiler may make a nest, of which ranks go round in different ones.
    once = {key: bool((loop.trips == 1).all()) for key, loop in loops.items()}
    for key in loops:  # those around come first
        parent = loops[key].parent
        inner = parent is not None and parent[:2] == key[:2]
        around = depth[parent] // 2 + (not once[parent]) if inner and parent is not None else 0
        depth[key] = 2 * around + once[key]
    for key in sorted(loops, key=lambda each: int(loops[each].begins[:1].sum())):
        functions = (*(key_of(frame) for frame in key[0]), key[1])
        seen = headers.setdefault((functions, depth[key]), {})
        seen[key[2]] = seen.get(key[2], -1) + 1
        signatures[key] = (functions, depth[key], list(seen).index(key[2]), seen[key[2]])
    return signatures


def summaries_of(
    loops: Mapping[LoopKey, Loop],
    signatures: Mapping[LoopKey, Signature],
    calls: ContextCalls,
    seconds: float,
    least: float,
) -> dict[Signature, Summary]:
    """Summarise the loops of a rank that have enough of its time.

    Parameters
    ----------
    seconds : float
        The recorded time of the rank.
    least : float
        Share of it from which on a loop is summarised: from all its calls in a function, as the
        compiler may have unrolled the loop around it.
    """
    summaries = {}
    together: defaultdict[tuple[object, int], float] = defaultdict(float)
    for key, loop in loops.items():
        together[signatures[key][0], key[2]] += loop.seconds
    before = calls.without_files
    for key, loop in loops.items():
        if not loop.begins.size or together[signatures[key][0], key[2]] < least * seconds:
            continue
        made = calls_of_iterations(loop)
        seen = made if loop.number is None else made[np.diff(loop.number) == 1]
        iterations = loop.iterations
        trips = loop.trips[:-1] if loop.trips.size > 2 else loop.trips
        counts, often = np.unique(trips, return_counts=True)
        once = bool((loop.trips == 1).all())
        hidden = np.empty(0, np.int64)
        if loop.begins.size >= 2 * MIN_ITERATIONS:
            hidden = np.flatnonzero(hidden_every(loop, calls))
        summaries[signatures[key]] = Summary(
            around=tuple(signatures[each] for each in loops_around(loop, loops)),
            header=key[2],
            iterations=iterations,
            entries=loop.enters.size,
            share=loop.seconds / max(seconds, 1e-300),
            seconds=loop.seconds / iterations,
            effective=sharing(seen) * iterations / max(seen.size, 1),
            trips=int(counts[np.argmax(often)]),
            constant=float(often.max() / trips.size),
            once=once,
            calls=calls_inside(loop, before),
            hidden=tuple(hidden.tolist()),
            gaps=loop.gaps,
        )
    return summaries


def sharing(made: NDArray[np.int64]) -> float:
    """Return how many iterations share the calls that were made, shape (iteration,)."""
    return float(made.sum()) ** 2 / max(float(np.dot(made, made)), 1.0)


def loops_around(loop: Loop, loops: Mapping[LoopKey, Loop]) -> Iterator[LoopKey]:
    """Yield the loops around a loop, the innermost first."""
    above = loop.parent
    while above is not None:
        yield above
        above = loops[above].parent


def candidates_of(
    ranks: Sequence[Mapping[Signature, Summary]], slack: int = 0
) -> dict[Signature, Candidate]:
    """Return the loops that all ranks have, in the order of the first."""
    common = dict.fromkeys(each for each in ranks[0] if all(each in rank for rank in ranks))
    return {
        signature: Candidate(
            signature=signature,
            ranks=tuple(rank[signature] for rank in ranks),
            parent=next((each for each in ranks[0][signature].around if each in common), None),
            slack=slack,
        )
        for signature in common
    }


def choose(candidates: Mapping[Signature, Candidate]) -> tuple[Chosen, ...]:
    """Choose the loops of a program: none if none is sure.

    The one with most of the time is first. One of few iterations comes after those that iterate
    often: a set-up may take long.
    """
    roots = [candidate for candidate in candidates.values() if candidate.parent is None]
    found = [chosen for root in roots for chosen in _descend(root, (), candidates)]
    together = [each for each in _merged(found, candidates) if each.share >= MIN_SHARE]
    return tuple(sorted(together, key=lambda each: (each.few, -each.share)))


def phases_of(found: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """Return the chosen loops that are worth a run file each: the first, and others with time."""
    return (*found[:1], *(each for each in found[1:] if each.share >= MIN_PHASE))


def _merged(found: Sequence[Chosen], candidates: Mapping[Signature, Candidate]) -> Iterator[Chosen]:
    """Yield loops, one for all places that it is called from."""
    merged: dict[tuple[object, ...], list[Chosen]] = {}
    for each in found:
        functions, depth, _, _ = each.parts[0]
        header = candidates[each.parts[0]].ranks[0].header
        merged.setdefault((functions[-1], depth, header, each.every), []).append(each)
    for group in merged.values():
        yield Chosen(
            parts=tuple(part for each in group for part in each.parts),
            every=group[0].every,
            iterations=sum(each.iterations for each in group),
            share=sum(each.share for each in group),
            around=max(group, key=lambda each: each.share).around,
            inside=max(group, key=lambda each: each.share).inside,
            few=all(each.few for each in group),
        )


def _children(loop: Candidate, candidates: Mapping[Signature, Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates.values() if candidate.parent == loop.signature]


def _descend(
    loop: Candidate, around: tuple[Signature, ...], candidates: Mapping[Signature, Candidate]
) -> list[Chosen]:
    """Choose a loop or loops in it."""
    if loop.sharing >= ENOUGH:
        return [_taken(loop, around, candidates)]
    further = (*around, loop.signature)
    deeper = [
        each
        for child in _children(loop, candidates)
        for each in _descend(child, further, candidates)
    ]
    if not loop.iterates or _is_in_these(loop, deeper, candidates):
        return deeper
    if loop.equal and loop.iterations >= MIN_OF_FEW:
        return [_taken(loop, around, candidates, few=loop.sharing < MIN_ITERATIONS)]
    return deeper if loop.most >= MIN_ITERATIONS else []


def _is_in_these(
    loop: Candidate, deeper: Sequence[Chosen], candidates: Mapping[Signature, Candidate]
) -> bool:
    """Tell whether a loop of few iterations is there for what loops in it do."""
    inside = [candidates[part] for each in deeper for part in each.parts]
    if sum(each.share for each in inside) < MIN_INSIDE * loop.share:
        return False
    if any(each.short for each in inside):
        return False
    if 2.0 * loop.sharing < loop.iterations or loop.iterations < MIN_OF_FEW:
        return True
    few = loop.sharing < MIN_ITERATIONS
    return (
        len(list(_merged(deeper, candidates))) == 1
        and all(each.equal and (each.constant or (few and each.long)) for each in inside)
        and sum(each.calls for each in inside) >= NEARLY_ALL * loop.calls
    )


def _taken(
    loop: Candidate,
    around: tuple[Signature, ...],
    candidates: Mapping[Signature, Candidate],
    *,
    few: bool = False,
) -> Chosen:
    """Return a loop as the chosen one, or each so many of its passes where they hide a loop."""
    every = 1
    above = candidates.get(loop.parent) if loop.parent is not None else None
    if above is not None and not above.iterates:
        common = set.intersection(*(set(rank.hidden) for rank in loop.ranks))
        usable = [
            each
            for each in range(2, LONGEST_SPLIT + 1)
            if each in common and loop.iterations >= MIN_ITERATIONS * each
        ]
        every = min(usable, default=1)
    return Chosen(
        parts=(loop.signature,),
        every=every,
        iterations=loop.iterations // every,
        share=loop.share,
        around=around,
        inside=tuple(child.signature for child in _children(loop, candidates)),
        few=few,
    )


def named_loop(
    name: str, every: int, names: Mapping[Signature, str], candidates: Mapping[Signature, Candidate]
) -> Chosen | None:
    """Return the loop that a person chose by its name, None if there is none of that name.

    Its name may be written without file and line, and that of C++ with template arguments.
    """
    functions = (name, short(name))
    parts = [
        signature
        for signature in candidates
        if names[signature] == name or names[signature].partition(" (")[0] in functions
    ]
    # Of a function that calls itself, the outermost call has what the others do.
    named = set(parts)
    parts = [part for part in parts if not named & set(candidates[part].ranks[0].around)]
    if not parts:
        return None
    loops = [candidates[part] for part in parts]
    return Chosen(
        parts=tuple(parts),
        every=every,
        iterations=sum(loop.iterations for loop in loops) // every,
        share=sum(loop.share for loop in loops),
        around=(),
        inside=tuple(child.signature for child in _children(loops[0], candidates)),
    )
