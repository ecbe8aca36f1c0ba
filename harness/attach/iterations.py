"""Where the iterations of an attached program begin and end that did not mark them.

Either at calls of MPI that a person named, or where a loop of the program iterates: every rank
finds the loops of its calls (`hindmost.harness.loops`), all ranks choose the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.attach.settings import FIND
from hindmost.harness.loops.choice import (
    MIN_ITERATIONS,
    MIN_SHARE,
    Candidate,
    Chosen,
    Signature,
    Summary,
    candidates_of,
    choose,
    named_loop,
    phases_of,
    signatures_of,
    summaries_of,
)
from hindmost.harness.loops.code import Functions
from hindmost.harness.loops.names import name_of_loop, places_of
from hindmost.harness.loops.separation import are_separated
from hindmost.harness.loops.summed import numbered_loops, with_plain_numbers
from hindmost.harness.loops.tree import ContextCalls, Folds, Loop, every_kth, loops_of
from hindmost.harness.recorder.bodies import Spans
from hindmost.harness.recorder.events import FILES
from hindmost.harness.recorder.library import FOLDED, POLLING, CallClass, Flag
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.attributes import Attached, LoopOfProgram, LoopSeen, SummedCalls
from hindmost.harness.runfile.contexts import CallContexts
from hindmost.text import counted, first_of, percent

LOOP_BITS = 8
"""Of the number of a mark `FOLDED`, those that number the loop."""
NO_CALL = Flag.INCOMPLETE | Flag.FURTHER
POLLS = POLLING | {CallClass.WAIT_ANY, CallClass.WAIT_SOME}
"""Classes of calls whose number depends on when messages arrive."""


class UnsureError(DataError):
    """No loop of the program can be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopsSaid:
    """What other ranks have to know of the loops of one rank; see `RankLoops`."""

    summaries: dict[Signature, Summary]
    without_code: set[tuple[int, int]]
    blind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLoops:
    """The loops of one rank.

    Attributes
    ----------
    loops : dict of Signature to Loop
    calls : ContextCalls
    summaries : dict of Signature to Summary
        Of those that have enough of its time.
    without_code : set
        Functions whose loops only the order of calls shows.
    blind : bool
        Whether calls of the rank are summed, and of no loop all iterations are known.
    """

    loops: dict[Signature, Loop]
    calls: ContextCalls
    summaries: dict[Signature, Summary]
    without_code: set[tuple[int, int]]
    blind: bool = False

    @classmethod
    def of(
        cls, calls: ContextCalls, seconds: float, contexts: CallContexts, least: float
    ) -> RankLoops:
        """Find the loops of a rank.

        Parameters
        ----------
        calls : ContextCalls
        seconds : float
            The recorded time of the rank.
        contexts : CallContexts
            Of all ranks.
        least : float
            Share of its time from which on a loop is summarised.
        """
        functions = Functions(contexts)
        loops = loops_of(calls, contexts, functions)
        signatures = signatures_of(loops, functions.key)
        if calls.folds.at.size:
            numbered = numbered_loops(loops, calls.folds)
            loops |= numbered
        summaries = summaries_of(loops, signatures, calls, max(seconds, 1e-300), least)
        if calls.folds.at.size:
            known = {signatures[key] for key in numbered}
            summaries = {each: one for each, one in summaries.items() if each in known}
        return cls(
            loops={signature: loops[key] for key, signature in signatures.items()},
            calls=calls,
            summaries=summaries,
            without_code=functions.without_code,
            blind=bool(calls.folds.at.size and not numbered),
        )

    def said(self) -> LoopsSaid:
        """Return what other ranks have to know of them."""
        return LoopsSaid(summaries=self.summaries, without_code=self.without_code, blind=self.blind)

    def spans(self, chosen: Chosen) -> Spans:
        """Return when the iterations of a loop begin and end; see `spans_of`."""
        return spans_of(chosen, self.loops, self.calls)


def folds_of(records: NDArray[np.void], is_call: NDArray[np.bool_]) -> Folds:
    """Return where calls of a recording are summed.

    Parameters
    ----------
    records : structured array, shape (record,)
    is_call : bool array, shape (record,)
    """
    marks = np.flatnonzero(records["what"] == FOLDED)
    at = np.searchsorted(np.flatnonzero(is_call), marks)
    inside = (at > 0) & (at < np.count_nonzero(is_call))  # a call before, and one behind
    at, own = at[inside], records[marks[inside]]
    first, loop = np.divmod(own["end_ns"], 1 << LOOP_BITS)
    passes = (own["channel"].astype(np.int64) << 16) + own["count"]
    return Folds(at=at, loop=loop, first=first, passes=passes)


def calls_of(
    recording: Recording, *, summed: bool = False
) -> tuple[ContextCalls, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the calls of MPI in a recording, without those that found nothing.

    Parameters
    ----------
    summed : bool
        Whether calls are summed on some rank.

    Returns
    -------
    ContextCalls
    int64 array, shape (call,)
        Which call of MPI each is.
    bool array, shape (call,)
        Whether all ranks of the program take part, or it is no collective.
    """
    records, classes = recording.records, recording.call_classes
    polls, files = (
        np.array([call_class in wanted for call_class in classes], np.bool_)
        for wanted in (POLLS, FILES)
    )
    kept = (records["what"] < 0) & ((records["flags"] & NO_CALL) == 0)
    kept[kept] = ~polls[-1 - records["what"][kept]]
    number = -1 - records["what"][kept]
    known = "context" in (records.dtype.names or ())
    return (
        ContextCalls(
            context=records["context"][kept] if known else np.zeros(number.size, np.uint32),
            begin_ns=records["begin_ns"][kept],
            end_ns=records["end_ns"][kept],
            writes=files[number],
            folds=folds_of(records, kept),
            as_compiled=summed,
        ),
        number,
        (records["flags"][kept] & (Flag.PART | Flag.ALONE)) == 0,
    )


def calls_until(
    recording: Recording, until_s: float | None, *, summed: bool = False
) -> tuple[ContextCalls, int]:
    """Return the calls of MPI in a recording, and when it ends, in nanoseconds.

    Parameters
    ----------
    until_s : float or None
        When the records of some rank end, of a program that was ended: the calls that began later
        are left out, since killed ranks wrote their last parts at different times.
    """
    calls, _, _ = calls_of(recording, summed=summed)
    if until_s is None or not calls.end_ns.size:
        return calls, recording.end_ns
    begins = recording.clock.since_zero(calls.begin_ns)
    calls = calls.first(int(np.count_nonzero(begins < until_s)))
    return calls, int(calls.end_ns[-1]) if calls.end_ns.size else recording.end_ns


def borders_at_call(
    recording: Recording, names: Sequence[str], call: str, every: int
) -> NDArray[np.int64]:
    """Return when iterations end, at every Nth call of a name, shape (iteration + 1,), nanoseconds.

    Raises
    ------
    UnsureError
        The program did not make it often enough.
    """
    calls, number, whole = calls_of(recording)
    if calls.folds.at.size:
        raise UnsureError(
            f"calls of {call} are summed with others; record the program with --iterate-at {call}, "
            "or all its calls with --all."
        )
    places = np.flatnonzero((number == list(names).index(call)) & whole)
    if places.size <= every:
        raise UnsureError(
            f"{call} was made {counted(places.size, 'time')}; with {every} an iteration it must be "
            f"made at least {every + 1} times."
        )
    return np.asarray(calls.end_ns[places[::every]])


def least_share(wanted: str) -> float:
    """Return the share of the time from which on a loop is looked at that is to be chosen."""
    return MIN_SHARE if wanted == FIND else 0.0


def chosen_loops(
    ranks: Iterable[LoopsSaid],
    first: RankLoops,
    contexts: CallContexts,
    wanted: tuple[str, int],
    whole_s: float,
    *,
    cut: bool,
    unit: int = 0,
) -> list[tuple[Chosen, Attached]]:
    """Choose the loops of a program that are measured, with what their iterations are.

    Parameters
    ----------
    ranks : iterable of LoopsSaid
        Of all ranks.
    first : RankLoops
        Those of the first.
    contexts : CallContexts
        Of all ranks.
    wanted : tuple of str, int
        The loop, by its name, and how many of its passes make an iteration; `FIND` to choose.
    whole_s : float
        Recorded time of the first rank.
    cut : bool
        Whether ranks may lack their last iteration.
    unit : int
        Passes of a loop whose calls are summed together on some rank; 0 if none are.

    Returns
    -------
    list of tuple of Chosen, Attached
        Loops that the program does one after the other, each worth a run file, with what it says of
        them.

    Raises
    ------
    UnsureError
        There is no such loop, or none can be chosen.
    """
    known: dict[Signature, Signature] = {}  # the same on all ranks, so each is kept once
    summaries: list[dict[Signature, Summary]] = []
    without_code: set[tuple[int, int]] = set()
    for rank in ranks:
        if rank.blind:
            raise UnsureError(
                "the loop of some rank was not known when half of its budget for calls was used; "
                "record the program with --all to find its loops."
            )
        summaries.append(
            {
                known.setdefault(signature, signature): replace(
                    summary,
                    around=tuple(known.setdefault(one, one) for one in summary.around),
                )
                for signature, summary in rank.summaries.items()
            }
        )
        without_code |= rank.without_code
    candidates = candidates_of(summaries, slack=int(cut))
    names = names_of(contexts, candidates, first.loops)
    callers = callers_of(contexts, names, first.loops)
    unsure = unseparated(contexts, candidates, first)
    name, every = wanted
    if name == FIND:
        found = choose(candidates)
    else:
        named = named_loop(name, every, names, candidates)
        found = () if named is None else (named,)
    if name == FIND:  # few iterations that are several passes say nothing of a pass
        vague = [loop for loop in found if loop.few and unsure & {*loop.parts}]
        found = tuple(loop for loop in found if loop not in vague)
        if sum(loop.share for loop in found) < max((loop.share for loop in vague), default=0.0):
            found = ()  # what is left is beside the point
    if unit:
        found = tuple(each.summed(unit, candidates) for each in found)
    if not found:
        alone = candidates_of(summaries[:1]) if len(summaries) > 1 and not candidates else {}
        of_first = _listed(contexts, alone, first, unseparated(contexts, alone, first))
        listed = _listed(contexts, candidates, first, unsure) if candidates else None
        raise UnsureError(_why_none(name, listed, of_first, contexts))
    return [
        (
            chosen,
            Attached(
                loop=LoopOfProgram(
                    name=option_of(chosen, names),
                    iterations=chosen.iterations,
                    share=min(chosen.share, 1.0),
                    few=chosen.few,
                    by_code=not any(part[0][-1] in without_code for part in chosen.parts),
                    loops=list(
                        loops_seen(chosen, found, names, callers, candidates, unsure, whole_s)
                    ),
                ),
                **({"summed": summed_calls(chosen)} if chosen.unit else {}),
            ),
        )
        for chosen in phases_of(found)
    ]


def summed_calls(chosen: Chosen) -> SummedCalls:
    """Return what is kept of a loop on the ranks that sum its calls."""
    gaps = [pair for of_part in chosen.gaps.values() for pair in of_part]
    first = min((gap[0] for gap in gaps), default=0)
    return SummedCalls(
        unit=chosen.every,
        passes=chosen.passes,
        unknown=max((gap[1] for gap in gaps), default=first) - first,
    )


def option_of(chosen: Chosen, names: Mapping[Signature, str]) -> str:
    """Return the name of a loop, with how many of its passes make an iteration."""
    return names[chosen.parts[0]] + (f":{chosen.every}" if chosen.every > 1 else "")


def loops_seen(
    chosen: Chosen,
    found: Sequence[Chosen],
    names: Mapping[Signature, str],
    callers: Mapping[Signature, str],
    candidates: Mapping[Signature, Candidate],
    unsure: Collection[Signature],
    whole_s: float,
) -> Iterator[LoopSeen]:
    """Yield the loops of a program that iterate, each before those in it.

    Parameters
    ----------
    found : sequence of Chosen
        All that are chosen.
    callers : mapping
        As `callers_of` returns it.
    unsure : collection of Signature
        Loops that may have more iterations than are seen.
    whole_s : float
        Recorded time of rank 0.
    """
    roles: dict[Signature, tuple[str, Chosen | None]]
    roles = {part: ("phase", each) for each in found for part in each.parts}
    roles |= dict.fromkeys(chosen.around, ("around", None))
    roles |= dict.fromkeys(chosen.inside, ("inside", None))
    roles |= dict.fromkeys(chosen.parts, ("measured", chosen))

    def within(parent: Signature | None, depth: int) -> Iterator[LoopSeen]:
        for signature, loop in candidates.items():
            if loop.parent != parent:
                continue
            longer = loop.share > chosen.share  # but too few iterations
            role, of = roles.get(signature, ("phase" if longer else "", None))
            every = 1 if of is None else of.every
            if loop.iterates and (role or loop.share >= MIN_SHARE):
                seen = LoopSeen(
                    name=names[signature] if of is None else option_of(of, names),
                    role=role,
                    depth=depth,
                    iterations=loop.iterations // every,
                    at_least=signature in unsure,
                    seconds=loop.share * whole_s * every / loop.iterations,
                    share=min(loop.share, 1.0),
                )
                if signature in callers:
                    seen["caller"] = callers[signature]
                yield seen
            yield from within(signature, depth + loop.iterates)

    yield from within(None, 0)


def unseparated(
    contexts: CallContexts, candidates: Iterable[Signature], first: RankLoops
) -> set[Signature]:
    """Return the loops of which code does not prove that a call of MPI is in each iteration."""
    functions = Functions(contexts)
    chains = [contexts.chain(int(context)).tolist() for context in first.calls.contexts]
    return {
        signature
        for signature in candidates
        if not are_separated(first.loops[signature], chains, functions)
    }


def spans_of(chosen: Chosen, loops: Mapping[Signature, Loop], calls: ContextCalls) -> Spans:
    """Return when the iterations of a loop begin and end, wherever it is called from.

    The first one of an entry begins with its first call, since what the program did before may be
    no part of the loop; each ends with the last call before the next one begins.
    """
    begins, ends, entries = [], [], []
    for part in chosen.parts:
        loop = with_plain_numbers(loops[part]) if chosen.unit else loops[part]
        loop = every_kth(loop, chosen.every) if chosen.every > 1 else loop
        entry = np.searchsorted(loop.enters, loop.begins, side="right") - 1
        first = np.append(True, entry[1:] != entry[:-1])
        last_call = np.where(
            np.append(first[1:], True), loop.leaves[entry], np.append(loop.begins[1:], 0) - 1
        )
        begin = np.where(first, calls.begin_ns[loop.enters[entry]], calls.end_ns[loop.begins - 1])
        end = calls.end_ns[last_call]
        number = np.arange(begin.size) if loop.number is None else loop.number[:-1]
        for gap in chosen.gaps.get(part, ()):
            last = (gap[1] - 1) // chosen.every
            unknown = (number >= gap[0] // chosen.every) & (number <= last)
            after = np.searchsorted(number, last, side="right")
            first[after : after + 1] = True
            begin[unknown] = -1
        known = begin >= 0
        begins.append(begin[known])
        ends.append(end[known])
        entries.append(first[known])
    begin, end, first = map(np.concatenate, (begins, ends, entries))
    order = np.argsort(begin, kind="stable")
    return Spans(begin_ns=begin[order], end_ns=end[order], entry=np.cumsum(first[order]) - 1)


def names_of(
    contexts: CallContexts,
    candidates: Mapping[Signature, Candidate],
    loops: Mapping[Signature, Loop],
) -> dict[Signature, str]:
    """Return the names of loops: function, file and line of where each begins.

    Those that share a name get a number.
    """
    names: dict[Signature, str] = {}
    for signature in candidates:
        names[signature] = name_of_loop(contexts, loops[signature].key, loops[signature].frames)
    like: dict[tuple[str, object], int] = {}
    tails: dict[str, list[object]] = {}
    for signature, name in names.items():
        tail = (signature[0][-1], signature[1], loops[signature].key[2])
        known = tails.setdefault(name, [])
        if tail not in known:
            known.append(tail)
        like[name, tail] = known.index(tail)
        if like[name, tail]:
            names[signature] = f"{name} #{like[name, tail] + 1}"
    return names


def callers_of(
    contexts: CallContexts, names: Mapping[Signature, str], loops: Mapping[Signature, Loop]
) -> dict[Signature, str]:
    """Return from where the functions of loops are called that share their names with others."""
    every = list(names.values())
    above = {each: loops[each].key[0] for each, name in names.items() if every.count(name) > 1}
    frames = {each: chain[-1] for each, chain in above.items() if chain}
    places = places_of(contexts, list(frames.values()))
    return {each: str(places[frame]) for each, frame in frames.items()}


def _listed(
    contexts: CallContexts,
    candidates: Mapping[Signature, Candidate],
    first: RankLoops,
    unsure: Collection[Signature],
) -> str:
    """Name loops, those with most of the time first."""
    several = [candidate for candidate in candidates.values() if candidate.iterates]
    names = names_of(contexts, candidates, first.loops)
    callers = callers_of(contexts, names, first.loops)
    loops = [
        f"'{names[each.signature]}' "
        + (f"from {callers[each.signature]} " if each.signature in callers else "")
        + ("at least " if each.signature in unsure else "")
        + f"{each.iterations:,} x, {percent(each.share, 0)} of the time"
        + ("" if each.equal else f" (up to {each.most:,} on other ranks)")
        for each in sorted(several, key=lambda each: -each.share)
    ]
    return first_of(loops, "; ")


def _why_none(wanted: str, listed: str | None, of_first: str, contexts: CallContexts) -> str:
    """Say why no loop is chosen, and which there are.

    Parameters
    ----------
    listed : str or None
        The loops that all ranks have and that iterate; None if all ranks have none.
    of_first : str
        The loops of the first rank, where several have none in common.
    """
    if not contexts.known:
        return (
            "no call contexts were recorded, so its loops are not known; name the call at which an "
            "iteration ends (--iterate-at CALL)."
        )
    there_are = f" Loops: {listed}." if listed else ""
    if wanted != FIND:
        return f"no loop with MPI calls is named '{wanted}'.{there_are}"
    if listed is None:
        theirs = f" Ranks do different things: rank 0 has {of_first}." if of_first else ""
        return (
            f"no loop that all ranks have has MPI calls and {percent(MIN_SHARE, 0)} of the "
            f"time.{theirs}"
        )
    return (
        f"no loop iterates at least {MIN_ITERATIONS} times, equally often on all ranks, with its "
        f"calls in as many iterations.{there_are}"
    )
