"""``hindmost status``: how a study stands, and what to do next."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.state import AllocationState, RunState, StudyState, state_of
from hindmost.jobs.words import counted
from hindmost.statuses import WORK_IS_LEFT

EXAMPLES = """\
examples:
  hindmost status gmres-noise/
  hindmost status gmres-noise/ --json

Exit status: 0 all runs are done, 75 work is left, 1 all others failed for good.
"""
JSON_VERSION = 1
MOST_LINES = 12
MOST_FAILURES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Says how many runs are done, what the jobs do, and what to do next."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--json", action="store_true", help="print JSON, with every run")


def perform(arguments: argparse.Namespace) -> int:
    """Look and tell."""
    study = StudyFolder.open(arguments.folder)
    state = state_of(study, SCHEDULERS[study.plan.machine.scheduler])
    if arguments.json:
        print(json.dumps(to_json(study, state, arguments.folder), indent=1, allow_nan=False))
    else:
        tell(study, state, arguments.folder)
    return state.exit_status


def tell(study: StudyFolder, state: StudyState, folder: Path) -> None:
    """Print how a study stands."""
    counts = state.counts
    told = ", ".join(f"{counts[each]} {each}" for each in RunState if counts[each])
    total = counted(counts.total(), "run")
    print(f"{study.plan.study} on {study.plan.machine.name}: {total}: {told}")
    if state.remark:
        print(f"  the jobs are not known: {state.remark}")
    going = [each for each in state.allocations if worth_a_line(each)]
    for each in going[:MOST_LINES]:
        done = each.counts[RunState.DONE]
        print(f"  {each.allocation.id}: {done} of {len(each.runs)} done; {job_words(each)}")
    if len(going) > MOST_LINES:
        more = counted(len(going) - MOST_LINES, "more allocation")
        print(f"  and {more}; --json has all")
    for failure in state.failures[:MOST_FAILURES]:
        lines = [line for line in failure.message.splitlines() if any(map(str.isalnum, line))]
        said = lines or [status_words(failure.status)]  # launchers put dashes below their words
        print(f"  run {failure.run}: {failure.cause}: {said[-1]}")
    if len(state.failures) > MOST_FAILURES:
        causes = Counter(str(failure.cause) for failure in state.failures)
        print(f"  causes: {', '.join(f'{count} {cause}' for cause, count in causes.items())}")
    print(f"next: {next_step(state, folder)}")


def worth_a_line(state: AllocationState) -> bool:
    """Tell whether an allocation has runs that are still to be done."""
    return any(state.counts[each] for each in (RunState.RUNNING, RunState.WAITING, RunState.LEFT))


def status_words(status: int) -> str:
    """Say how a run ended that said nothing."""
    how = f"status {status}" if status >= 0 else f"signal {-status}"
    return f"{how}, and it said nothing"


def job_words(state: AllocationState) -> str:
    """Say what an allocation's job does."""
    if state.job is None:
        return "a driver is at work" if state.driven else "no job"
    on = f" on {state.job.nodes}" if state.job.nodes else ""
    return f"job {state.job.id} {state.job.state} ({state.job.reason}){on}"


def next_step(state: StudyState, folder: Path) -> str:
    """Say what a person would do next."""
    counts = state.counts
    stuck = [
        each.job for each in state.allocations if each.job and each.job.state is JobState.STUCK
    ]
    if stuck:
        return (
            f"job {stuck[0].id} waits for what will not come ({stuck[0].reason}): "
            f"hindmost cancel {folder}, correct its script, then hindmost resume {folder}"
        )
    if state.remark and state.exit_status == WORK_IS_LEFT:
        return f"hindmost status {folder}, where the scheduler is"
    if counts[RunState.RUNNING] or counts[RunState.WAITING]:
        return f"wait; hindmost status {folder}"
    if counts[RunState.LEFT]:
        failed = [
            each for each in state.allocations
            if each.job and each.job.state is JobState.FAILED and each.counts[RunState.LEFT]
        ]  # fmt: skip
        if failed:  # its script or its driver did not get far enough to say more
            read = folder / "output" / f"{failed[0].allocation.id}-*"
            return f"read {read}; hindmost resume {folder}"
        return f"hindmost resume {folder}"
    if counts[RunState.FAILED]:
        first = state.failures[0].run
        return (
            f"read {folder / 'runs' / first / 'output.txt'}; hindmost resume {folder} --again, or "
            f"hindmost collect {folder} without them"
        )
    return f"hindmost collect {folder}"


def to_json(study: StudyFolder, state: StudyState, folder: Path) -> dict[str, Any]:
    """Return how a study stands for programs."""
    return {
        "version": JSON_VERSION,
        "study": study.plan.study,
        "machine": study.plan.machine.name,
        "counts": {str(each): state.counts[each] for each in RunState},
        "allocations": [
            {
                "allocation": each.allocation.id,
                "job": each.job.id if each.job else None,
                "state": str(each.job.state) if each.job else None,
                "reason": each.job.reason if each.job else None,
                "nodes": each.job.nodes if each.job else None,
                "live": each.live,
                "runs": {run: str(found) for run, found in each.runs.items()},
            }
            for each in state.allocations
        ],
        "failures": [
            {
                "run": each.run,
                "cause": str(each.cause),
                "status": each.status,
                "attempt": each.attempt,
                "message": each.message,
            }
            for each in state.failures
        ],
        "remark": state.remark,
        "next": next_step(state, folder),
    }
