"""Checks of runs: what puts conclusions in doubt, each finding with advice.

Those of the machine, of adaptive runs and of the solve are here, those of bodies in `check_bodies`.
`check_group` reads and verifies whole files; `findings_of` gives the findings below every table,
without that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from hindmost.analysis.runs.check_bodies import (
    MARKED,
    MIN_BODIES,
    SLOW,
    BodyTimes,
    check_bodies,
    check_work,
    read_body_times,
    read_work_course,
)
from hindmost.analysis.runs.configuration import (
    Group,
    group_runs,
    injected_noise,
    is_attached,
)
from hindmost.analysis.runs.cores import check_cores, observed_time
from hindmost.analysis.runs.cycles import DECIDES, is_adaptive, read_adaptive
from hindmost.analysis.runs.efficiency.withheld import (
    calls_of_threads,
    mpi_unseen,
    unclassified_calls,
    what_unseen_is,
)
from hindmost.analysis.runs.finding import (
    NUMBERS,
    SPOILS,
    WORTH_SAYING,
    Finding,
    Topic,
    run_files_in,
)
from hindmost.analysis.runs.read import why_twice
from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.analysis.runs.summary import BALANCED_S
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.models.adaptive.interference import CycleKind
from hindmost.models.inference import MATTERS
from hindmost.text import counted, difference, percent, seconds


def check_clock(run: Run, typical_s: float) -> Iterator[Finding]:
    """Find clocks whose common time is too uncertain for the bodies.

    Parameters
    ----------
    typical_s : float
        The median body.
    """
    uncertainty = float(run.variable("clock_uncertainty").max(initial=0.0))
    if uncertainty > SPOILS * typical_s:
        yield Finding(
            code="clock",
            severity="note",
            text=f"clocks agree only to {seconds(uncertainty)}, "
            f"an iteration lasts {seconds(typical_s)}",
            advice="durations are valid; do not compare start times of different ranks",
            doubts=(Topic.ORDER,),
        )


MIN_CYCLES = 20
DISTURBED_CYCLES = (Topic.TIMES, Topic.PREDICTIONS, Topic.COMPARISON)


def check_cycles(run: Run) -> Iterator[Finding]:
    """Find an adaptive run that is short, or was disturbed.

    Its cycles do different work, so they are compared with their predictions.
    """
    if run.bodies < MIN_CYCLES:
        yield Finding(
            code="few-cycles",
            severity="error",
            text=f"only {run.bodies} cycles",
            advice=f"mean prediction errors need about {MIN_CYCLES}"
            + remedy(Need.MORE_ITERATIONS, run, before=": "),
            doubts=(Topic.PREDICTIONS,),
        )
        return
    try:
        read = read_adaptive(run)
    except DataError as error:
        yield Finding(
            code="no-cycles",
            severity="error",
            text=str(error),
            advice="its predictions cannot be judged",
            doubts=(Topic.PREDICTIONS,),
        )
        return
    if read.disturbed_on_purpose:
        yield Finding(
            code="interference",
            severity="note",
            text="a neighbour ran on purpose (--interfere)",
            advice="its errors are not those of an idle machine",
            doubts=DISTURBED_CYCLES,
        )
        return
    if DECIDES not in read.predictors:
        return
    ratio = read.seconds / read.prediction(DECIDES)
    ratio = ratio[np.isfinite(ratio)]
    share = float(np.mean(ratio > SLOW)) if ratio.size else 0.0
    if share > MATTERS:
        yield Finding(
            code="disturbed-cycles",
            severity="note",
            text=f"{percent(share, 0)} of the cycles took over {SLOW:g} times their prediction",
            advice="something else used the machine, or the prediction does not fit"
            + remedy(Need.REPLAY, run, before=": "),
            doubts=DISTURBED_CYCLES,
        )
    slower = [verdict for verdict in read.verdicts if verdict.kind == CycleKind.SLOWER]
    if slower:
        yield Finding(
            code="machine-slower",
            severity="note",
            text=f"from cycle {slower[0].cycle} on: {slower[0].words}",
            advice="--interfere was not given: the errors are not those of an idle machine",
            doubts=DISTURBED_CYCLES,
        )


SPLIT = (Topic.PHASES, Topic.MODELS)


def check_group(group: Group) -> list[Finding]:
    """Check all of every run of a group, and at how well its repeats agree.

    Raises
    ------
    DamagedFileError
        Times that cannot be.
    """
    for run in group.runs:
        run.verify()
    return findings_of([group])


def findings_of(groups: Iterable[Group], *, read_large: bool = True) -> list[Finding]:
    """Return the findings of runs, to be shown wherever their numbers are.

    Parameters
    ----------
    read_large : bool
        Read the bodies of runs that fill memory as well; without it, what their summary shows.
    """
    return [
        finding
        for group in groups
        for finding in (
            *(
                replace(each, file=str(run.path))
                for run in group.runs
                for each in check_run(run, read_large=read_large)
            ),
            *check_repeats(group),
        )
    ]


def check_run(run: Run, *, read_large: bool = True) -> Iterator[Finding]:
    """Check one run."""
    adaptive = is_adaptive(run)
    yield from check_injection(run)
    yield from check_completeness(run)
    yield from check_cycles(run) if adaptive else check_number(run)
    yield from check_ending(run)
    yield from check_cores(run)
    if read_large or run.bodies * run.columns <= MAX_IN_MEMORY:
        times = read_body_times(run)
        yield from check_books(run, times)
        if not adaptive:  # drift is no fault where cells come and go
            wanted = check_work(times) or run.has(INJECTED)
            work = read_work_course(run) if wanted else None
            yield from check_bodies(times, work)
        typical = float(np.median(times.slowest)) if times.slowest.size else 0.0
    else:
        yield from check_summary_alone(run)
        typical = run.summary["body_s"]["median"]
    yield from check_calls(run)
    yield from check_clock(run, typical)


def check_injection(run: Run) -> Iterator[Finding]:
    """Say that noise was injected: the run was disturbed on purpose."""
    law = injected_noise(run)
    if law:
        yield Finding(
            code="injected-noise",
            severity="note",
            text=f"noise was injected ({law})",
            advice="times are those of the disturbed program, and injected time counts as the "
            "ranks' own, as system noise does: compare with runs without --inject",
            doubts=NUMBERS,
        )


def check_repeats(group: Group) -> Iterator[Finding]:
    """Find repeats that do not agree."""
    times = [run.solve_time_s for run in group.runs]
    if min(times) <= 0.0:
        return
    spread = max(times) / min(times) - 1.0
    if spread > SPOILS:
        advice = "no model can be more accurate than that: repeat on an idle machine"
        advice += remedy(Need.TOLD_APART, group.runs[0], before="; if these are not repeats, ")
        for run in group.runs:
            yield Finding(
                file=str(run.path),
                code="repeats-differ",
                severity="error",
                text=f"times of {len(times)} repeats differ by {difference(spread)}",
                advice=advice,
                doubts=(Topic.TIMES, Topic.MODELS, Topic.COMPARISON),
            )


def check_completeness(run: Run) -> Iterator[Finding]:
    """Find failures and lost records."""
    failure, lost = run.header.spec.get("failure"), run.header.records_lost
    failed = failure and not lost
    if not run.header.complete:
        yield Finding(
            code="incomplete",
            severity="error",
            text=str(failure) if failed else f"{lost} records were lost",
            advice="the other iterations are valid, but they are not the whole run"
            + ("" if failed else remedy(Need.ROOM, run, before=": ")),
            doubts=NUMBERS,
        )


def check_number(run: Run) -> Iterator[Finding]:
    """Find too few bodies."""
    if run.bodies < MIN_BODIES:
        yield Finding(
            code="few-bodies",
            severity="error",
            text=f"only {counted(run.bodies, 'iteration')}",
            advice=f"fitted laws and medians need about {MIN_BODIES}"
            + remedy(Need.MORE_ITERATIONS, run, before=": "),
            doubts=(Topic.MODELS,),
        )


def check_ending(run: Run) -> Iterator[Finding]:
    """Find solves that did not do what they were asked to, and bodies of an unknown pattern."""
    ending = Ending.of(run.header)
    if ending is None:
        return
    if ending.shortfall and ending.to_tolerance:
        yield Finding(
            code="tolerance-not-reached",
            severity="error",
            text=ending.shortfall,
            advice="there is no time to tolerance"
            + remedy(Need.MORE_TO_CONVERGE, run, before=": "),
            doubts=(Topic.TIMES, Topic.COMPARISON),
        )
    elif ending.shortfall:
        yield Finding(
            code="stopped-early",
            severity="error",
            text=ending.shortfall,
            advice="compare times per iteration, not solve times"
            + remedy(Need.FEWER_ITERATIONS, run, before="; or "),
            doubts=(Topic.TIMES, Topic.COMPARISON),
        )
    if ending.flaw:
        yield Finding(
            code="not-finite",
            severity="error",
            text=ending.flaw,
            advice="times per iteration stand, but no solution was found: choose another solver, "
            "preconditioner or matrix",
            doubts=(Topic.COMPARISON,),
        )
    if ending.generic:
        yield Finding(
            code="generic-bodies",
            severity="note",
            text="iterations last from one call of the solver's monitor to the next, "
            "restarts included",
            advice=f"the solver's pattern is unknown ({ending.generic})",
            doubts=(Topic.MODELS,),
        )


def check_books(run: Run, times: BodyTimes) -> Iterator[Finding]:
    """Find solves whose parts do not add up to the solve time."""
    parts = run.lead_in + times.rank_s + run.restart_durations.sum(axis=0) + run.lead_out
    missed = float(np.abs(parts - run.solve_time).max(initial=0.0))
    if not missed <= BALANCED_S:
        yield Finding(
            code="books-open",
            severity="error",
            text=f"the parts of the solve differ from its time by {seconds(missed)}",
            advice="do not use the file, and report this",
            doubts=NUMBERS,
        )


def check_summary_alone(run: Run) -> Iterator[Finding]:
    """Find what the summary of a file shows that is too large to be read for a glance."""
    counted = run.summary
    body = counted["body_s"]
    each_rank_s = sum(counted["phase_s"].values()) / max(run.columns, 1)
    share = (body["maximum"] - body["median"]) / each_rank_s if each_rank_s > 0.0 else 0.0
    if share > SPOILS:
        yield Finding(
            code="outliers",
            severity="error",
            text=f"the slowest iteration alone takes {percent(share)} of the time",
            advice="'hindmost check' reads every iteration and counts the slow ones",
            doubts=MARKED,
        )


def check_calls(run: Run) -> Iterator[Finding]:
    """Find MPI calls that were not seen, are unclassified, or came from other threads."""
    share = float(np.max(run.unclassified_share, initial=0.0))
    if share > WORTH_SAYING and not mpi_unseen(run):
        yield Finding(
            code="unattributed-mpi",
            severity="error" if share > SPOILS else "note",
            text=f"{percent(share)} of a rank's time is in {unclassified_calls(run)}",
            advice=remedy(
                Need.NAMED_CALLS,
                run,
                otherwise="it is unknown whether they wait or transfer; no efficiency is given "
                f"above {percent(SPOILS, 0)}",
            ),
            doubts=SPLIT,
        )
    if calls_of_threads(run):
        yield Finding(
            code="foreign-calls",
            severity="error",
            text=f"{calls_of_threads(run)} are in no iteration",
            advice="the recorded thread may wait for them outside of MPI: call MPI from the thread "
            + ("that solves or marks" if is_attached(run) else "that starts the recording"),
            doubts=SPLIT,
        )
    polled_s = run.header.spec.get("between_polls_s")
    observed_s, window = observed_time(run)  # polls of the whole program are counted, too
    share = polled_s / max(float(observed_s.sum()), 1e-300) if polled_s else 0.0
    if share > WORTH_SAYING:
        yield Finding(
            code="polling",
            severity="error" if share > SPOILS else "note",
            text=f"{percent(share)} of the {window} lies between calls of MPI_Test or MPI_Iprobe "
            "that found nothing: it counts as work, and may be waiting",
            advice="if ranks poll until a request completes, call MPI_Wait or MPI_Probe"
            + remedy(Need.NAMED_POLLING, run, before=", or "),
            doubts=SPLIT,
        )
    if mpi_unseen(run):
        yield Finding(
            code="mpi-unseen",
            severity="error",
            text=what_unseen_is(run),
            advice="link the program dynamically to the MPI that hindmost was set up with"
            if is_attached(run)
            else "call hindmost.listen() before mpi4py is imported",
            doubts=SPLIT,
        )


def findings_in(paths: Iterable[Path]) -> list[Finding]:
    """Return the findings of run files, also of those in folders; a copy counts once.

    Other files and damaged ones are skipped: their reader reports them, and copies.
    """
    runs: dict[str, Run] = {}
    for file in run_files_in(paths):
        with suppress(DataError):
            why_twice(runs, open_run(file))
    return findings_of(group_runs(runs.values()), read_large=False)
