"""The samples that a rank wrote, and the functions that they were taken in."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.harness.attach.odd_numbers import usable
from hindmost.harness.attach.raw import Frame, RawRank, Span, array_of, contexts_of, json_at
from hindmost.harness.loops.names import lines_of, of_function
from hindmost.harness.recorder.clock import CommonClock
from hindmost.harness.recorder.library import NS
from hindmost.harness.runfile.bodies import IN_MPI, RankBodies
from hindmost.harness.runfile.contexts import PYTHON, CallContexts, CodePlace, Module, line_of
from hindmost.harness.runfile.samples import CodeStack, IterationPart, RankSamples, SampleKind
from hindmost.printable import printable

PAIR = np.dtype([("before", "<u4"), ("chain", "<u4"), ("flags", "<u4"), ("ready", "<u4")])
ENTRY = np.dtype([("passed_us", "<u2"), ("pair", "<u2")])
HEAD = struct.Struct("<qqII")
"""Of the samples of a thread: when the first was taken and the thread's processor time so far, both
in nanoseconds, the thread's number, and the samples for which there was no room."""
GAP = 0xFFFF
"""In place of a pair: so many times 2^16 microseconds pass."""
DURING_MPI, LAST, BLOCKED = 1, 4, 8
"""Flags of a pair: in a call of MPI; where a thread stood when a signal ended the program; where
the thread that calls MPI was blocked in the system, outside of it."""
WAITS = {
    "pthread_mutex_lock": "waits for a lock",
    "pthread_cond_wait": "waits for a condition",
    "pthread_cond_timedwait": "waits for a condition",
    "pthread_join": "waits for a thread to end",
    "sem_wait": "waits for a semaphore",
    "read": "reads",
    "write": "writes",
    "poll": "waits for a file or socket",
    "nanosleep": "sleeps",
    "clock_nanosleep": "sleeps",
    "sleep": "sleeps",
}
"""What a thread does in a function of the C library that the program called."""
TABLES = (Frame.SAMPLE_PLACES, Frame.SAMPLE_CHAIN_ENDS, Frame.SAMPLE_CHAINS)
SYSTEM = re.compile(
    r"^(ld-linux.*|linux-vdso.*|lib(c|m|mvec|pthread|dl|rt|gcc_s|stdc\+\+|gfortran|quadmath|util)"
    r"[-.][^/]*)$"
)
OPENMP = re.compile(r"^lib(gomp|omp|iomp5)[-.][^/]*$")
RUNTIME = re.compile(r"^(?:\w+ )?(?:__kmpc?_|kmp_|gomp_|GOMP_)\w")
"""Functions of these runtimes, where they are linked into the program."""
SPREADS, LONGER, MAX_SLOW = 6.0, 0.05, 0.05
"""Slow iterations are so many quartile distances, and by so much, above the median; no more than
this share of all are."""
OUTLINED = ".omp_outlined."
"""Begin of the names that clang gives to regions."""
COPIES = re.compile(
    r"\.(_omp_fn\.\d+|constprop\.\d+|isra\.\d+|part\.\d+|cold|lto_priv\.\d+|localalias)(?=\.|$)"
)
"""What compilers append to the names of parts and copies of a function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """What a rank says of its samples.

    Attributes
    ----------
    mechanism : str
        ``event``: of perf; ``timer``: of processor time; ``none``.
    why_none : str
        Why there are none; empty if there are.
    period_ns : int
        Processor time from one to the next, on average.
    cost_ns : float
        Processor time of one; 0 if it was not measured.
    unsampled : int
        Threads that block SIGPROF, or of which the system allows no samples.
    """

    mechanism: Literal["event", "timer", "none"] = "none"
    why_none: str = ""
    period_ns: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    cost_ns: Annotated[float, Meta(ge=0)] = 0.0
    unsampled: Annotated[int, Meta(ge=0, le=1 << 32)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSamples:
    """The samples of a thread.

    Attributes
    ----------
    time_ns : int64 array, shape (sample,)
        On the rank's clock.
    pair : int64 array, shape (sample,)
    cpu_ns : int
        Processor time of the thread until the last of them was written.
    lost : int
    """

    time_ns: NDArray[np.int64]
    pair: NDArray[np.int64]
    cpu_ns: int
    lost: int


def sampler_of(raw: RawRank) -> Sampler:
    """Return what a rank says of its samples last."""
    said = raw.noted.get(Frame.SAMPLER, [])
    return usable(Sampler, json_at(raw.file.data, said[-1]), []) if said else Sampler()


def threads_of(raw: RawRank) -> dict[int, ThreadSamples]:
    """Return the samples of each thread of a rank, by its number; the recorded thread has 0."""
    parts: dict[int, list[ThreadSamples]] = {}
    for span in raw.noted.get(Frame.SAMPLES, []):
        if span.count >= HEAD.size:
            number, part = thread_part(raw, span)
            parts.setdefault(number, []).append(part)
    return {
        number: ThreadSamples(
            time_ns=np.concatenate([each.time_ns for each in of_thread]),
            pair=np.concatenate([each.pair for each in of_thread]),
            cpu_ns=max(each.cpu_ns for each in of_thread),
            lost=sum(each.lost for each in of_thread),
        )
        for number, of_thread in sorted(parts.items())
    }


def thread_part(raw: RawRank, span: Span) -> tuple[int, ThreadSamples]:
    """Return the number of a thread, and those of its samples that one frame has."""
    begin_ns, cpu_ns, number, lost = HEAD.unpack_from(raw.file.data, span.offset)
    count = (span.count - HEAD.size) // ENTRY.itemsize
    entries = np.frombuffer(raw.file.data, ENTRY, count, span.offset + HEAD.size)
    passed = entries["passed_us"].astype(np.int64)
    is_gap = entries["pair"] == GAP
    passed[is_gap] <<= 16
    time_ns = begin_ns + 1000 * np.cumsum(passed)
    return number, ThreadSamples(
        time_ns=time_ns[~is_gap],
        pair=entries["pair"][~is_gap].astype(np.int64),
        cpu_ns=max(cpu_ns, 0),
        lost=lost,
    )


def pairs_of(raw: RawRank) -> NDArray[np.void]:
    """Return the pairs of a rank; the first is of samples that found no room in a table."""
    spans = raw.noted.get(Frame.SAMPLE_PAIRS, [])
    data = raw.file.data
    return np.concatenate(
        [np.zeros(1, PAIR)]
        + [np.frombuffer(data, PAIR, each.count // PAIR.itemsize, each.offset) for each in spans]
    )


def samples_of(
    raw: RawRank,
    sections_ns: Sequence[tuple[int, int]],
    bodies: RankBodies,
    clock: CommonClock,
    numbers: NDArray[np.uint32],
    count_of_contexts: int,
    names: StackNames,
) -> RankSamples | None:
    """Return the samples that a rank took in some sections; None if it was not asked for any.

    Parameters
    ----------
    sections_ns : sequence of tuple of int
        Begin and end of each, on the rank's clock.
    bodies : RankBodies
        The iterations of the rank.
    clock : CommonClock
        On which they begin.
    numbers : uint32 array, shape (context,)
        The number in the run of each call context of the rank.
    count_of_contexts : int
        Of the run.
    names : StackNames
    """
    sampler = sampler_of(raw)
    if not raw.noted.get(Frame.SAMPLER):
        return None
    contexts = contexts_of(raw.file.data, raw.noted, [], TABLES)
    pairs = pairs_of(raw)
    threads, slow = threads_of(raw), slow_iterations(bodies)
    found: list[NDArray[np.int64]] = []
    contexts_run = numbers.astype(np.int64) if numbers.size else np.zeros(1, np.int64)
    event_of = np.arange(max(count_of_contexts, 1))
    for number, thread in threads.items():
        inside = np.zeros(thread.time_ns.size, bool)
        for begin_ns, end_ns in sections_ns:
            inside |= (thread.time_ns >= begin_ns) & (thread.time_ns < end_ns)
        inside &= thread.pair < pairs.size
        time_s = clock.since_zero(thread.time_ns[inside])
        part = parts_at(time_s, bodies, slow)
        which, counts = np.unique(
            thread.pair[inside] * len(IterationPart) + part, return_counts=True
        )
        found.append(np.stack([np.full(which.size, number), which, counts]))
        if not number:
            before = pairs["before"][thread.pair[inside]].astype(np.int64)
            before = contexts_run[np.where(before < contexts_run.size, before, 0)]
            event_of = events_before(time_s, before, bodies, event_of)
    thread_of, which, count = np.concatenate([np.zeros((3, 0), np.int64), *found], axis=1)
    pair_of, part_of = np.divmod(which, len(IterationPart))
    before = pairs["before"][pair_of].astype(np.int64)
    before = event_of[contexts_run[np.where(before < contexts_run.size, before, 0)]]
    chain = pairs["chain"][pair_of].astype(np.int64)
    chain = np.where(chain < contexts.count, chain, 0)
    used, stack = np.unique(chain, return_inverse=True)
    named = names.of(contexts, used)
    kind = np.array([each[1] for each in named], np.uint8)[stack]
    kind[(pairs["flags"][pair_of] & DURING_MPI) > 0] = SampleKind.MPI
    blocked = (pairs["flags"][pair_of] & BLOCKED) > 0
    kept = ~(blocked & (kind == SampleKind.OPENMP))  # it waits for other threads of its own
    kind[blocked] = SampleKind.BLOCKED
    return RankSamples(
        period_s=sampler.period_ns * NS if sampler.mechanism != "none" else 0.0,
        thread=thread_of[kept],
        context=before[kept],
        stack=stack.astype(np.int64)[kept],
        count=count[kept],
        kind=kind[kept],
        part=part_of.astype(np.uint8)[kept],
        slow=int(slow.sum()),
        stacks=tuple(each[0] for each in named),
        threads=np.array(list(threads), np.int64),
        thread_s=np.array([each.cpu_ns * NS for each in threads.values()], np.float64),
        lost=sum(each.lost for each in threads.values()),
        unsampled=sampler.unsampled,
        context_s=np.bincount(
            event_of[:count_of_contexts],
            context_times(raw, numbers, count_of_contexts),
            count_of_contexts,
        ).astype(np.float64),
        mechanism=sampler.mechanism,
        why_none=sampler.why_none,
        cost_s=sampler.cost_ns * NS,
    )


def slow_iterations(bodies: RankBodies) -> NDArray[np.bool_]:
    """Tell which iterations of a rank stand out by their own work; none if those are many."""
    outside = [name not in IN_MPI for name in bodies.phases]
    own_s = bodies.phase_duration[:, outside].sum(axis=1, dtype=np.float64)
    if not own_s.size:
        return np.zeros(0, bool)
    low_s, middle_s, high_s = np.quantile(own_s, (0.25, 0.5, 0.75))
    slow = own_s > middle_s + max(SPREADS * (high_s - low_s), LONGER * middle_s)
    return np.asarray(slow & (slow.mean() < MAX_SLOW))


def parts_at(
    time_s: NDArray[np.float64], bodies: RankBodies, slow: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return in which iterations some instants lie, see `IterationPart`: shape (sample,)."""
    count = slow.size
    at = np.clip(np.searchsorted(bodies.start, time_s, side="right") - 1, 0, max(count - 1, 0))
    part = np.minimum(3 * at // max(count, 1), IterationPart.LAST)
    return np.where(np.append(slow, False)[at], IterationPart.SLOW, part)


def events_before(
    time_s: NDArray[np.float64],
    context: NDArray[np.int64],
    bodies: RankBodies,
    known: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the context of the event that calls of each context are part of: shape (context,).

    An event has the context of its first call; what a rank does after it comes after its last one.
    That of most samples decides.

    Parameters
    ----------
    time_s : float64 array, shape (sample,), seconds
        When samples of the thread that calls MPI were taken.
    context : int64 array, shape (sample,)
        Of the call before each.
    known : int64 array, shape (context,)
        Of calls that are no part of an event: themselves.
    """
    events = bodies.events
    if events is None or not bodies.start.size or not events.kind.size:
        return known
    there = events.kind > 0
    of_event = events.context[there].astype(np.int64)
    steps = events.work.astype(np.float64) + np.pad(events.duration, ((0, 0), (1, 0)))[:, :-1]
    begin_s = (bodies.start[:, None] + np.cumsum(steps, axis=1))[there]
    body = np.clip(np.searchsorted(bodies.start, time_s, side="right") - 1, 0, None)
    at = np.searchsorted(begin_s, time_s, side="right") - 1
    asked = (at >= 0) & (time_s >= bodies.start[0])
    asked &= time_s < bodies.start[body] + bodies.duration[body]
    asked &= ~np.isin(context, of_event)
    pairs, votes = np.unique(
        np.stack([context[asked], of_event[at[asked]]]), axis=1, return_counts=True
    )
    found = known.copy()
    for pair in np.argsort(votes, kind="stable"):  # the last one is that of most
        found[pairs[0, pair]] = pairs[1, pair]
    return found


def context_times(raw: RawRank, numbers: NDArray[np.uint32], contexts: int) -> NDArray[np.float64]:
    """Return the processor time from calls of each context of the run to the next ones."""
    cpu_ns = array_of(raw.file.data, Frame.CONTEXT_CPU, raw.noted.get(Frame.CONTEXT_CPU, [])[-1:])
    known = min(cpu_ns.size, numbers.size)
    spent = np.maximum(cpu_ns[:known], 0) * NS
    return np.bincount(numbers[:known], spent, contexts).astype(np.float64)


def where_threads_stood(raw: RawRank) -> tuple[str, ...]:
    """Return where each thread of a rank stood when a signal ended the program.

    Threads that are in MPI are left out, and those that only libraries without debug information
    have begun, such as MPI's own.
    """
    contexts, pairs = contexts_of(raw.file.data, raw.noted, [], TABLES), pairs_of(raw)
    said = []
    for number, thread in threads_of(raw).items():
        last = pairs[thread.pair[thread.pair < pairs.size]]
        last = last[(last["flags"] & LAST) > 0]
        if not last.size:
            continue
        pair = last[-1]
        if pair["flags"] & DURING_MPI or pair["chain"] >= contexts.count:
            continue
        place = StackNames().standing(contexts, int(pair["chain"]))
        if place:
            said.append(f"thread {number} {place}")
    return tuple(said)


@dataclass(slots=True)
class StackNames:
    """The functions and lines of addresses, each looked up once for all ranks of this process."""

    _known: dict[Module, dict[int, tuple[CodePlace, ...]]] = field(default_factory=dict)
    _of_regions: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(
        self, contexts: CallContexts, chains: NDArray[np.int64]
    ) -> list[tuple[CodeStack, SampleKind]]:
        """Return the functions of some chains of return addresses, and what the thread did.

        Parameters
        ----------
        chains : int64 array, shape (chain,)
            Numbers of contexts, of which the innermost frame is the one that ran.
        """
        frames = sorted({int(at) for each in chains for at in contexts.chain(int(each))})
        named = self._named(contexts, frames)
        modules = [Path(each.path).name for each in contexts.modules]
        found = [self._stack(contexts, int(each), named, modules) for each in chains]
        for stack, _ in found:  # the thread that forks the others knows the function
            for place in stack.places[: stack.region]:
                if place.function.startswith(OUTLINED) and stack.region < len(stack.places):
                    caller = stack.places[stack.region].function
                    self._of_regions[place.function, place.file] = caller
        return [(self._with_regions(stack), kind) for stack, kind in found]

    def _with_regions(self, stack: CodeStack) -> CodeStack:
        """Return a stack in which the parts of OpenMP regions have the names of their functions."""
        known = self._of_regions
        places = (
            place._replace(function=known.get((place.function, place.file), place.function))
            for place in stack.places
        )
        return stack._replace(places=tuple(places))

    def standing(self, contexts: CallContexts, chain: int) -> str:
        """Say what a thread does in a chain; empty if no function of the program is in it."""
        ((stack, kind),) = self.of(contexts, np.array([chain]))
        known = any(each.line for each in stack.places)
        if not stack.places or (".so" in stack.places[0].function and not known):
            return ""
        if kind is SampleKind.OPENMP:
            return f"waits for other threads (OpenMP) in {stack.places[0]}"
        frames = [int(at) for at in contexts.chain(chain)[::-1]]
        modules = [Path(each.path).name for each in contexts.modules]
        system = []
        for frame in frames:
            module = int(contexts.module[frame])
            if module < 0 or not SYSTEM.match(modules[module]):
                break
            system.append(
                self._known[contexts.modules[module]][int(contexts.offset[frame]) - 1][-1]
            )
        does = [WAITS[name] for place in system if (name := base_name(place.function)) in WAITS]
        return f"{does[0] if does else 'is'} in {stack.places[0]}"

    def _named(
        self, contexts: CallContexts, frames: Sequence[int]
    ) -> Mapping[int, tuple[CodePlace, ...]]:
        """Return the functions of each frame, the innermost inlined one first."""
        wanted: dict[int, set[int]] = {}
        for frame in frames:
            module, begin = int(contexts.module[frame]), int(contexts.function[frame])
            if module >= 0:
                address = int(contexts.offset[frame]) - 1
                wanted.setdefault(module, set()).update((address, begin, max(begin - 1, 0)))
        for module, addresses in wanted.items():
            own = contexts.modules[module]
            known = self._known.setdefault(own, {})
            if new := sorted(addresses - known.keys()):
                known |= lines_of(own, new)
        return {frame: self._places(contexts, frame) for frame in frames}

    def _places(self, contexts: CallContexts, frame: int) -> tuple[CodePlace, ...]:
        """Return the functions of a frame, the innermost inlined one first."""
        module, offset = int(contexts.module[frame]), int(contexts.offset[frame])
        begin = int(contexts.function[frame])
        if module == PYTHON:
            code = contexts.codes[begin]
            file = printable(Path(code.file).name)
            return (CodePlace(printable(code.function), file, line_of(offset)),)
        if module < 0:
            return (CodePlace("code without a file"),)
        own = contexts.modules[module]
        known = self._known[own]
        here, first, before = known[offset - 1], known[begin], known[max(begin - 1, 0)]
        *inlined, outer = here
        # The name of a function is that of its beginning: of other addresses it may lack its scope.
        if first and begin and outer.line:
            outer = CodePlace(function=first[-1].function, file=outer.file, line=outer.line)
        else:
            outer = of_function(outer, before, own, begin or offset - 1)
        return tuple(
            CodePlace(COPIES.sub("", each.function), each.file, each.line)
            for each in (*inlined, outer)
        )

    @staticmethod
    def _stack(
        contexts: CallContexts,
        chain: int,
        named: Mapping[int, tuple[CodePlace, ...]],
        modules: Sequence[str],
    ) -> tuple[CodeStack, SampleKind]:
        """Return the functions of a chain without those of system libraries, and their kind."""
        frames = [int(at) for at in contexts.chain(chain)[::-1]]
        if not frames:
            return CodeStack(), SampleKind.UNKNOWN
        files = [
            modules[module] if (module := int(contexts.module[at])) >= 0 else "" for at in frames
        ]
        is_openmp = [
            bool(OPENMP.match(file) or (file and RUNTIME.match(named[at][-1].function)))
            for at, file in zip(frames, files, strict=True)
        ]
        # The runtime waits by functions of the C library, which are the innermost frames then.
        outer = next((at for at, file in enumerate(files) if not SYSTEM.match(file)), 0)
        own = [at for at, file in enumerate(files) if not is_openmp[at] and not SYSTEM.match(file)]
        lines = [at for at in own if any(each.line for each in named[frames[at]])]
        first = (lines or own or [len(frames)])[0]
        own = [at for at in own if at >= first]
        runtime = next(
            (at for at, here in enumerate(is_openmp) if here and at > first), len(frames)
        )
        places = [named[frames[at]] for at in own]
        region = sum(len(named[frames[at]]) for at in own if at < runtime)
        stack = CodeStack(
            places=tuple(place for each in places for place in each),
            region=region if runtime < len(frames) else 0,
        )
        if is_openmp[outer]:
            return stack, SampleKind.OPENMP
        return stack, SampleKind.WORK if stack.places else SampleKind.UNKNOWN


def base_name(function: str) -> str:
    """Return the name of a function of the C library without underscores and version."""
    return function.partition("@")[0].lstrip("_").removeprefix("GI_").lstrip("_")
