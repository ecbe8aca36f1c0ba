"""How the OpenMP threads of the ranks share the work, by samples of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.cores import observed_time
from hindmost.analysis.runs.finding import WORTH_SAYING, Topic
from hindmost.analysis.runs.sampled import RunSamples
from hindmost.analysis.show.facts import Fact, Stated, UnequalThreads
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import SampleKind
from hindmost.models.ranks.attribution import SURE, SURE_BY_TIMER
from hindmost.models.ranks.teams import TeamWork
from hindmost.text import capital, counted, percent, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherThreads:
    """What threads other than the one that calls MPI do, on the rank where they do most.

    Attributes
    ----------
    rank : int
    threads : int
        Of the process at the end, those of MPI too; 0 if unknown.
    cpu_s : float
        Processor time of the others.
    share : float
        That over the time in which they were observed; above 1 where several ran at once.
    window : str
        What that is the time of.
    sampled : bool
        Whether samples tell what they did.
    """

    rank: int
    threads: int
    cpu_s: float
    share: float
    window: str
    sampled: bool

    def __str__(self) -> str:
        alive = f"; {counted(self.threads, 'thread')} at its end, those of MPI too"
        unseen = "" if self.sampled else ". What they do is not seen: 'attach --sample'"
        return (
            f"threads of rank {self.rank} that are not the one that calls MPI use "
            f"{seconds(self.cpu_s)} of processor time, {percent(self.share, 0)} of the "
            f"{self.window}{alive if self.threads else ''}{unseen}"
        )


def other_threads(run: Run) -> OtherThreads | None:
    """Return what other threads of the ranks do; None where no rank knows it."""
    if not run.has("others_cpu") or not run.bodies:
        return None
    spent_s = run.variable("others_cpu")
    if not np.isfinite(spent_s).any():
        return None
    whole_s, window = observed_time(run)
    at = int(np.nanargmax(spent_s))
    return OtherThreads(
        rank=int(run.variable("rank")[at]),
        threads=int(run.variable("threads")[at]),
        cpu_s=float(spent_s[at]),
        share=float(spent_s[at] / whole_s[at]),
        window=window,
        sampled=run.has("sample_rank")
        and (run.header.spec.get("sampling") or {}).get("mechanism") != "none",
    )


def busy_threads(run: Run) -> Iterator[Fact]:
    """Yield how much other threads work, where that matters."""
    others = other_threads(run)
    if others is not None and others.share >= WORTH_SAYING:
        yield Stated(
            quantity="Other threads",
            subject=f"rank {others.rank}",
            text=f"{capital(str(others))}.",
            basis="processor times of the process and of the thread that calls MPI",
            topics=(Topic.TIMES,),
            files=(str(run.path),),
        )


def unequal_threads(run: Run) -> Iterator[Fact]:
    """Yield what the threads of a rank lose by unequal work, of the rank that loses most."""
    samples = RunSamples.of(run)
    if samples is None or not samples.period_s > 0.0:
        return
    names, region = regions_of(samples)
    sure = SURE_BY_TIMER if samples.by_timer else SURE
    of_work = samples.kind == SampleKind.WORK
    teams = [
        TeamWork.of(samples.thread[mine], region[mine], samples.count[mine])
        for mine in (of_work & (samples.rank == rank) for rank in range(run.columns))
    ]
    comparisons = sum(team.work.size for team in teams)
    slow = [
        (imbalance.lost * samples.period_s, rank, imbalance)
        for rank, team in enumerate(teams)
        if (imbalance := team.imbalance(sure, comparisons)) is not None
    ]
    if all(team.threads.size < 2 for team in teams):
        return
    lost_s, rank, worst = max(slow, default=(0.0, 0, None), key=lambda loss: loss[0])
    share = lost_s / max(run.solve_time_s, 1e-300)
    if worst is None or share < WORTH_SAYING:
        lost_s, share, worst = 0.0, 0.0, None
    where = "" if worst is None else names[worst.region]
    if worst is not None:
        thread = int(teams[rank].threads[worst.thread])
        line = line_in(samples, region, rank, thread, worst.region)
        where = str(line) if line.function == where else f"{line}, in a region of {where}"
    yield UnequalThreads(
        quantity="Unequal threads",
        subject="" if worst is None else f"rank {rank}",
        cost_s=lost_s,
        share=share,
        where=where,
        imbalance=worst,
        threads=max(team.threads.size for team in teams),
        efficiency=min(team.efficiency for team in teams),
        serial_share=max(team.serial_share for team in teams if team.threads.size > 1),
        basis=f"{int(samples.count[of_work].sum()):,} samples of the work of all threads",
        topics=(Topic.TIMES,),
        files=(str(run.path),),
    )


def regions_of(samples: RunSamples) -> tuple[list[str], NDArray[np.int64]]:
    """Return the functions that OpenMP regions are in, and of each sample which, or -1."""
    numbers: dict[tuple[str, str], int] = {}
    names: list[str] = []
    begin = np.append(0, samples.end)
    of_stack = np.full(samples.end.size, -1)
    for stack in np.flatnonzero(samples.region > 0):
        place = samples.places[samples.place[begin[stack] + samples.region[stack] - 1]]
        key = (place.function, place.file)
        if key not in numbers:
            names.append(place.function)
        of_stack[stack] = numbers.setdefault(key, len(numbers))
    return names, of_stack[samples.stack].astype(np.int64)


def line_in(
    samples: RunSamples, region: NDArray[np.int64], rank: int, thread: int, chosen: int
) -> CodePlace:
    """Return the place where a thread is most in a region."""
    mine = (samples.rank == rank) & (samples.thread == thread) & (region == chosen)
    mine &= samples.kind == SampleKind.WORK
    inner = samples.place[np.append(0, samples.end)[samples.stack[mine]]]
    counts = np.bincount(inner, samples.count[mine])
    return samples.places[int(counts.argmax())]
