"""Samples of where the threads of an attached program spend processor time.

A sample is of a thread of a rank, in the stretch that follows a call of MPI, with the functions
that ran then. A run file counts those that are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.contexts import CodePlace


class SampleKind(IntEnum):
    """What a thread did when a sample was taken."""

    WORK = 0
    OPENMP = 1
    """It waited for other threads, or for work, in the OpenMP runtime."""
    MPI = 2
    UNKNOWN = 3
    """No function is known."""
    BLOCKED = 4
    """It was blocked in the system, outside of MPI: each is `LOOK_S`, and no processor time."""


class IterationPart(IntEnum):
    """In which iterations of its rank a sample was taken: of a third of the run, or slow ones."""

    FIRST = 0
    MIDDLE = 1
    LAST = 2
    SLOW = 3
    """Those whose own work stands out: fewer than one in twenty."""


LOOK_S = 0.02
"""Time between two looks whether the thread that calls MPI is blocked, on average."""


class CodeStack(NamedTuple):
    """The functions of a sample, the innermost first, without those of system libraries.

    Attributes
    ----------
    places : tuple of CodePlace
    region : int
        Of how many of them, the innermost ones, an OpenMP region is made; 0 outside of any.
    """

    places: tuple[CodePlace, ...] = ()
    region: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSamples:
    """The samples of one rank, those that are equal counted.

    Attributes
    ----------
    period_s : float
        Processor time from one sample of a thread to the next, on average; 0 if none were taken.
    thread, context, stack, count : int64 array, shape (sample,)
        Number of the thread; of the call context after which the sample was taken; of its stack;
        and how many there are.
    kind, part : uint8 array, shape (sample,)
        See `SampleKind` and `IterationPart`.
    slow : int
        Iterations that are slow.
    stacks : tuple of CodeStack
    threads : int64 array, shape (thread,)
        Numbers of the threads that were seen, the recorded one first.
    thread_s : float64 array, shape (thread,), seconds
        Their processor time.
    context_s : float64 array, shape (context,), seconds
        Processor time from calls of each context of the run to the next ones.
    lost : int
        Samples for which there was no room.
    unsampled : int
        Threads that block SIGPROF, or of which the system allows no samples.
    mechanism : str
        ``event``: of perf; ``timer``: of the kernel's tick; ``none``.
    why_none : str
        Why there are none, or no more from some time on; empty if there are.
    cost_s : float
        Processor time that one takes; 0 if it was not measured.
    """

    period_s: float
    thread: NDArray[np.int64]
    context: NDArray[np.int64]
    stack: NDArray[np.int64]
    count: NDArray[np.int64]
    kind: NDArray[np.uint8]
    part: NDArray[np.uint8]
    slow: int = 0
    stacks: tuple[CodeStack, ...]
    threads: NDArray[np.int64]
    thread_s: NDArray[np.float64]
    context_s: NDArray[np.float64]
    lost: int = 0
    unsampled: int = 0
    mechanism: str = "event"
    why_none: str = ""
    cost_s: float = 0.0


def sampling_of(ranks: Sequence[RankSamples]) -> dict[str, Any]:
    """Return how the samples of all ranks were taken; see `attributes.Sampling`."""
    kinds = [rank.mechanism for rank in ranks]
    return {
        "mechanism": next((kind for kind in ("none", "timer") if kind in kinds), "event"),
        "why_none": next(filter(None, (rank.why_none for rank in ranks)), ""),
        "per_second": 1.0 / period_s if (period_s := max(rank.period_s for rank in ranks)) else 0.0,
        "cost": max(rank.cost_s / rank.period_s if rank.period_s else 0.0 for rank in ranks),
        "lost": sum(rank.lost for rank in ranks),
        "unsampled": sum(rank.unsampled for rank in ranks),
    }


def variables_of(ranks: Iterable[RankSamples]) -> dict[str, Any]:
    """Return what a run file has of the samples of all ranks, by the names that it has there."""
    stacks: dict[CodeStack, int] = {CodeStack(): 0}
    rows, numbers, threads, periods, spent, slow = [], [], [], [], [], []
    for rank, own in enumerate(ranks):
        of_stack = np.array(
            [stacks.setdefault(stack, len(stacks)) for stack in own.stacks], np.int64
        )
        here = np.stack([own.thread, own.context, of_stack[own.stack], own.kind, own.part])
        kinds, which = np.unique(here, axis=1, return_inverse=True)
        counts = np.bincount(which.ravel(), own.count, kinds.shape[1]).astype(np.int64)
        rows.append(np.vstack([np.full(counts.size, rank), kinds, counts]))
        numbers.append(np.stack([np.full(own.threads.size, rank), own.threads]))
        threads.append(own.thread_s)
        periods.append(own.period_s)
        slow.append(own.slow)
        spent.append(own.context_s)
    rank, thread, context, stack, kind, part, count = np.concatenate(rows, axis=1)
    thread_rank, number = np.concatenate(numbers, axis=1)
    places: dict[CodePlace, int] = {}
    of_place = [places.setdefault(place, len(places)) for stack in stacks for place in stack.places]
    return {
        "sample_rank": rank.astype(np.int32),
        "sample_thread": thread.astype(np.int32),
        "sample_context": context.astype(np.uint32),
        "sample_stack": stack.astype(np.uint32),
        "sample_kind": kind.astype(np.uint8),
        "sample_part": part.astype(np.uint8),
        "sample_count": count,
        "slow_iterations": np.array(slow, np.int32),
        "sample_period": np.array(periods, np.float64),
        "context_time": np.stack(spent),
        "thread_rank": thread_rank.astype(np.int32),
        "thread_number": number.astype(np.int32),
        "thread_time": np.concatenate(threads),
        "stack_end": np.cumsum([len(stack.places) for stack in stacks], dtype=np.int64),
        "stack_region": np.array([stack.region for stack in stacks], np.int32),
        "stack_place": np.array(of_place, np.uint32),
        "place_line": np.array([place.line for place in places], np.int32),
        "place_function": [place.function for place in places],
        "place_file": [place.file for place in places],
    }
