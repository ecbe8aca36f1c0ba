"""No scheduler: jobs one after another on this machine, with the driver of all the others."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.schedulers.calls import call, environment_of_jobs
from hindmost.jobs.schedulers.local_jobs import (
    new_job,
    processes_of,
    read,
    read_process,
    state_folder,
)
from hindmost.jobs.schedulers.scheduler import Job, JobState, Script
from hindmost.jobs.schedulers.script import OUTPUT, directives, fill_template, line
from hindmost.statuses import WORK_IS_LEFT

GRACE_S = 15.0
"""From TERM to KILL: a driver stops its run and writes down what is left."""

_KEEPER = "hindmost.jobs.schedulers.local_keeper"


class Local:
    """Jobs on this machine, each in a session of its own that outlives the terminal."""

    name = "local"

    def render(self, script: Script) -> str:
        """Return the script: the same text for the same allocation, to the byte.

        Raises
        ------
        UsageError
            The allocation has several nodes, or the machine has directives for a scheduler.
        """
        if script.allocation.nodes != 1:
            raise UsageError(
                f"Allocation {script.allocation.id} has {script.allocation.nodes} nodes, and "
                f"machine '{script.machine.name}' is this one alone; raise its cores_per_node, or "
                "name a machine with a scheduler: slurm, pbs."
            )
        if directives(script, "#"):
            raise UsageError(
                f"Machine '{script.machine.name}' has directives but no scheduler that reads them; "
                "remove them, or name its scheduler: slurm, pbs."
            )
        return fill_template("local.sh", script)

    def submit(self, path: Path) -> str:
        """Start a script as soon as no other job runs here, and return the id of its job.

        Raises
        ------
        MissingError
            The process that keeps the job cannot be started.
        """
        script = Path(line(str(path), "The path of a script")).absolute()
        if not script.is_file():
            raise UsageError(f"There is no script {script}; 'hindmost plan' writes it.")
        folder = new_job()
        beside = script.parent.parent / OUTPUT  # of a study; a script of any other place may come
        output = beside / f"{script.stem}-{folder.name}.out" if beside.is_dir() else folder / OUTPUT
        answer = call(
            sys.executable, "-P", "-m", _KEEPER, str(folder), str(script), str(output),
            environment=environment_of_jobs(),
        )  # fmt: skip
        if answer.status:
            raise MissingError(
                f"The job of {script} was not started: {answer.complaint}; see {folder}."
            )
        return folder.name

    def look(self, ids: Sequence[str]) -> dict[str, Job]:
        """Say what became of jobs; one that no machine knows is UNKNOWN.

        Raises
        ------
        MissingError
            A job is another machine's.
        """
        return {id: _look(id) for id in ids}

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs by TERM, and by KILL after a while; those that ended are left as they are."""
        alive = [id for id in ids if _look(id).state in (JobState.PENDING, JobState.RUNNING)]
        for id in alive:
            _signal(id, signal.SIGTERM)
        end = time.monotonic() + GRACE_S
        while (alive := [id for id in alive if processes_of(id) or _keeper_lives(id)]) and (
            time.monotonic() < end
        ):
            time.sleep(0.05)
        for id in alive:
            for pid in processes_of(id):
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        # The keepers write down the end of what was killed.
        end = time.monotonic() + GRACE_S
        while any(_keeper_lives(id) for id in alive) and time.monotonic() < end:
            time.sleep(0.05)

    def left_s(self, id: str) -> None:
        """Return None: nobody ends a job here."""


def _keeper_lives(id: str) -> bool:
    keeper = read_process(state_folder() / id, "submitted")
    return keeper is not None and keeper.alive


def _signal(id: str, number: signal.Signals) -> None:
    """Send a signal to a job's group: its keeper, its driver, and ranks that stayed with them."""
    folder = state_folder() / id
    for event in ("submitted", "started"):
        process = read_process(folder, event)
        if process is not None and process.alive:
            with suppress(OSError):
                os.killpg(os.getpgid(process.pid), number)
            return


def _look(id: str) -> Job:
    folder = state_folder() / id

    def told(state: JobState, reason: str) -> Job:
        return Job(id=id, state=state, reason=reason, nodes=folder.parent.name)

    if not id or Path(id).name != id or not folder.is_dir():
        elsewhere = [each.parent.name for each in folder.parent.parent.glob(f"*/{id}") if id]
        if elsewhere:
            raise MissingError(
                f"Job {id} was started on {elsewhere[0]}, and this is {folder.parent.name}: "
                f"ask on {elsewhere[0]}."
            )
        reason = f"it was started elsewhere, or never: this is {folder.parent.name}"
        return Job(id=id, state=JobState.UNKNOWN, reason=reason)
    ended = read(folder, "ended")
    if ended is not None:
        return told(*_end(ended))
    keeper, script = read_process(folder, "submitted"), read_process(folder, "started")
    if script is not None and script.alive:
        return told(JobState.RUNNING, f"process {script.pid}")
    if keeper is not None and keeper.alive:
        if read(folder, "started") is not None:
            return told(JobState.RUNNING, "it ends")
        return told(JobState.PENDING, "other jobs are before it")
    if (ended := read(folder, "ended")) is not None:  # while we looked
        return told(*_end(ended))
    if keeper is not None and keeper.machine_started_anew:
        return told(JobState.NODE_FAILED, "the machine was started anew before its end")
    return told(JobState.FAILED, "it left no exit status: it was killed")


def _end(ended: dict[str, object]) -> tuple[JobState, str]:
    """Tell ends apart, with the reason in words."""
    status = ended.get("status")
    reason = f"exit {status}" if status is not None else "before its turn"
    if ended.get("cancelled"):
        return JobState.CANCELLED, reason
    if status == WORK_IS_LEFT:
        return JobState.LEFT, reason
    return (JobState.COMPLETED if status == 0 else JobState.FAILED), reason


LOCAL = Local()
"""This machine as studies name it."""
