"""The loops that the MPI calls of one rank lie in, and when each of them iterated.

Each call has a chain of frames, and each frame lies in a nest of loops of its function: so each
call lies in a nest of loops, each known by the chain above it, its function and its header. What
happens between two calls in a row is the same whenever their contexts are the same, so it is found
once for each pair of contexts: where the chains part, control went forward, or the innermost loop
around both places began an iteration, or, where neither is possible, the function was left and
entered again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.loops.code import Functions, Unseen
from hindmost.harness.loops.graph import FORWARD, NEVER, FlowGraph
from hindmost.harness.runfile.contexts import PYTHON, CallContexts

LoopKey = tuple[tuple[int, ...], tuple[int, int], int]
"""The frames above a loop, its function, and its header."""
LONGEST_SPLIT = 32
"""Passes of a loop among which those of a loop around it are looked for."""


BLOCK_CALLS = 1 << 19
"""Calls that are looked at together: what is made of them needs little memory."""


MAX_TABLE = 1 << 24
"""Possible pairs of contexts among which a table finds those that occur."""


class Step(IntEnum):
    """What is known between two calls in a row."""

    NEXT = 0
    """No call is between them."""
    SUMMED = 1
    """Calls of an iteration, or of what lies between two loops, that are summed."""
    BLIND = 2
    """Calls of which it is not known how often a loop iterated meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    """Where calls of a rank are summed.

    Attributes
    ----------
    at : int64 array, shape (fold,)
        The call before which they are missing.
    loop : int64 array, shape (fold,)
        Number of the loop whose iterations they are, 0 where none was known.
    first : int64 array, shape (fold,)
        Number of the first pass of it that begins in the fold, or of the next one.
    passes : int64 array, shape (fold,)
        How many begin in it, with the call before.
    """

    at: NDArray[np.int64]
    loop: NDArray[np.int64]
    first: NDArray[np.int64]
    passes: NDArray[np.int64]

    @classmethod
    def none(cls) -> Folds:
        """Return no folds."""
        nothing = np.empty(0, np.int64)
        return cls(at=nothing, loop=nothing, first=nothing, passes=nothing)

    def until(self, call: int) -> Folds:
        """Return those before a call."""
        count = int(np.searchsorted(self.at, call))
        return Folds(
            at=self.at[:count],
            loop=self.loop[:count],
            first=self.first[:count],
            passes=self.passes[:count],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCalls:
    """The MPI calls of one rank in the order of time, without those that found nothing.

    Attributes
    ----------
    context : uint32 array, shape (call,)
    begin_ns, end_ns : int64 array, shape (call,)
    writes : bool array, shape (call,)
        Whether it is a call of MPI-IO.
    folds : Folds
    as_compiled : bool
        Whether iterations begin where the code says, not at the call at which control enters the
        loop: where calls are summed on some rank.
    """

    context: NDArray[np.uint32]
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    writes: NDArray[np.bool_]
    folds: Folds = field(default_factory=Folds.none)
    as_compiled: bool = False

    @property
    def steps(self) -> NDArray[np.uint8]:
        """What lies between each call and the next, see `Step`: shape (call - 1,)."""
        found = np.zeros(max(self.context.size - 1, 0), np.uint8)
        found[self.folds.at - 1] = np.where(self.folds.loop, Step.SUMMED, Step.BLIND)
        return found

    def first(self, count: int) -> ContextCalls:
        """Return the first so many calls."""
        return ContextCalls(
            context=self.context[:count],
            begin_ns=self.begin_ns[:count],
            end_ns=self.end_ns[:count],
            writes=self.writes[:count],
            folds=self.folds.until(count),
            as_compiled=self.as_compiled,
        )

    @property
    def without_files(self) -> NDArray[np.uint32]:
        """How many calls come before each, and in all, without MPI-IO: shape (call + 1,)."""
        before = np.zeros(self.writes.size + 1, np.uint32)
        np.cumsum(~self.writes, dtype=np.uint32, out=before[1:])
        return before

    @property
    def contexts(self) -> NDArray[np.int64]:
        """The contexts from which calls were made, shape (context,)."""
        return np.flatnonzero(np.bincount(self.context))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """The pairs of contexts of calls in a row, and where each is: made once of all calls.

    Attributes
    ----------
    before, after : int64 array, shape (pair,)
        Contexts, by their number among those that occur.
    step : int64 array, shape (pair,)
        See `Step`.
    order : uint32 array, shape (call - 1,)
        The first calls of pairs, pair by pair.
    start : int64 array, shape (pair + 1,)
        Where those of a pair are.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    step: NDArray[np.int64]
    order: NDArray[np.uint32]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, number: NDArray[np.uint32], size: int, steps: NDArray[np.uint8]) -> _Pairs:
        """Find the pairs of numbers below ``size``, shape (call,), with what is between them."""
        blocks = [slice(at, at + BLOCK_CALLS + 1) for at in range(0, number.size - 1, BLOCK_CALLS)]

        def codes(block: slice) -> NDArray[np.int64]:
            own = number[block].astype(np.int64)
            kind = steps[block.start : block.start + own.size - 1]
            return np.asarray((kind * np.int64(size) + own[:-1]) * size + own[1:])

        known, possible = np.empty(0, np.int64), len(Step) * size * size
        place = np.zeros(possible if possible <= MAX_TABLE else 0, np.uint32)
        for block in blocks:
            if place.size:
                place[codes(block)] = 1
            else:
                known = np.union1d(known, codes(block))
        if place.size:
            known = np.flatnonzero(place)
            place[known] = np.arange(known.size)
        which = np.empty(max(number.size - 1, 0), np.min_scalar_type(known.size))
        for block in blocks:
            own = codes(block)
            found = place[own] if place.size else np.searchsorted(known, own)
            which[block.start : block.start + own.size] = found
        both, after = np.divmod(known, size)
        step, before = np.divmod(both, size)
        count = np.bincount(which, minlength=known.size)
        return cls(
            before=before,
            after=after,
            step=step,
            order=np.argsort(which, kind="stable").astype(np.uint32),
            start=np.append(0, np.cumsum(count)),
        )

    def calls(self, pairs: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first calls of some pairs in the order of time, shape (call,)."""
        parts = [self.order[self.start[at] : self.start[at + 1]] for at in pairs]
        joined: NDArray[np.uint32] = np.concatenate([np.empty(0, np.uint32), *parts])
        if len(parts) > 1:
            joined.sort(kind="stable")  # of some ordered parts
        return joined.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop on one rank, as it is called from one place.

    Attributes
    ----------
    key : LoopKey
    parent : LoopKey or None
        The innermost loop around it.
    frames : tuple of int
        Those of its function that lie in it, in the order of time.
    begins : int64 array, shape (iteration,)
        The first call of each iteration.
    enters, leaves : int64 array, shape (entry,)
        The first and the last call of each time that control was in the loop.
    trips : int64 array, shape (entry,)
        Iterations of each entry.
    seconds : float
        From the first call of each entry to the end of its last one.
    number : int64 array, shape (iteration + 1,), or None
        Where iterations are summed: the number of each among all, and of the one after the last.
    gaps : tuple of tuple of int
        From which number on, and up to which, iterations are not known.
    """

    key: LoopKey
    parent: LoopKey | None
    frames: tuple[int, ...]
    begins: NDArray[np.int64]
    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    trips: NDArray[np.int64]
    seconds: float
    number: NDArray[np.int64] | None = None
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def iterations(self) -> int:
        """How often it iterated."""
        known = self.number
        return self.begins.size if known is None else int(known[-1] - known[0])

    @property
    def function(self) -> tuple[int, int]:
        """The function that it is in."""
        return self.key[1]


Nest = list[tuple[int, LoopKey, int]]
"""The loops around a call, the outermost first: level of the frame, loop, frame."""


@dataclass(slots=True)
class LoopOfPairs:
    """A loop as pairs of contexts show it: the numbers of the pairs that begin an iteration.

    At ``enters`` and ``leaves`` control comes into the loop and goes out of it.
    """

    parent: LoopKey | None
    frames: dict[int, None] = field(default_factory=dict)
    begins: list[int] = field(default_factory=list)
    enters: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)


def loops_of_pairs(
    chains: Sequence[Sequence[int]],
    pairs: Sequence[tuple[int, int]],
    order: Iterable[int],
    functions: Functions,
    steps: Sequence[int] | None = None,
) -> tuple[list[Nest], dict[LoopKey, LoopOfPairs]]:
    """Find loops from the pairs of contexts that follow each other, without the calls themselves.

    Parameters
    ----------
    chains : sequence of sequence of int, one a context
        Frames, the outermost first.
    pairs : sequence of tuple of int
        The contexts of two calls in a row, by their places in ``chains``.
    order : iterable of int
        All contexts, in the order of their first calls where it is known.
    functions : Functions
        Learns what the pairs show of functions without code.
    steps : sequence of int, one a pair, optional
        What lies between its calls, see `Step`.

    Returns
    -------
    list of Nest, one a context
        The loops around its calls.
    dict of LoopKey to LoopOfPairs
    """
    order = list(order)
    kinds = steps or [Step.NEXT] * len(pairs)
    known = [pair for pair, step in zip(pairs, kinds, strict=True) if step == Step.NEXT]
    _learn(chains, known, order, functions)
    nests = [_nest_of(chain, functions) for chain in chains]
    loops: dict[LoopKey, LoopOfPairs] = {}
    for nest in (nests[at] for at in order):
        above = None
        for _, key, frame in nest:
            loops.setdefault(key, LoopOfPairs(parent=above)).frames[frame] = None
            above = key
    for at, ((before, after), step) in enumerate(zip(pairs, kinds, strict=True)):
        if step == Step.NEXT:
            where = transition(chains[before], chains[after], functions)
        else:  # control stays in loops around a fold; where nothing is known, in none
            # A level below that of every frame.
            where = (1 << 30 if step == Step.SUMMED else -1), FORWARD
        _note(loops, at, nests, before, after, where)
    return nests, loops


def loops_of(
    calls: ContextCalls, contexts: CallContexts, functions: Functions
) -> dict[LoopKey, Loop]:
    """Find the loops of a rank.

    Parameters
    ----------
    calls : ContextCalls
    contexts : CallContexts
        The table to which the contexts of the calls belong.
    functions : Functions
        Of the same table; learns what the calls show of functions without code.

    Returns
    -------
    dict of LoopKey to Loop
        In the order of time.
    """
    if not calls.context.size:
        return {}
    known = calls.contexts
    lookup = np.zeros(known[-1] + 1, np.uint32)
    lookup[known] = np.arange(known.size)
    number = lookup[calls.context]
    chains = [contexts.chain(int(each)).tolist() for each in known]
    pairs = _Pairs.of(number, known.size, calls.steps)
    contexts_of_pairs = list(zip(pairs.before.tolist(), pairs.after.tolist(), strict=True))
    first = [int(number[0]), *(pairs.after[np.argsort(pairs.order[pairs.start[:-1]])]).tolist()]
    in_order = list(dict.fromkeys(first))  # contexts, as they came first
    nests, found = loops_of_pairs(
        chains, contexts_of_pairs, in_order, functions, pairs.step.tolist()
    )
    from_first, to_last = ({key for _, key, _ in nests[number[at]]} for at in (0, -1))
    return {
        key: _measured(key, each, calls, pairs, number, key in from_first, key in to_last)
        for key, each in found.items()
    }


def _nest_of(chain: Sequence[int], functions: Functions) -> Nest:
    """Return the loops around a call."""
    nest: Nest = []
    for level, frame in enumerate(chain):
        key, function = functions.inside(chain, level)
        if function is None:
            continue
        for header in function.nest(functions.place(frame)):
            nest.append((level, (tuple(chain[:level]), key, header), frame))
    return nest


def _note(
    loops: dict[LoopKey, LoopOfPairs],
    at: int,
    nests: Sequence[Nest],
    before: int,
    after: int,
    where: tuple[int, int],
) -> None:
    """Note what happens to loops between calls of two contexts, the pair of number ``at``.

    Parameters
    ----------
    where : tuple of int, int
        As `transition` returns it.
    """
    level, header = where
    stays = set()
    for (one_level, one, _), (_, other, _) in zip(nests[before], nests[after], strict=False):
        if one != other or one_level > level:
            break
        stays.add(one)
    for each_level, key, _ in nests[after]:
        if key not in stays:
            loops[key].begins.append(at)
            loops[key].enters.append(at)
        elif each_level == level and key[2] == header:
            loops[key].begins.append(at)
    for _, key, _ in nests[before]:
        if key not in stays:
            loops[key].leaves.append(at)


def transition(
    before: Sequence[int], after: Sequence[int], functions: Functions
) -> tuple[int, int]:
    """Tell what happens between two calls.

    Returns
    -------
    int
        The level of the frame in which control went on.
    int
        `FORWARD`, or the header of the loop that began an iteration there.
    """
    same = common(before, after)
    if len(after) == same < len(before) and functions.may_jump(before[same]):
        return same - 1, FORWARD  # that call was the last act (a tail call) of the function before
    for level in range(min(same, len(before) - 1, len(after) - 1), -1, -1):
        key, function = functions.inside(before, level)
        if key != functions.inside(after, level)[0]:
            if level and functions.jumps(before, after, level):
                return level - 1, FORWARD
            continue
        if function is None:
            continue
        found = function.step(functions.place(before[level]), functions.place(after[level]))
        if found != NEVER:
            return level, found
    return 0, FORWARD


def common(before: Sequence[int], after: Sequence[int]) -> int:
    """Return how many frames two chains share, from the outermost on."""
    alike = (one == other for one, other in zip(before, after, strict=False))
    return next((at for at, same in enumerate(alike) if not same), min(len(before), len(after)))


def _learn(
    chains: Sequence[Sequence[int]],
    pairs: Sequence[tuple[int, int]],
    in_order: Sequence[int],
    functions: Functions,
) -> None:
    """Note what comes first from each call; where code is missing, take the order of calls."""
    functions.comes_first(chains[in_order[0]], 0)
    for before, after in pairs:
        functions.comes_first(chains[after], common(chains[before], chains[after]))
    places: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for at in in_order:
        for frame in chains[at]:
            if functions.of(frame) is None and functions.key(frame)[0] != PYTHON:
                seen = places[functions.key(frame)]
                seen.setdefault(functions.place(frame), len(seen))
    edges: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for before, after in pairs:
        for one, other in zip(chains[before], chains[after], strict=False):
            key = functions.key(one)
            if key != functions.key(other):
                break
            if key in places:
                edges[key].add(
                    (places[key][functions.place(one)], places[key][functions.place(other)])
                )
            if one != other:
                break
    for key, known in places.items():
        graph = FlowGraph(
            [[to for begin, to in sorted(edges[key]) if begin == at] for at in range(len(known))]
        )
        functions.learn(key, Unseen(graph=graph, leaders=tuple(known)))


def _measured(
    key: LoopKey,
    found: LoopOfPairs,
    calls: ContextCalls,
    pairs: _Pairs,
    number: NDArray[np.uint32],
    from_first: bool,
    to_last: bool,
) -> Loop:
    """Return a loop with its iterations: from pairs of contexts to calls."""
    begins, enters = pairs.calls(found.begins) + 1, pairs.calls(found.enters) + 1
    leaves = pairs.calls(found.leaves)
    if from_first:
        begins, enters = np.append(0, begins), np.append(0, enters)
    if to_last:
        leaves = np.append(leaves, calls.context.size - 1)

    def made(context: int) -> NDArray[np.int64]:
        """Return the calls of a context in the order of time."""
        later = pairs.calls(np.flatnonzero(pairs.after == context)) + 1
        return np.append(0, later) if number[0] == context else later

    if not calls.as_compiled:
        begins = begins_at_entry(begins, enters, leaves, number, made)
    return Loop(
        key=key,
        parent=found.parent,
        frames=tuple(found.frames),
        begins=begins,
        enters=enters,
        leaves=leaves,
        trips=np.diff(np.searchsorted(begins, np.append(enters, calls.context.size))),
        seconds=seconds_of(enters, leaves, calls),
    )


def begins_at_entry(
    begins: NDArray[np.int64],
    enters: NDArray[np.int64],
    leaves: NDArray[np.int64],
    context: NDArray[np.uint32],
    made: Callable[[int], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Let iterations begin at the call at which control enters the loop.

    The compiler may put the header of a loop between two calls of its body: then the first
    iteration of an entry is a part of one, and the last one the rest.

    Parameters
    ----------
    context : int array, shape (call,)
    made : callable
        Returns the calls of a context in the order of time.
    """
    if not enters.size:
        return begins
    trips = np.diff(np.searchsorted(begins, np.append(enters, context.size)))
    if (trips < 3).any():
        return begins
    last = begins[np.cumsum(trips) - 1]
    found: list[NDArray[np.int64]] = []
    for first in np.unique(context[enters]).tolist():
        of = context[enters] == first
        calls = made(first)
        begin, rest, end = (np.searchsorted(calls, each[of]) for each in (enters, last, leaves + 1))
        if (end - begin != trips[of] - 1).any() or (rest < end).any():
            return begins
        edges = np.bincount(begin, minlength=calls.size + 1) - np.bincount(
            end, minlength=calls.size + 1
        )
        found.append(calls[np.cumsum(edges)[:-1] > 0])
    return np.sort(np.concatenate(found))


def seconds_of(enters: NDArray[np.int64], leaves: NDArray[np.int64], calls: ContextCalls) -> float:
    """Return the time of a loop from the first call of each entry to the end of its last one."""
    return float((calls.end_ns[leaves] - calls.begin_ns[enters]).sum()) * 1e-9


def hidden_every(loop: Loop, calls: ContextCalls) -> NDArray[np.bool_]:
    """Tell among which numbers of passes those of a loop around may be hidden.

    A loop whose body is nothing but another one makes no call of its own: what separates its
    iterations is that the time between calls is longest at each k-th pass of the inner loop.

    Returns
    -------
    bool array, shape (LONGEST_SPLIT + 1,)
        For k passes, from 2 on.
    """
    found = np.zeros(LONGEST_SPLIT + 1, np.bool_)
    trips = loop.trips[:-1] if loop.trips.size > 2 else loop.trips
    begins = loop.begins[:BLOCK_CALLS]  # these show it as well as all
    entry = np.searchsorted(loop.enters, begins, side="right") - 1
    number = np.arange(begins.size) - np.searchsorted(begins, loop.enters)[entry]
    inside = number > 0
    own = begins[inside]
    gap = np.log(np.maximum(calls.begin_ns[own] - calls.end_ns[own - 1], 100))
    spread = gap.var() if own.size else 0.0
    if not spread > 0.0:
        return found
    for every in range(2, LONGEST_SPLIT + 1):
        if (trips % every).any() or trips.max() < 2 * every:
            continue
        column = number[inside] % every
        count = np.bincount(column, minlength=every)
        if (count == 0).any():
            continue
        means = np.bincount(column, gap, every) / count
        explained = 1.0 - ((gap - means[column]) ** 2).mean() / spread
        # The longest way is the one to the first, at least twice as long as to any other.
        found[every] = explained > 0.5 and means[0] >= means[1:].max() + np.log(2.0)
    return found


def every_kth(loop: Loop, every: int) -> Loop:
    """Return a loop each of whose iterations is so many passes of another one."""
    entry = np.searchsorted(loop.enters, loop.begins, side="right") - 1
    first = np.searchsorted(loop.begins, loop.enters)[entry]
    if loop.number is not None:
        number = loop.number // every
        begins = (np.diff(number[:-1], prepend=-1) > 0) | (first == np.arange(first.size))
        return replace(loop, begins=loop.begins[begins], number=number[np.append(begins, True)])
    number = np.arange(loop.begins.size) - first
    return replace(loop, begins=loop.begins[number % every == 0], trips=-(-loop.trips // every))


def calls_of_iterations(loop: Loop) -> NDArray[np.int64]:
    """Return how many calls a rank made in each iteration, shape (iteration,)."""
    made = -loop.begins
    made[:-1] += loop.begins[1:]
    last = np.searchsorted(loop.begins, loop.leaves, side="right") - 1
    made[last] = loop.leaves + 1 - loop.begins[last]
    return made


def calls_inside(loop: Loop, calls_before: NDArray[np.uint32]) -> int:
    """Return how many calls a rank made in a loop, without those of MPI-IO.

    Parameters
    ----------
    calls_before : uint32 array, shape (call + 1,)
        As `ContextCalls.without_files` returns it.
    """
    inside = calls_before[loop.leaves + 1].astype(np.int64) - calls_before[loop.enters]
    return int(inside.sum())
