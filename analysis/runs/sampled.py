"""In which function the extra work of a rank lies, by samples of its threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.stretches import Stretch, extra_stretch, extra_words, lies_words
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import CodePlace, SampleKind
from hindmost.models.ranks.attribution import (
    SURE,
    SURE_BY_TIMER,
    WHOLE,
    Attribution,
    Sampled,
    attribute,
)
from hindmost.models.ranks.culprit import Culprit, median_of_others
from hindmost.text import counted, percent, seconds

EXPLAINS = 0.5
"""Part of the extra time that extra processor time must be to explain it."""
WAITS, BLOCKED = 0.5, 0.1
"""Parts of the time without processor time that waiting for a core is, at least, and at most."""
LEAST_CPU = 0.01
"""Part of a rank's processor time from which on some more of it is told."""
NEARLY_ALL = 0.99
"""End of an interval above which the whole is meant."""
NOISE = 3.0
"""Standard deviations of samples beyond which their lack is processor time in the kernel."""
KERNEL = CodePlace("the kernel (page faults, system calls)")
ALIKE = 0.5
"""Part of the excess in the function that all else has at least where the core is slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSamples:
    """The samples of a run.

    Attributes
    ----------
    rank, thread, context, stack, count : int64 array, shape (sample,)
        See `hindmost.harness.runfile.samples`.
    kind : uint8 array, shape (sample,)
    end, place : int64 array, shape (stack,) and (frame,)
        As a `Sampled` has them.
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
    end: NDArray[np.int64]
    place: NDArray[np.int64]
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
            end=run.variable("stack_end") + 1,
            place=np.append(len(places), run.variable("stack_place").astype(np.int64)),
            places=(*places, KERNEL),
            context_s=run.variable("context_time"),
            period_s=float(run.variable("sample_period").max(initial=0.0)),
            by_timer=sampling.get("mechanism") == "timer",
        )

    def in_stretch(self, rank: int, contexts: Sequence[int]) -> Sampled:
        """Return the samples of the threads that call MPI in the stretch after some contexts."""
        stacks = self.end.size
        here = (self.thread == 0) & (self.kind != SampleKind.MPI)
        here &= np.isin(self.context, contexts)
        mine = self.rank == rank
        own, others = (
            np.bincount(self.stack[chosen], self.count[chosen], stacks).astype(np.int64)
            for chosen in (here & mine, here & ~mine)
        )
        spent_s = self.context_s[:, list(contexts)].sum(axis=1)
        known = bool((spent_s > 0.0).all())
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
            others_s=float(median_of_others(spent_s)[rank]) if known else np.nan,
            ranks=len(self.context_s) - 1,
            end=self.end,
            place=self.place,
            function=self.functions,
            sure=SURE_BY_TIMER if self.by_timer else SURE,
        )

    @property
    def functions(self) -> NDArray[np.int64]:
        """The function of each place: int64 array, shape (place,)."""
        numbers: dict[tuple[str, str], int] = {}
        return np.array(
            [numbers.setdefault((one.function, one.file), len(numbers)) for one in self.places],
            np.int64,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraWork:
    """What samples tell of the extra work of a culprit, in the stretch that has most of it.

    Attributes
    ----------
    attribution : Attribution
    place : CodePlace or None
        The function, and the line in it, that has the extra time; None if none has.
    extra_s, extra_cpu_s : float
        Time, and processor time, beyond the others' median in the stretch; the second is NaN where
        it is not known.
    own_cpu_s : float
        Processor time of the rank in the stretch.
    core_wait_s : float
        How long the rank could run and had no core; NaN where that is not known.
    same_core : bool
        Whether what else the rank does takes as long as on the others: its core is not slower.
    run_s : float
        Time of the run.
    stretch : Stretch
    part : float
        Share of the extra work that lies in the stretch.
    by_processor : bool
        Whether the extra work is processor time.
    """

    attribution: Attribution
    place: CodePlace | None
    extra_s: float
    extra_cpu_s: float
    own_cpu_s: float
    core_wait_s: float
    same_core: bool
    run_s: float
    stretch: Stretch
    part: float
    by_processor: bool

    JSON = (
        "function=place.function file=place.file line=place.line share=attribution.share "
        "interval=attribution.interval samples=attribution.samples needed=attribution.needed "
        "sure=attribution.sure text=words"
    )

    @property
    def is_busy(self) -> bool:
        """Whether processor time explains the extra time, as far as is known."""
        return self.by_processor or not self.extra_cpu_s < EXPLAINS * self.extra_s

    @property
    def decides(self) -> bool:
        """Whether it is more work of a function, and not a slower core."""
        found = self.attribution
        return self.is_busy and found.sure and not found.is_alike and self.same_core

    @property
    def idle_words(self) -> str:
        """Say what the rank does in time that is no processor time."""
        idle_s = self.extra_s - self.extra_cpu_s
        if self.core_wait_s >= WAITS * idle_s:
            return "waits for a core"
        if self.core_wait_s < BLOCKED * idle_s:
            return "is blocked in the system (a file, a lock, a pause)"
        return "waits for a core, or is blocked in the system"

    @property
    def words(self) -> str:
        """Say between which calls the extra work is, and in which function, or why not."""
        return f"{lies_words(self.stretch, self.part)}{self.time_words}"

    @property
    def time_words(self) -> str:
        """Say what part of the extra work is processor time, and in which function that is."""
        if self.by_processor:
            return self.function_words
        if self.extra_cpu_s < LEAST_CPU * self.own_cpu_s:
            return f" Its processor time is no longer there than the others': it {self.idle_words}."
        if not self.is_busy:
            part = percent(self.extra_cpu_s / self.extra_s, 0)
            return (
                f" Only {part} of that is processor time; else it {self.idle_words}."
                f"{self.function_words}"
            )
        return self.function_words

    @property
    def function_words(self) -> str:
        """Say in which function the extra processor time is."""
        found = self.attribution
        if self.place is None:
            return ""
        if not found.sure:
            more_s = self.run_s * (found.needed / max(found.samples, 1) - 1.0)
            more = f", {seconds(more_s)} more of the run" if more_s > 0.0 else ""
            return (
                " Not enough samples to name the function: it has "
                f"{counted(found.samples, 'sample')} there and needs about {found.needed:,}{more}."
            )
        if found.is_alike:
            return f" All functions in {self.place.function} take longer there."
        low, high = found.interval
        share = f"{percent(min(found.share, 1.0), 0)} ({100 * low:.0f} to {100 * high:.0f})"
        share = "Nearly all" if low > NEARLY_ALL else share
        named = f" {share} of its extra processor time there is spent in {self.place}."
        if not self.same_core:
            return named
        return (
            f"{named} What else the rank does takes no longer than on the others, so its core is "
            "not slower."
        )


def extra_work(run: Run, found: Culprit, stretches: Sequence[Stretch]) -> ExtraWork | None:
    """Return what samples tell of a culprit's extra work; None if there are none.

    Parameters
    ----------
    stretches : sequence of Stretch
        Of the run.
    """
    samples, rank = RunSamples.of(run), found.rank
    if samples is None:
        return None
    work = [each.quickest.typical_s if found.quickest else each.work_s for each in stretches]
    if found.processor:
        work = [samples.context_s[:, list(each.contexts)].sum(axis=1) for each in stretches]
    where = extra_stretch(np.array(work), rank)
    if where is None:
        return None
    stretch = stretches[where[0]]
    here = samples.in_stretch(rank, stretch.contexts)
    answer = attribute(here)
    place = samples.places[answer.place] if answer.place >= 0 else None
    extra_s = stretch.work_s - median_of_others(stretch.work_s)
    return ExtraWork(
        attribution=answer,
        place=place,
        extra_s=float(extra_s[rank]),
        extra_cpu_s=here.own_s - here.others_s,
        own_cpu_s=here.own_s,
        core_wait_s=float(run.variable("core_wait")[rank]) if run.has("core_wait") else np.nan,
        same_core=is_same_core(samples, here, answer, rank, stretch),
        run_s=run.solve_time_s,
        stretch=stretch,
        part=where[1],
        by_processor=found.processor,
    )


def where_words(found: Culprit, stretches: Sequence[Stretch], extra: ExtraWork | None) -> str:
    """Say where in the code the extra work of a culprit lies; empty if that is not known."""
    if extra is not None:
        return extra.words
    return extra_words(stretches, found.rank, quickest=found.quickest)


def is_same_core(
    samples: RunSamples, here: Sampled, found: Attribution, rank: int, stretch: Stretch
) -> bool:
    """Tell whether a rank is as quick as the others in what is not in the function.

    A slower core would take longer for all functions, in all stretches.
    """
    if not np.isfinite(here.own_s + here.others_s) or found.function < 0:
        return False
    inside = np.isin(np.arange(samples.context_s.shape[1]), stretch.contexts)
    rest_s = samples.context_s[:, ~inside].sum(axis=1)
    others_s = float(median_of_others(rest_s)[rank])
    within_s = here.others_s * (1.0 - found.usual)
    extra_s = here.own_s - here.others_s
    rest_extra_s = float(rest_s[rank]) - others_s + extra_s * (1.0 - min(found.share, 1.0))
    in_function_s = here.others_s * found.usual
    if others_s + within_s < (1.0 - WHOLE) * here.others_s:
        return False
    excess = extra_s * found.share / max(in_function_s, 1e-300)
    return rest_extra_s / (others_s + within_s) < ALIKE * excess
