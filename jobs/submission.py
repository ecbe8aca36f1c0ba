"""Submit the scripts of a study: all of them first, later those with remaining runs."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.files import read_text
from hindmost.jobs.core.durable import write_durably
from hindmost.jobs.core.plan import Plan
from hindmost.jobs.drive.attempt import settle
from hindmost.jobs.folder import StudyFolder, Submitted
from hindmost.jobs.outcomes import Cause, Completion
from hindmost.jobs.schedulers.scheduler import Job, JobState, Scheduler, Script
from hindmost.jobs.state import LIVE, RunState, progress, query_jobs

SETTLED = {JobState.MEMORY: Cause.MEMORY, JobState.NODE_FAILED: Cause.NODE_FAILED}
"""How a job's end ended its current run; any other end means that the run was stopped."""
DRIVES = re.compile(r"^[^#\n]*hindmost study drive (.*) \S+$", re.MULTILINE)
"""The line of a script that names the folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """The result of a resumption.

    Attributes
    ----------
    submitted : tuple of Submitted
    live : tuple of str
        Allocations with remaining runs and a queued or running job.
    runs : int
        Runs that the submitted jobs are to do.
    failed : int
        Runs that failed for good.
    """

    submitted: tuple[Submitted, ...]
    live: tuple[str, ...]
    runs: int
    failed: int


def write_scripts(study: StudyFolder, scheduler: Scheduler) -> None:
    """Write the missing scripts; those that are there are kept, as they may have been edited."""
    (study.path / "output").mkdir(exist_ok=True)
    for name, text in scripts_of(study.plan, scheduler, study.path).items():
        path = study.script(name)
        if path.exists():
            driven = DRIVES.search(read_text(path, errors="replace"))
            if driven and driven[1] != shlex.quote(str(study.path)):
                raise UsageError(
                    f"{path} drives {driven[1]}, but the study is in {study.path}. Change the "
                    "folder in the scripts, or remove them to have them written anew."
                )
            continue
        write_durably(path, text)
        path.chmod(path.stat().st_mode | 0o111)


def scripts_of(plan: Plan, scheduler: Scheduler, folder: Path) -> dict[str, str]:
    """Return the scripts of a plan by the names of their allocations."""
    return {
        allocation.id: scheduler.render(
            Script(allocation=allocation, machine=plan.machine, folder=folder, study=plan.study)
        )
        for allocation in plan.allocations
    }


def submit(
    study: StudyFolder, scheduler: Scheduler, allocations: Sequence[str]
) -> Iterator[Submitted]:
    """Submit the scripts of allocations, one after another; each job is recorded at once."""
    write_scripts(study, scheduler)
    for name in allocations:
        job = scheduler.submit(study.script(name))
        try:
            added = study.add_job(name, job, scheduler.name)
        except OSError:  # an unrecorded job would be submitted a second time
            scheduler.cancel([job])
            raise
        yield added


def resume(study: StudyFolder, scheduler: Scheduler, *, again: bool = False) -> Resumption:
    """Submit the allocations that have remaining runs and no job.

    Parameters
    ----------
    again : bool
        Repeat runs that failed for good.

    Raises
    ------
    MissingError
        The scheduler cannot be asked: a job might still do the work.
    """
    records = study.records()
    wanted = (Completion.LEFT, Completion.GIVEN_UP) if again else (Completion.LEFT,)
    jobs = query_jobs(study, records, scheduler, wanted)
    for each in progress(study, records, jobs).allocations:
        if RunState.LEFT in each.counts:
            ends = {}
            if each.job is not None and each.state is not None:
                cause = SETTLED.get(each.state, Cause.STOPPED)
                ends = {each.job: (cause, f"The job ended: {each.reason}.")}
            settle(study, each.runs, ends)
    if again:
        records = study.records()
        for run, found in study.completions(records).items():
            if found is Completion.GIVEN_UP:
                study.forgive(records[run])
    now = progress(study, study.records(), jobs)
    open_ = [allocation for allocation in now.allocations if RunState.LEFT in allocation.counts]
    submitted = tuple(submit(study, scheduler, [each.allocation for each in open_]))
    live = tuple(
        allocation.allocation
        for allocation in now.allocations
        if allocation.counts[RunState.WAITING] or allocation.counts[RunState.RUNNING]
    )
    return Resumption(
        submitted=submitted,
        live=live,
        runs=sum(each.counts[RunState.LEFT] for each in open_),
        failed=now.counts[RunState.FAILED],
    )


def cancel(
    study: StudyFolder, scheduler: Scheduler, ending_s: float = 40.0
) -> tuple[tuple[str, ...], tuple[Job, ...]]:
    """Cancel the jobs of a study that have not ended, and see that they end.

    Returns those that were queued or running, and are not any more; and those that the scheduler
    still has, 40 s (Slurm kills after 30 s, PBS after 10 s) after it was told.

    Raises
    ------
    MissingError
        The scheduler cannot be asked.
    """
    jobs = scheduler.query([job.job for job in study.jobs()]).values()
    found = [job.id for job in jobs if job.state in LIVE | {JobState.DEPENDENCY}]
    left: tuple[Job, ...] = ()
    if found:
        scheduler.cancel(found)
        end = time.monotonic() + ending_s
        # A dependency that can never be satisfied stays a cancelled job's reason.
        while left := tuple(job for job in scheduler.query(found).values() if job.state in LIVE):
            if time.monotonic() >= end:
                break
            time.sleep(1.0)
    going = {job.id for job in left}
    return tuple(id for id in found if id not in going), left
