"""Whether every rank had a core when it could run.

The kernel counts how long the thread that calls MPI is ready to run and has none. It does not see
what a hypervisor or a neighbour on the same physical core takes.

How the OpenMP threads of the ranks share the work, by samples of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.finding import NUMBERS, SPOILS, WORTH_SAYING, Finding, Topic
from hindmost.analysis.runs.sampled import RunSamples
from hindmost.analysis.show.facts import Fact, Stated, UnequalThreads
from hindmost.analysis.show.phrases import waited_words
from hindmost.harness.runfile.all_ranks import hosts_of_all
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import SampleKind
from hindmost.models.ranks.attribution import SURE, SURE_BY_TIMER
from hindmost.models.ranks.teams import TeamWork
from hindmost.text import capital, counted, percent, seconds

CROWDED = "crowded"
"""Code of more ranks than cores: then all times in MPI are those of the scheduler."""
TAKEN = "cores-taken"
"""Code of the finding that ranks waited for cores."""
BUSY = (Topic.TIMES, Topic.MODELS, Topic.COMPARISON)
REMEDY = "wait until the machine is idle, or ask for exclusive nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreWait:
    """How long ranks were ready to run in a solve and had no core.

    Attributes
    ----------
    share : float
        Of the time of all ranks together.
    most : float
        Of the time of the rank with most of it.
    most_s : float
        That in seconds.
    rank : int
        The rank with most of it.
    host : str
        Where that is, in a run on several hosts.
    window : str
        The time that these are shares of.
    """

    share: float
    most: float
    most_s: float
    rank: int
    host: str = ""
    window: str = "time"

    @property
    def matters(self) -> bool:
        """Whether the times of some rank are not only those of the program."""
        return self.most >= WORTH_SAYING

    @property
    def worst(self) -> str:
        """The rank with most of it, where others have much less; else empty."""
        if self.most - self.share < WORTH_SAYING:
            return ""
        return f"rank {self.rank}{f' on {self.host}' if self.host else ''}"

    def __str__(self) -> str:
        if not self.matters:
            return f"every rank had a core for over {percent(1.0 - WORTH_SAYING, 0)} of the time"
        return waited_words(self.share, self.most, self.worst, self.window)


def core_wait(run: Run) -> CoreWait | None:
    """Return how long the ranks of a run waited for cores; None where that is not known."""
    if not run.has("core_wait"):
        return None
    waited_s = run.variable("core_wait")
    if not np.isfinite(waited_s).all():
        return None
    whole_s, window = observed_time(run)
    waited_s = np.minimum(waited_s, whole_s)  # the kernel is asked just before and after
    each = waited_s / whole_s
    worst = int(each.argmax())
    return CoreWait(
        share=float(waited_s.sum() / whole_s.sum()),
        most=float(each[worst]),
        most_s=float(waited_s[worst]),
        rank=int(run.variable("rank")[worst]),
        host=run.hosts[worst] if len(set(run.hosts)) > 1 else "",
        window=window,
    )


def share_with_core(run: Run) -> float:
    """Return the share of the ranks' time in which they had a core, as far as that is known."""
    waited = core_wait(run)
    return 1.0 - waited.share if waited is not None and waited.matters else 1.0


def observed_time(run: Run) -> tuple[NDArray[np.float64], str]:
    """Return the time of which the kernel's counts are, shape (rank,), seconds, and its name."""
    attached = run.header.spec.get("attached") or {}
    if attached.get("loop") and attached["seconds"] > run.solve_time_s:
        # They are of the whole program, of which the loop is a part.
        return np.full(run.solve_time.shape, attached["seconds"]), "program's time"
    return run.solve_time, "time"


def number_of(run: Run, name: str) -> float | None:
    """Return a number that a file says of its machine; None where it says none."""
    machine = run.header.environment.get("machine")
    value = machine.get(name) if isinstance(machine, dict) else None
    return None if value is None else float(value)


def about_threads(run: Run) -> str:
    """Say what to do about the threads of the ranks; empty if none were asked for."""
    given = run.header.environment.get("variables")
    threads = str(given.get("OMP_NUM_THREADS", "")) if isinstance(given, dict) else ""
    if not threads.isdecimal():
        return (
            "; start no threads that the program does not need (OMP_NUM_THREADS=1 "
            "OPENBLAS_NUM_THREADS=1)"
        )
    if int(threads) <= 1:
        return ""
    return f"; give each rank a core for each of its {threads} threads (OMP_NUM_THREADS)"


def shared_cores(run: Run) -> str:
    """Say where more ranks than cores ran; empty if nowhere, or if all had one as is known."""
    waited = core_wait(run)
    if waited is not None and not waited.matters:
        return ""
    return crowds(run, number_of(run, "cores"))


def check_cores(run: Run) -> Iterator[Finding]:
    """Find ranks that had no core when they could run, or may have had none."""
    load, cores = number_of(run, "load_before"), number_of(run, "cores")
    waited, crowded = core_wait(run), shared_cores(run)
    if waited is not None and not waited.matters:
        return
    if crowded:
        yield Finding(
            code="crowded",
            severity="error",
            text=crowded if waited is None else f"{crowded}: {waited}",
            advice="waiting times measure the operating system's scheduler: "
            + (
                f"repeat with at most {counted(int(cores), 'rank')} on a node"
                if cores
                else "use at most one rank per core"
            ),
            doubts=NUMBERS,
        )
    elif waited is not None:
        yield Finding(
            code="cores-taken",
            severity="error" if waited.most > SPOILS else "note",
            text=str(waited),
            advice=f"other processes ran there, or threads of the ranks: {REMEDY}"
            + about_threads(run),
            doubts=BUSY,
        )
    elif load is not None and cores and load > 0.3 * cores:
        yield Finding(
            code="load",
            severity="note",
            text=f"load {load:.1f} on {cores:g} cores before the run",
            advice=REMEDY,
            doubts=BUSY,
        )


def crowds(run: Run, cores: float | None) -> str:
    """Return where more ranks than cores ran; empty if nowhere."""
    hosts, sets = run.hosts, run.texts("cpuset")
    if not hosts:
        return ""
    if cores:
        crowd = max(Counter(hosts_of_all(run) or hosts).values())
        if crowd > cores:
            return f"{crowd} ranks shared {cores:g} cores"
    if len(sets) == len(hosts):
        for (_, cpuset), count in Counter(zip(hosts, sets, strict=True)).items():
            allowed = cores_in(cpuset)
            if 0 < allowed < count:
                word = f"core {cpuset}" if allowed == 1 else f"the {allowed} cores {cpuset}"
                return f"{count} ranks were bound to {word}"
    return ""


def cores_in(cpuset: str) -> int:
    """Return how many cores a text like ``0-3,8`` lists; 0 if it is none."""
    total = 0
    for part in cpuset.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            return 0
        total += int(last or first) - int(first) + 1
    return total


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
