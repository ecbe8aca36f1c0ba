"""Scripts of a study into the queue: all of them first, later those with work left."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.drive.running import noted, settle
from hindmost.jobs.durable import write_durably
from hindmost.jobs.folder import StudyFolder, Submitted
from hindmost.jobs.outcome import Cause
from hindmost.jobs.outcomes import Standing
from hindmost.jobs.schedulers.scheduler import JobState, Scheduler, Script
from hindmost.jobs.state import LIVE, AllocationState, RunState, standings_of, state_of

VERSION = 1
SETTLED = {JobState.MEMORY: Cause.MEMORY, JobState.NODE_FAILED: Cause.NODE_FAILED}
"""What the end of a job says of the run that was going; any other end stopped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What a resumption did.

    Attributes
    ----------
    submitted : tuple of Submitted
    live : tuple of str
        Allocations with work left that a job does, or is going to do.
    runs : int
        That the submitted jobs are to do.
    failed : int
        Runs that failed for good.
    """

    submitted: tuple[Submitted, ...]
    live: tuple[str, ...]
    runs: int
    failed: int


def write_scripts(study: StudyFolder, scheduler: Scheduler) -> None:
    """Write the scripts that are not there; one that a person edited is kept.

    In a folder that was moved or copied the scripts still name the first one. Those that nobody
    edited are written anew.

    Raises
    ------
    UsageError
        A script that was edited drives another folder.
    """
    plan = study.plan
    (study.path / "output").mkdir(exist_ok=True)
    study.scripts.mkdir(exist_ok=True)
    written = study.written()
    moved = written.get("folder") != str(study.path)
    sums: dict[str, str] = dict(written.get("sha256", {}))
    changed = moved
    for allocation in plan.allocations:
        path = study.script(allocation.id)
        if path.exists() and not moved:
            continue
        if path.exists() and sha256(path.read_bytes()).hexdigest() != sums.get(allocation.id):
            refuse_another_folder(path, study)
            continue
        script = Script(
            allocation=allocation, machine=plan.machine, folder=study.path, study=plan.study
        )
        text = scheduler.render(script)
        write_durably(path, text)
        path.chmod(path.stat().st_mode | 0o111)
        sums[allocation.id] = sha256(text.encode()).hexdigest()
        changed = True
    if changed:
        told = {"version": VERSION, "folder": str(study.path), "sha256": sums}
        write_durably(study.scripts_file, json.dumps(told, indent=1) + "\n")


def refuse_another_folder(path: Path, study: StudyFolder) -> None:
    """Refuse a script that was edited and drives the folder of another study."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        _, driver, words = line.partition("hindmost drive ")
        try:
            folder = shlex.split(words)[0] if driver and not line.startswith("#") else ""
        except (ValueError, IndexError):
            continue
        if folder.startswith("/") and Path(folder).resolve() != study.path:
            raise UsageError(
                f"{path} was edited and drives {folder}, but the study is in {study.path}: it was "
                "moved or copied. Let the script name this folder, or remove it: it is written "
                "anew."
            )


def submit(
    study: StudyFolder, scheduler: Scheduler, allocations: Sequence[str]
) -> Iterator[Submitted]:
    """Submit the scripts of allocations, one after another; each job is written down at once."""
    write_scripts(study, scheduler)
    for name in allocations:
        job = scheduler.submit(study.script(name))
        try:
            added = study.add_job(name, job, scheduler.name)
        except OSError:  # a job that nobody knows of would be submitted once more
            scheduler.cancel([job])
            raise
        yield added


def resume(study: StudyFolder, scheduler: Scheduler, *, again: bool = False) -> Resumption:
    """Submit the allocations that have work left and no job.

    Parameters
    ----------
    again : bool
        Do runs again that failed for good.

    Raises
    ------
    MissingError
        The scheduler cannot be asked: a job might still do the work.
    """
    before = state_of(study, scheduler)
    if before.remark:
        raise MissingError(before.remark)
    for each in before.allocations:
        if not each.live:
            settle_by_job(study, each)
    records = study.records()
    if again:
        for run, found in standings_of(study, records).items():
            if found is Standing.GIVEN_UP:
                study.forgive(run, records[run].attempts)
    now = state_of(study, scheduler, records)
    if now.remark:  # jobs that nobody could ask about now would be done twice
        raise MissingError(now.remark)
    open_ = [each for each in now.allocations if RunState.LEFT in each.counts]
    submitted = tuple(submit(study, scheduler, [each.allocation.id for each in open_]))
    live = tuple(
        each.allocation.id
        for each in now.allocations
        if each.counts[RunState.WAITING] or each.counts[RunState.RUNNING]
    )
    return Resumption(
        submitted=submitted,
        live=live,
        runs=sum(each.counts[RunState.LEFT] for each in open_),
        failed=now.counts[RunState.FAILED],
    )


def settle_by_job(study: StudyFolder, state: AllocationState) -> None:
    """Write the outcome of a run that was going when its job ended."""
    running = noted(study, state.allocation.id)
    if running is None:
        return
    cause, message = Cause.STOPPED, "The driver was killed."
    if state.job is not None and running.job == state.job.id:
        cause = SETTLED.get(state.job.state, Cause.STOPPED)
        message = f"The job ended: {state.job.reason}."
    settle(study, state.allocation.id, cause, message)


def cancel(study: StudyFolder, scheduler: Scheduler) -> tuple[str, ...]:
    """Cancel the jobs of a study that have not ended; returns their ids.

    Raises
    ------
    MissingError
        The scheduler cannot be asked.
    """
    jobs = scheduler.look([each.job for each in study.jobs()])
    live = tuple(job.id for job in jobs.values() if job.state in LIVE | {JobState.DEPENDENCY})
    if live:
        scheduler.cancel(live)
    return live
