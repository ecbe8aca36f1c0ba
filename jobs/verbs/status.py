"""``hindmost study status``: the progress of a study, and what to do next."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.state import AllocationState, RunState, StudyState, state_of
from hindmost.jobs.verbs.plan import FIRST
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.records import to_document
from hindmost.statuses import WORK_IS_LEFT
from hindmost.text import counted

EXAMPLES = """\
examples:
  hindmost study status gmres-noise/
  hindmost study status gmres-noise/ --json

Exit status: 0 all runs are done, 75 runs remain, 1 all remaining runs failed for good.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Show how many runs are done, the state of the jobs, and what to do next."
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--json", action="store_true", help="print JSON, with every run")


def perform(arguments: argparse.Namespace) -> int:
    """Print the state of a study."""
    study = StudyFolder.open(arguments.folder)
    state = state_of(study, SCHEDULERS[study.plan.machine.scheduler])
    if arguments.json:
        write_json(
            1,
            study=study.plan.study,
            machine=study.plan.machine.name,
            **to_document(state),
            next=next_step(state, arguments.folder),
        )
    else:
        print_status(study, state, arguments.folder)
    return state.exit_status


def print_status(study: StudyFolder, state: StudyState, folder: Path) -> None:
    """Print the progress of a study."""
    counts = state.counts
    told = ", ".join(f"{counts[each]} {each}" for each in RunState if counts[each])
    total = counted(sum(counts.values()), "run")
    write_lines(f"{study.plan.study} on {study.plan.machine.name}: {total}: {told}")
    if state.remark:
        write_lines(f"  job states are unknown: {state.remark}")
    left = (RunState.RUNNING, RunState.WAITING, RunState.LEFT)
    going = [each for each in state.allocations if any(each.counts[run] for run in left)]
    for each in going[:FIRST]:
        done = each.counts[RunState.DONE]
        write_lines(f"  {each.allocation}: {done} of {len(each.runs)} done; {job_words(each)}")
    if len(going) > FIRST:
        more = counted(len(going) - FIRST, "more allocation")
        write_lines(f"  and {more}; --json lists all")
    for failure in state.failures[:FIRST]:
        # Launchers draw lines of dashes below their messages.
        lines = [line for line in failure.message.splitlines() if any(map(str.isalnum, line))]
        status = failure.status
        said = lines or [f"{f'status {status}' if status >= 0 else f'signal {-status}'}, no output"]
        write_lines(f"  run {failure.run}: {failure.cause}: {said[-1]}")
    if len(state.failures) > FIRST:
        causes = Counter(str(failure.cause) for failure in state.failures)
        write_lines(f"  causes: {', '.join(f'{count} {cause}' for cause, count in causes.items())}")
    write_lines(f"next: {next_step(state, folder)}")


def job_words(state: AllocationState) -> str:
    """Describe the job of an allocation."""
    if state.job is None:
        return "a driver is running" if state.live else "no job"
    on = f" on {state.nodes}" if state.nodes else ""
    return f"job {state.job} {state.state} ({state.reason}){on}"


def next_step(state: StudyState, folder: Path) -> str:
    """Return the next command for a person."""
    here = shell_word(folder)
    counts = state.counts
    stuck = [allocation for allocation in state.allocations if allocation.state is JobState.STUCK]
    if stuck:
        return (
            f"job {stuck[0].job} can never start ({stuck[0].reason}): "
            f"hindmost study cancel {here}, correct its script, then hindmost study submit {here}"
        )
    if state.remark and state.exit_status == WORK_IS_LEFT:
        return f"hindmost study status {here}, on a host that has the scheduler"
    if counts[RunState.RUNNING] or counts[RunState.WAITING]:
        return f"wait; hindmost study status {here}"
    if counts[RunState.LEFT]:
        failed = [
            allocation for allocation in state.allocations
            if allocation.state is JobState.FAILED and allocation.counts[RunState.LEFT]
        ]  # fmt: skip
        if failed:  # its script or its driver ended too early to record more
            read = folder / "output" / f"{failed[0].allocation}-*"
            return f"read {read}; hindmost study submit {here}"
        return f"hindmost study submit {here}"
    if counts[RunState.FAILED]:
        first = state.failures[0].run
        return (
            f"read {folder / 'runs' / first / 'output.txt'}; hindmost study submit {here} --again, "
            f"or hindmost study collect {here} to leave them out"
        )
    return f"hindmost study collect {here}"
