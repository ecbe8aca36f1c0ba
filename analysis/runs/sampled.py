"""In which function the extra work of a rank lies, by samples of its threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.stretches import Stretch
from hindmost.analysis.show.facts import ExtraWork, InFunction
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import LOOK_S, IterationPart, SampleKind
from hindmost.models.ranks.attribution import (
    SURE,
    SURE_BY_TIMER,
    Sampled,
    attribute,
)
from hindmost.models.ranks.culprit import Culprit, median_of_others

NOISE = 3.0
"""Standard deviations of samples beyond which their lack is processor time in the kernel."""
KERNEL = CodePlace("the kernel (page faults, system calls)")
MOST = 0.5
"""Part of some time that is most of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSamples:
    """The samples of a run.

    Attributes
    ----------
    rank, thread, context, stack, count : int64 array, shape (sample,)
        See `hindmost.harness.runfile.samples`.
    kind, part : uint8 array, shape (sample,)
    end, place : int64 array, shape (stack,) and (frame,)
        As a `Sampled` has them.
    region : int64 array, shape (stack,)
        See `CodeStack`.
    places : tuple of CodePlace
    context_s : float64 array, shape (rank, context), seconds
        Processor time from calls of a context to the next ones.
    period_s : float
        Processor time from one sample to the next, on average.
    by_timer : bool
        Whether timers of the kernel's tick took them.
    """

    rank: NDArray[np.int64]
    thread: NDArray[np.int64]
    context: NDArray[np.int64]
    stack: NDArray[np.int64]
    count: NDArray[np.int64]
    kind: NDArray[np.uint8]
    part: NDArray[np.uint8]
    end: NDArray[np.int64]
    place: NDArray[np.int64]
    region: NDArray[np.int64]
    places: tuple[CodePlace, ...]
    context_s: NDArray[np.float64]
    period_s: float
    by_timer: bool = False

    @classmethod
    def of(cls, run: Run) -> RunSamples | None:
        """Read those of a run; None if it has none."""
        if not run.has("sample_rank"):
            return None
        numbers = {
            name: run.variable(f"sample_{name}").astype(np.int64)
            for name in ("rank", "thread", "context", "stack", "count")
        }
        lines = run.variable("place_line").tolist()
        texts = (run.texts("place_function"), run.texts("place_file"))
        sampling = run.header.spec.get("sampling") or {}
        # Stack 0, which has no place in the file, is that of the kernel here.
        places = [CodePlace(*each) for each in zip(*texts, lines, strict=True)]
        return cls(
            **numbers,
            kind=run.variable("sample_kind"),
            part=run.variable("sample_part")
            if run.has("sample_part")
            else np.zeros(numbers["rank"].size, np.uint8),
            end=run.variable("stack_end") + 1,
            place=np.append(len(places), run.variable("stack_place").astype(np.int64)),
            region=run.variable("stack_region").astype(np.int64),
            places=(*places, KERNEL),
            context_s=run.variable("context_time"),
            period_s=float(run.variable("sample_period").max(initial=0.0)),
            by_timer=sampling.get("mechanism") == "timer",
        )

    def in_stretch(
        self, rank: int, contexts: Sequence[int], loop: Sequence[int] = (), function: str = ""
    ) -> Sampled:
        """Return the samples of the threads that call MPI in the stretch after some contexts.

        Parameters
        ----------
        loop : sequence of int
            The contexts of all stretches.
        function : str
            Only those in it and in what it calls, whose processor time only the samples tell.
        """
        stacks = self.end.size
        here = (self.thread == 0) & ~np.isin(self.kind, (SampleKind.MPI, SampleKind.BLOCKED))
        here &= np.isin(self.context, contexts)
        if function:
            named = np.array([place.function == function for place in self.places])
            of_frame = np.repeat(np.arange(stacks), np.diff(self.end, prepend=0))
            here &= np.bincount(of_frame[named[self.place]], minlength=stacks)[self.stack] > 0
        mine = self.rank == rank
        own, others = (
            np.bincount(self.stack[chosen], self.count[chosen], stacks).astype(np.int64)
            for chosen in (here & mine, here & ~mine)
        )
        spent_s = self.time_in(contexts)
        rest_s = self.time_in([context for context in loop if context not in contexts])
        others_s, others_rest_s = (median_of_others(time_s)[rank] for time_s in (spent_s, rest_s))
        known = bool((spent_s > 0.0).all()) and not function
        if known and not self.by_timer:  # no samples are taken in the kernel
            taken = np.bincount(self.rank[here], self.count[here], spent_s.size)
            beyond = np.rint(spent_s / self.period_s - taken).astype(np.int64)
            if (beyond > NOISE * np.sqrt(taken + 1.0)).any():
                beyond = np.maximum(beyond, 0)
                own[0] += beyond[rank]
                others[0] += beyond.sum() - beyond[rank]
        return Sampled(
            own=own,
            others=others,
            own_s=float(spent_s[rank]) if known else np.nan,
            others_s=float(others_s) if known else np.nan,
            ranks=max(len(self.context_s) - 1, 1),
            end=self.end,
            place=self.place,
            function=self.functions,
            rest_s=float(rest_s[rank]) if known else np.nan,
            others_rest_s=float(others_rest_s) if known else np.nan,
            sure=SURE_BY_TIMER if self.by_timer else SURE,
        )

    def compared(
        self,
        ranks: Sequence[int],
        contexts: Sequence[int],
        parts: tuple[Sequence[IterationPart], Sequence[IterationPart]],
        iterations: float = 1.0,
        *,
        blocked: bool = False,
    ) -> Sampled:
        """Return the samples of ranks in some iterations, and in others, after some contexts.

        Parameters
        ----------
        parts : two sequences of IterationPart
        iterations : float
            How many of the others there are for each of the first.
        blocked : bool
            Looks at which the thread was blocked, in place of samples of its work.
        """
        kinds = (SampleKind.BLOCKED,) if blocked else (SampleKind.WORK, SampleKind.OPENMP)
        here = (self.thread == 0) & np.isin(self.kind, kinds)
        here &= np.isin(self.rank, ranks) & np.isin(self.context, contexts)
        own, others = (
            np.bincount(self.stack[chosen], self.count[chosen], self.end.size).astype(np.int64)
            for chosen in (here & np.isin(self.part, part) for part in parts)
        )
        return Sampled(
            own=own,
            others=others,
            own_s=np.nan,
            others_s=np.nan,
            ranks=iterations,
            end=self.end,
            place=self.place,
            function=self.functions,
            sure=SURE_BY_TIMER if self.by_timer else SURE,
        )

    def blocked_in(self, rank: int, contexts: Sequence[int], idle_s: float) -> str:
        """Return where a rank is blocked for most of some time in a stretch; empty if unknown."""
        here = (self.thread == 0) & (self.kind == SampleKind.BLOCKED)
        here &= np.isin(self.context, contexts)
        inner = self.place[np.append(0, self.end)[self.stack]]
        own, others = (
            np.bincount(inner[chosen], self.count[chosen], len(self.places))
            for chosen in (here & (self.rank == rank), here & (self.rank != rank))
        )
        ranks = max(len(self.context_s) - 1, 1)
        more = own - others / ranks
        most = int(more.argmax())
        is_clear = more[most] > SURE * np.sqrt(own[most] + others[most] / ranks**2 + 1.0)
        is_most = more[most] * LOOK_S >= MOST * idle_s
        known = is_clear and is_most and self.places[most] is not KERNEL
        return str(self.places[most]) if known else ""

    def time_in(self, contexts: Sequence[int]) -> NDArray[np.float64]:
        """Return the processor time after some contexts: float64, shape (rank,), seconds."""
        return np.asarray(self.context_s[:, list(contexts)].sum(axis=1))

    @property
    def functions(self) -> NDArray[np.int64]:
        """The function of each place: int64 array, shape (place,)."""
        numbers: dict[tuple[str, str], int] = {}
        return np.array(
            [numbers.setdefault((one.function, one.file), len(numbers)) for one in self.places],
            np.int64,
        )


def extra_work(
    run: Run,
    samples: RunSamples,
    culprit: Culprit,
    stretch: Stretch,
    stretches: Sequence[Stretch],
    function: str = "",
) -> ExtraWork:
    """Return what samples tell of a culprit's extra work in a stretch, or in a function.

    Parameters
    ----------
    stretch : Stretch
        One of `stretches`.
    function : str
        In it and in what it calls, of all stretches; by default in the stretch.
    """
    rank, loop = culprit.rank, contexts_in(stretches)
    contexts = range(samples.context_s.shape[1]) if function else stretch.contexts
    here = samples.in_stretch(rank, contexts, loop, function)
    answer = attribute(here)
    place = samples.places[answer.place] if answer.place >= 0 else None
    extra_s = float((stretch.work_s - median_of_others(stretch.work_s))[rank])
    idle_s = extra_s - (here.own_s - here.others_s)
    return ExtraWork(
        attribution=answer,
        place="" if place is None else str(place if not answer.is_alike else place.function),
        extra_s=extra_s,
        extra_cpu_s=here.own_s - here.others_s,
        own_cpu_s=here.own_s,
        core_wait_s=float(run.variable("core_wait")[rank]) if run.has("core_wait") else np.nan,
        blocked=samples.blocked_in(rank, stretch.contexts, idle_s) if idle_s > 0.0 else "",
        run_s=run.solve_time_s,
        by_processor=culprit.processor,
        disturbed=culprit.undisturbed,
        has_team=bool(((samples.rank == rank) & (samples.region[samples.stack] > 0)).any()),
    )


def contexts_in(stretches: Sequence[Stretch]) -> list[int]:
    """Return the contexts of all stretches."""
    return sorted({context for stretch in stretches for context in stretch.contexts})


def stretch_of_extra(
    samples: RunSamples | None, stretches: Sequence[Stretch], culprit: Culprit
) -> tuple[Stretch | None, float]:
    """Return the stretch with most of a culprit's extra work, and its share of that.

    None and 0 if that is not known. The work is what makes it the culprit: processor time, that of
    the quickest iterations, or that of all.
    """
    if not stretches or stretches[0].work_s.size < 2:
        return None, 0.0
    work_s = [each.quickest.typical_s if culprit.quickest else each.work_s for each in stretches]
    if culprit.processor and samples is not None:
        work_s = processor_times(samples, stretches)
    extra_s = (np.array(work_s) - median_of_others(np.array(work_s)))[:, culprit.rank]
    at, whole_s = int(extra_s.argmax()), float(extra_s.sum())
    if not extra_s[at] > 0.0 < whole_s:
        return None, 0.0
    return stretches[at], min(float(extra_s[at]) / whole_s, 1.0)


def processor_times(samples: RunSamples, stretches: Sequence[Stretch]) -> list[NDArray[np.float64]]:
    """Return the processor time in each stretch: float64 arrays, shape (rank,), seconds.

    That after a call that begins several stretches is divided as their work is.
    """
    work_s = np.zeros(samples.context_s.shape)
    for stretch in stretches:
        work_s[:, stretch.contexts] += stretch.work_s[:, None]
    a_second = samples.context_s / np.maximum(work_s, 1e-300)
    return [stretch.work_s * a_second[:, stretch.contexts].sum(axis=1) for stretch in stretches]


def has_more_in_a_function(run: Run, culprit: Culprit, stretches: Sequence[Stretch]) -> bool:
    """Tell whether samples name the function that has a culprit's extra processor time.

    That is more work of the program, however little: a slower core is so in all functions.
    """
    samples = RunSamples.of(run)
    if samples is None:
        return False
    most, _ = stretch_of_extra(samples, stretches, culprit)
    return most is not None and extra_work(run, samples, culprit, most, stretches).decides


def function_of_growth(
    run: Run, ranks: Sequence[int], contexts: Sequence[int], added_s: float
) -> InFunction | None:
    """Return the function that has what the last third of the iterations has more than the first.

    None if that is not known. See `function_of_slow`.
    """
    parts = ([IterationPart.LAST], [IterationPart.FIRST])
    return in_function(run, ranks, contexts, parts, 1.0, added_s)


def function_of_slow(
    run: Run, ranks: Sequence[int], contexts: Sequence[int], more_s: float
) -> InFunction | None:
    """Return the function that has what slow iterations take longer; None if that is not known.

    Parameters
    ----------
    ranks : sequence of int
        Which have slow iterations.
    contexts : sequence of int
        Of a stretch, or of all.
    more_s : float
        How much longer they take on one of these ranks, in all.
    """
    if not run.has("slow_iterations"):
        return None
    slow = float(run.variable("slow_iterations")[list(ranks)].sum())
    if not slow:
        return None
    usual = (IterationPart.FIRST, IterationPart.MIDDLE, IterationPart.LAST)
    times = run.bodies * len(ranks) / slow - 1.0
    return in_function(run, ranks, contexts, ([IterationPart.SLOW], usual), times, more_s)


def in_function(
    run: Run,
    ranks: Sequence[int],
    contexts: Sequence[int],
    parts: tuple[Sequence[IterationPart], Sequence[IterationPart]],
    iterations: float,
    more_s: float,
) -> InFunction | None:
    """Return the function that has what some iterations take longer; see `RunSamples.compared`."""
    samples = RunSamples.of(run)
    if samples is None:
        return None
    for blocked, sample_s in ((False, samples.period_s), (True, LOOK_S)):
        compared = samples.compared(ranks, contexts, parts, iterations, blocked=blocked)
        extra = float(compared.own.sum() - compared.others.sum() / iterations)
        if sample_s * extra < MOST * more_s * len(ranks):
            continue
        answer = attribute(compared)
        if answer.sure and not answer.is_alike:
            place = str(samples.places[answer.place])
            return InFunction(attribution=answer, place=place, blocked=blocked)
    return None
