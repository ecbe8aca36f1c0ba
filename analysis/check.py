"""Are these runs good enough to draw a conclusion from? Findings, each with advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.limits import DECIDES
from hindmost.analysis.adaptive.run import is_adaptive, read_adaptive
from hindmost.analysis.runs import Group
from hindmost.analysis.summary import BALANCED_S
from hindmost.analysis.tables.terminal import seconds
from hindmost.harness.runfile.reader import Run
from hindmost.models.dynamic.verdict import Kind

LEAST_BODIES = 100
QUIET_LOAD = 0.3
SWITCHES_A_SECOND = 250.0
LEAST_SWITCHES = 20
"""Below this a short run says nothing of a rate."""
UNATTRIBUTED_SHARE = 0.01
CLOCK_SHARE = 0.1
DRIFT = 0.05
OUTLIER_FACTOR = 3.0
OUTLIER_SHARE = 0.02
SLOW_FACTOR = 1.25
SLOW_BLOCK = 30
SLOW_BLOCKS = 3
REPEAT_SPREAD = 0.10
LEAST_CYCLES = 20
OUTLIER_CYCLE = 1.25
OUTLIER_CYCLES = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about a run that a person should know before drawing a conclusion.

    Attributes
    ----------
    file : str
    code : str
        Short and stable, for programs.
    severity : str
        ``note``: conclusions hold, with care. ``error``: none should be drawn.
    text, advice : str
    """

    file: str
    code: str
    severity: Literal["note", "error"]
    text: str
    advice: str

    def to_json(self) -> dict[str, str]:
        """Return the finding for ``hindmost check --json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding before it is known of which file."""

    code: str
    severity: Literal["note", "error"]
    text: str
    advice: str


def check_group(group: Group) -> list[Finding]:
    """Look at every run of a group, and at how well its repeats agree."""
    findings = []
    for run in group.runs:
        run.verify()
        for look in ADAPTIVE_LOOKS if is_adaptive(run) else LOOKS:
            findings += [
                Finding(
                    file=str(run.path),
                    code=remark.code,
                    severity=remark.severity,
                    text=remark.text,
                    advice=remark.advice,
                )
                for remark in look(run)
            ]
    times = [run.solve_time_s for run in group.runs]
    spread = max(times) / min(times) - 1.0
    # A run that stopped early, or beside a neighbour, is no repeat of another.
    if spread > REPEAT_SPREAD and len({asked_for(run) for run in group.runs}) == 1:
        findings.append(
            Finding(
                file=str(group.runs[int(np.argmax(times))].path),
                code="repeats-differ",
                severity="error",
                text=f"solve times of {len(times)} repeats differ by {100 * spread:.0f} %",
                advice="no model predicts better than repeats agree: repeat on a quieter machine",
            )
        )
    return findings


def look_at_completeness(run: Run) -> Iterator[Remark]:
    """Find lost records, and too few bodies."""
    if not run.header.complete:
        yield Remark(
            "incomplete",
            "error",
            f"{run.header.records_lost} records were lost",
            "run again with --warmup 1, which measures the room that records need",
        )
    if run.bodies < LEAST_BODIES:
        yield Remark(
            "few-bodies",
            "error",
            f"only {run.bodies} bodies",
            f"laws and medians need some {LEAST_BODIES}: ask for more --iterations",
        )


def look_at_books(run: Run) -> Iterator[Remark]:
    """Find time that is unaccounted for, or in MPI calls that fit no phase."""
    missed = run.summary["balance_s"]
    if missed > BALANCED_S:
        yield Remark(
            "books-open",
            "error",
            f"the parts of the solve miss its time by {seconds(missed)}",
            "do not use the file, and report it",
        )
    share = float((run.variable("mpi_other") / run.solve_time).max())
    if share > UNATTRIBUTED_SHARE:
        yield Remark(
            "unattributed-mpi",
            "error",
            f"{100 * share:.1f} % of a rank's time is in MPI calls that fit no phase",
            "local work is overstated by it; the PETSc options may have changed the communication",
        )


def look_at_machine(run: Run) -> Iterator[Remark]:
    """Find a machine that was busy with something else, or too small."""
    machine = run.header.environment.get("machine", {})
    load, cores = machine.get("load_before"), machine.get("cores")
    if load is not None and cores and load > QUIET_LOAD * cores:
        yield Remark(
            "load",
            "note",
            f"load {load:.1f} on {cores} cores before the first solve",
            "wait until the machine is idle, or ask for nodes of your own",
        )
    hosts = run.hosts
    crowd = max(hosts.count(host) for host in set(hosts))
    if cores and crowd > cores:
        yield Remark(
            "crowded",
            "error",
            f"{crowd} ranks shared {cores} cores",
            "waiting times measure the operating system's scheduler: use at most a rank a core",
        )
    switches = run.variable("context_switches")
    rate = float((switches / run.solve_time).max())
    if rate > SWITCHES_A_SECOND and switches.max() > LEAST_SWITCHES:
        yield Remark(
            "context-switches",
            "note",
            f"a rank was switched out {rate:.0f} times a second",
            "something else used its core: bind ranks to cores, and keep neighbours away",
        )


def look_at_neighbours(run: Run) -> Iterator[Remark]:
    """Find a load after the run that its own ranks do not account for."""
    cores = run.header.environment.get("machine", {}).get("cores")
    if not run.has("load_after") or not cores:
        return
    hosts = run.hosts
    own = np.array([hosts.count(host) for host in hosts])
    excess = float((run.variable("load_after") - own).max())
    if excess > QUIET_LOAD * cores:
        yield Remark(
            "neighbours",
            "note",
            f"load after the run is {excess:.1f} above that of its own ranks",
            "something else ran meanwhile: repeat on an idle machine",
        )


def look_at_clock(run: Run) -> Iterator[Remark]:
    """Find a common clock that is too uncertain for the bodies."""
    uncertainty = float(run.variable("clock_uncertainty").max())
    body = run.summary["body_s"]["median"]
    if uncertainty > CLOCK_SHARE * body:
        yield Remark(
            "clock",
            "note",
            f"clocks agree to {seconds(uncertainty)} only, a body lasts {seconds(body)}",
            "durations hold; do not compare when bodies of different ranks began",
        )


def look_at_course(run: Run) -> Iterator[Remark]:
    """Find drift, outliers and slow stretches in the course of a run."""
    if run.bodies < LEAST_BODIES:
        return
    relative = slowest_relative_to_place(run)
    quarter = relative.size // 4
    drift = float(np.median(relative[-quarter:]) / np.median(relative[:quarter]) - 1.0)
    if abs(drift) > DRIFT:
        yield Remark(
            "drift",
            "note",
            f"bodies of the last quarter take {100 * drift:+.0f} % of those of the first",
            "warm up longer (--warmup 2), and look at frequency and temperature",
        )
    outliers = relative > OUTLIER_FACTOR
    share = float((relative[outliers] - 1.0).sum() / relative.sum())
    if share > OUTLIER_SHARE:
        yield Remark(
            "outliers",
            "note",
            f"{np.count_nonzero(outliers)} bodies last over {OUTLIER_FACTOR:.0f} times the median, "
            f"{100 * share:.1f} % of the time",
            "this is noise from outside: 'hindmost plot' shows when and where",
        )
    whole = relative[: relative.size // SLOW_BLOCK * SLOW_BLOCK]
    slow = np.median(whole.reshape(-1, SLOW_BLOCK), axis=1) > SLOW_FACTOR
    longest = longest_stretch(slow)
    if longest >= SLOW_BLOCKS:
        yield Remark(
            "slow-stretch",
            "note",
            f"{longest * SLOW_BLOCK} bodies in a row are over {SLOW_FACTOR} times as slow",
            "something ran beside: leave the run out, or model the stretch apart",
        )


def asked_for(run: Run) -> str:
    """Return what of an adaptive run's request makes its time another; nothing of others."""
    spec = run.header.spec
    keys = ("deck", "choices", "base", "first_cycle", "interfere", "orders", "stopped")
    return str([spec.get(key) for key in keys]) if is_adaptive(run) else ""


def look_at_cycles(run: Run) -> Iterator[Remark]:
    """Find an adaptive run that failed, is short, or was disturbed in its course.

    Its cycles do different work, so they are held against what was predicted of them.
    """
    failure = run.header.spec.get("failure")
    if not run.header.complete:
        yield Remark(
            "incomplete",
            "error",
            f"the run failed: {failure}" if failure else "records were lost",
            "the cycles before are as they were; do not take them for the whole run",
        )
    if run.bodies < LEAST_CYCLES:
        yield Remark(
            "few-cycles",
            "error",
            f"only {run.bodies} cycles",
            f"mean errors of predictions need some {LEAST_CYCLES}: ask for more --cycles",
        )
        return
    read = read_adaptive(run)
    if read.disturbed_on_purpose:
        yield Remark(
            "interference",
            "note",
            "a neighbour was made to run (--interfere)",
            "do not take its errors for those of an idle machine",
        )
        return
    if DECIDES not in read.predictors:
        return
    ratio = read.seconds / read.prediction(DECIDES)
    ratio = ratio[np.isfinite(ratio)]
    share = float(np.mean(ratio > OUTLIER_CYCLE)) if ratio.size else 0.0
    if share > OUTLIER_CYCLES:
        yield Remark(
            "disturbed-cycles",
            "note",
            f"{100 * share:.0f} % of the cycles took over {OUTLIER_CYCLE:g} times their prediction",
            "something else used the machine: replay (--repeats), and judge by the floor",
        )
    slower = [each for each in read.verdicts if each["kind"] == Kind.SLOWER]
    if slower:
        yield Remark(
            "machine-slower",
            "note",
            f"from cycle {slower[0]['cycle']} on: {slower[0]['words']}",
            "nobody asked for a neighbour: errors are not those of an idle machine",
        )


def slowest_relative_to_place(run: Run) -> NDArray[np.float64]:
    """Return the slowest rank of every body, relative to the median of its place in the cycle.

    Returns
    -------
    float64 array, shape (iteration,)
    """
    slowest = np.concatenate([run.variable("duration", rows).max(axis=1) for rows in run.blocks()])
    if run.restarts == 0:
        return np.asarray(slowest / np.median(slowest))
    position = run.position
    typical = np.array([np.median(slowest[position == at]) for at in range(position.max() + 1)])
    return np.asarray(slowest / typical[position])


def longest_stretch(flags: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of true values."""
    borders = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return int((borders[1::2] - borders[::2]).max(initial=0))


LOOKS: tuple[Callable[[Run], Iterator[Remark]], ...] = (
    look_at_completeness,
    look_at_books,
    look_at_machine,
    look_at_neighbours,
    look_at_clock,
    look_at_course,
)
"""What is looked at in every run but adaptive ones."""

ADAPTIVE_LOOKS: tuple[Callable[[Run], Iterator[Remark]], ...] = (
    look_at_cycles,
    look_at_books,
    look_at_machine,
    look_at_neighbours,
    look_at_clock,
)
"""The same for adaptive runs; drift is no fault where cells come and go."""
