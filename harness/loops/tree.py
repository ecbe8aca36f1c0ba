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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.loops.code import Functions, Unseen
from hindmost.harness.loops.graph import FORWARD, NEVER, FlowGraph
from hindmost.harness.runfile.contexts import PYTHON, CallContexts

LoopKey = tuple[tuple[int, ...], tuple[int, int], int]
"""The frames above a loop, its function, and its header."""
LONGEST_SPLIT = 32
"""Passes of a loop among which those of a loop around it are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCalls:
    """The MPI calls of one rank in the order of time, without those that found nothing.

    Attributes
    ----------
    context : uint32 array, shape (call,)
    begin_ns, end_ns : int64 array, shape (call,)
    writes : bool array, shape (call,)
        Whether it is a call of MPI-IO.
    """

    context: NDArray[np.uint32]
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    writes: NDArray[np.bool_]

    def first(self, count: int) -> ContextCalls:
        """Return the first so many calls."""
        return ContextCalls(
            context=self.context[:count],
            begin_ns=self.begin_ns[:count],
            end_ns=self.end_ns[:count],
            writes=self.writes[:count],
        )


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
    seconds : float array, shape (iteration,)
        From the first call of an iteration to the first call of the next; of the last one of an
        entry, to the end of its last call.
    """

    key: LoopKey
    parent: LoopKey | None
    frames: tuple[int, ...]
    begins: NDArray[np.int64]
    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    trips: NDArray[np.int64]
    seconds: NDArray[np.float64]

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

    Returns
    -------
    list of Nest, one a context
        The loops around its calls.
    dict of LoopKey to LoopOfPairs
    """
    order = list(order)
    _learn(chains, pairs, order, functions)
    nests = [_nest_of(chain, functions) for chain in chains]
    loops: dict[LoopKey, LoopOfPairs] = {}
    for nest in (nests[at] for at in order):
        above = None
        for _, key, frame in nest:
            loops.setdefault(key, LoopOfPairs(parent=above)).frames[frame] = None
            above = key
    for at, (before, after) in enumerate(pairs):
        _note(loops, at, chains, nests, before, after, functions)
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
    known, number = np.unique(calls.context, return_inverse=True)
    chains = [contexts.chain(int(each)).tolist() for each in known]
    pair, which = np.unique(
        number[:-1].astype(np.int64) * known.size + number[1:], return_inverse=True
    )
    pairs = [divmod(int(each), known.size) for each in pair]
    nests, found = loops_of_pairs(chains, pairs, dict.fromkeys(number.tolist()), functions)
    first, last = ({key for _, key, _ in nests[number[at]]} for at in (0, -1))
    return {
        key: _measured(key, each, calls, which, len(pairs), key in first, key in last)
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
    chains: Sequence[Sequence[int]],
    nests: Sequence[Nest],
    before: int,
    after: int,
    functions: Functions,
) -> None:
    """Note what happens to loops between calls of two contexts, the pair of number ``at``."""
    level, header = transition(chains[before], chains[after], functions)
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
    order: Sequence[int],
    functions: Functions,
) -> None:
    """Note what comes first from each call; where code is missing, take the order of calls."""
    functions.comes_first(chains[order[0]], 0)
    for before, after in pairs:
        functions.comes_first(chains[after], common(chains[before], chains[after]))
    places: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for at in order:
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
    which: NDArray[np.int64],
    pairs: int,
    from_first: bool,
    to_last: bool,
) -> Loop:
    """Return a loop with its iterations: from pairs of contexts to calls."""

    def calls_after(at: list[int]) -> NDArray[np.int64]:
        marked = np.zeros(pairs, np.bool_)
        marked[at] = True
        return np.flatnonzero(marked[which]) + 1

    begins, enters = calls_after(found.begins), calls_after(found.enters)
    leaves = calls_after(found.leaves) - 1
    if from_first:
        begins, enters = np.append(0, begins), np.append(0, enters)
    if to_last:
        leaves = np.append(leaves, calls.context.size - 1)
    begins = begins_at_entry(begins, enters, leaves, calls)
    entry = np.searchsorted(enters, begins, side="right") - 1
    return Loop(
        key=key,
        parent=found.parent,
        frames=tuple(found.frames),
        begins=begins,
        enters=enters,
        leaves=leaves,
        trips=np.bincount(entry, minlength=enters.size),
        seconds=seconds_of(begins, enters, leaves, calls),
    )


def begins_at_entry(
    begins: NDArray[np.int64],
    enters: NDArray[np.int64],
    leaves: NDArray[np.int64],
    calls: ContextCalls,
) -> NDArray[np.int64]:
    """Let iterations begin at the call at which control enters the loop.

    The compiler may put the header of a loop between two calls of its body: then the first
    iteration of an entry is a part of one, and the last one the rest.
    """
    if not enters.size:
        return begins
    trips = np.diff(np.searchsorted(begins, np.append(enters, calls.context.size)))
    last = begins[np.cumsum(trips) - 1]
    found: list[NDArray[np.int64]] = []
    for first in np.unique(calls.context[enters]):
        of = calls.context[enters] == first
        made = np.flatnonzero(calls.context == first)
        begin, rest, end = (np.searchsorted(made, each[of]) for each in (enters, last, leaves + 1))
        if (trips[of] < 3).any() or (end - begin != trips[of] - 1).any() or (rest < end).any():
            return begins
        edges = np.bincount(begin, minlength=made.size + 1) - np.bincount(
            end, minlength=made.size + 1
        )
        found.append(made[np.cumsum(edges)[:-1] > 0])
    return np.sort(np.concatenate(found))


def seconds_of(
    begins: NDArray[np.int64],
    enters: NDArray[np.int64],
    leaves: NDArray[np.int64],
    calls: ContextCalls,
) -> NDArray[np.float64]:
    """Return the time of each iteration, shape (iteration,)."""
    if not begins.size:
        return np.empty(0)
    entry = np.searchsorted(enters, begins, side="right") - 1
    last = np.append(entry[1:] != entry[:-1], True)
    following = np.append(begins[1:], 0)
    end = np.where(last, calls.end_ns[leaves[entry]], calls.begin_ns[following])
    return np.asarray((end - calls.begin_ns[begins]) * 1e-9)


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
    gap_ns = np.maximum(calls.begin_ns[1:] - calls.end_ns[:-1], 100)
    gap = np.append(0.0, np.log(gap_ns))[loop.begins]
    entry = np.searchsorted(loop.enters, loop.begins, side="right") - 1
    number = np.arange(loop.begins.size) - np.searchsorted(loop.begins, loop.enters)[entry]
    inside = number > 0
    spread = gap[inside].var() if inside.any() else 0.0
    if not spread > 0.0:
        return found
    for every in range(2, LONGEST_SPLIT + 1):
        if (trips % every).any() or trips.max() < 2 * every:
            continue
        column = number[inside] % every
        count = np.bincount(column, minlength=every)
        if (count == 0).any():
            continue
        means = np.bincount(column, gap[inside], every) / count
        explained = 1.0 - ((gap[inside] - means[column]) ** 2).mean() / spread
        # The longest way is the one to the first, at least twice as long as to any other.
        found[every] = explained > 0.5 and means[0] >= means[1:].max() + np.log(2.0)
    return found


def every_kth(loop: Loop, every: int, calls: ContextCalls) -> Loop:
    """Return a loop each of whose iterations is so many passes of another one."""
    entry = np.searchsorted(loop.enters, loop.begins, side="right") - 1
    number = np.arange(loop.begins.size) - np.searchsorted(loop.begins, loop.enters)[entry]
    begins = loop.begins[number % every == 0]
    return Loop(
        key=loop.key,
        parent=loop.parent,
        frames=loop.frames,
        begins=begins,
        enters=loop.enters,
        leaves=loop.leaves,
        trips=-(-loop.trips // every),
        seconds=seconds_of(begins, loop.enters, loop.leaves, calls),
    )


def calls_of_iterations(loop: Loop) -> NDArray[np.int64]:
    """Return how many calls a rank made in each iteration, shape (iteration,)."""
    entry = np.searchsorted(loop.enters, loop.begins, side="right") - 1
    last = np.append(entry[1:] != entry[:-1], True)
    end = np.where(last, loop.leaves[entry] + 1, np.append(loop.begins[1:], 0))
    return np.asarray(end - loop.begins, np.int64)


def calls_inside(loop: Loop, calls: ContextCalls) -> int:
    """Return how many calls a rank made in a loop, without those of MPI-IO."""
    counted = np.append(0, np.cumsum(~calls.writes))
    return int((counted[loop.leaves + 1] - counted[loop.enters]).sum())
