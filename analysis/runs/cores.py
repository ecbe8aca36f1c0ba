"""Whether every rank had a core when it could run.

The kernel counts how long the thread that calls MPI is ready to run and has none. It does not see
what a hypervisor or a neighbour on the same physical core takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.finding import NUMBERS, SPOILS, WORTH_SAYING, Finding, Topic
from hindmost.analysis.show.phrases import waited_words
from hindmost.harness.runfile.all_ranks import hosts_of_all
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, percent

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
