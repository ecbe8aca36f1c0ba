"""Checks of the machine of a run: busy, too small for the ranks, or with uncertain clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from hindmost.analysis.runs.finding import NUMBERS, Remark, Topic
from hindmost.harness.runfile.all_ranks import hosts_of_all
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, seconds

QUIET_LOAD = 0.3
SWITCHES_A_SECOND = 250.0
LEAST_SWITCHES = 20
"""Fewer say nothing about a rate."""
CLOCK_SHARE = 0.1
BUSY = (Topic.TIMES, Topic.MODELS, Topic.COMPARISON)


def number_of(run: Run, name: str) -> float | None:
    """Return a number that a file says of its machine; None where it says none."""
    machine = run.header.environment.get("machine")
    value = machine.get(name) if isinstance(machine, dict) else None
    return None if value is None else float(value)


def look_at_machine(run: Run) -> Iterator[Remark]:
    """Find a machine that was busy before the run, or too small for it."""
    load, cores = number_of(run, "load_before"), number_of(run, "cores")
    if load is not None and cores and load > QUIET_LOAD * cores:
        yield Remark(
            code="load",
            severity="note",
            text=f"load {load:.1f} on {cores:g} cores before the run",
            advice="wait until the machine is idle, or ask for exclusive nodes",
            doubts=BUSY,
        )
    crowded = crowds(run, cores)
    if crowded:
        yield Remark(
            code="crowded",
            severity="error",
            text=crowded,
            advice="waiting times measure the operating system's scheduler: "
            + (
                f"repeat with at most {counted(int(cores), 'rank')} on a node"
                if cores
                else "use at most one rank per core"
            ),
            doubts=NUMBERS,
        )
    switches = run.variable("context_switches")
    rate = float((switches / run.solve_time).max(initial=0.0))
    if rate > SWITCHES_A_SECOND and switches.max() > LEAST_SWITCHES:
        yield Remark(
            code="context-switches",
            severity="note",
            text=f"a rank was preempted {rate:.0f} times per second",
            advice="ranks share cores, so they preempt each other: use at most one rank per core"
            if crowded
            else "another process, or one of its own threads, used its core: bind ranks to "
            "cores, and leave cores free for threads",
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


def look_at_load(run: Run) -> Iterator[Remark]:
    """Find a load after the run that its ranks and their threads do not explain.

    Ranks without full records count, too; without their hosts there is no finding.
    """
    cores, ranks_on = number_of(run, "cores"), Counter(hosts_of_all(run))
    if not run.has("load_after") or not cores or not ranks_on:
        return
    own = np.array([ranks_on[host] for host in run.hosts]) * threads_of(run)
    excess = float((run.variable("load_after") - own).max(initial=0.0))
    if excess > QUIET_LOAD * cores:
        yield Remark(
            code="neighbours",
            severity="note",
            text=f"the load after the run exceeds that of its ranks by {excess:.1f}",
            advice="something else ran in the last minute, or ranks started threads: repeat on an "
            "idle machine",
            doubts=BUSY,
        )


def threads_of(run: Run) -> int:
    """Return the threads of each rank; 1 where OMP_NUM_THREADS is not set."""
    variables = run.header.environment.get("variables")
    given = variables.get("OMP_NUM_THREADS") if isinstance(variables, dict) else None
    return int(given) if isinstance(given, str) and given.isdecimal() and int(given) else 1


def look_at_clock(run: Run, typical_s: float) -> Iterator[Remark]:
    """Find clocks whose common time is too uncertain for the bodies.

    Parameters
    ----------
    typical_s : float
        The median body.
    """
    uncertainty = float(run.variable("clock_uncertainty").max(initial=0.0))
    if uncertainty > CLOCK_SHARE * typical_s:
        yield Remark(
            code="clock",
            severity="note",
            text=f"clocks agree only to {seconds(uncertainty)}, a body lasts {seconds(typical_s)}",
            advice="durations are valid; do not compare start times of different ranks",
            doubts=(Topic.ORDER,),
        )
