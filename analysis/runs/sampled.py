"""In which function the extra work of a rank lies, by samples of its threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.stretches import Stretch
from hindmost.analysis.show.facts import ExtraWork
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import SampleKind
from hindmost.models.ranks.attribution import (
    SURE,
    SURE_BY_TIMER,
    WHOLE,
    Attribution,
    Sampled,
    attribute,
)
from hindmost.models.ranks.culprit import Culprit, median_of_others

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
            end=run.variable("stack_end") + 1,
            place=np.append(len(places), run.variable("stack_place").astype(np.int64)),
            region=run.variable("stack_region").astype(np.int64),
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
        spent_s = self.time_in(contexts)
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


def extra_work(run: Run, samples: RunSamples, found: Culprit, stretch: Stretch) -> ExtraWork:
    """Return what samples tell of a culprit's extra work in a stretch."""
    rank = found.rank
    here = samples.in_stretch(rank, stretch.contexts)
    answer = attribute(here)
    place = samples.places[answer.place] if answer.place >= 0 else None
    extra_s = stretch.work_s - median_of_others(stretch.work_s)
    return ExtraWork(
        attribution=answer,
        place="" if place is None else str(place if not answer.is_alike else place.function),
        extra_s=float(extra_s[rank]),
        extra_cpu_s=here.own_s - here.others_s,
        own_cpu_s=here.own_s,
        core_wait_s=float(run.variable("core_wait")[rank]) if run.has("core_wait") else np.nan,
        same_core=is_same_core(samples, here, answer, rank, stretch),
        run_s=run.solve_time_s,
        by_processor=found.processor,
        has_team=bool(((samples.rank == rank) & (samples.region[samples.stack] > 0)).any()),
    )


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
