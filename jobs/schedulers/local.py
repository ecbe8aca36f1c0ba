"""Without a scheduler: jobs run one after another on this machine."""

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
"""Between TERM and KILL; enough for a driver to stop its run and record it."""

_KEEPER = "hindmost.jobs.schedulers.local_keeper"


class Local:
    """Jobs on this machine, each in its own session, which survives the terminal."""

    name = "local"

    def render(self, script: Script) -> str:
        """Return the script: byte for byte the same text for the same allocation.

        Raises
        ------
        UsageError
            The allocation has several nodes, or the machine has directives for a scheduler.
        """
        if script.allocation.nodes != 1:
            raise UsageError(
                f"Allocation {script.allocation.id} has {script.allocation.nodes} nodes, but "
                f"machine '{script.machine.name}' is this one node. Raise its cores_per_node, or "
                "name a machine with a scheduler (slurm, pbs)."
            )
        if directives(script, "#"):
            raise UsageError(
                f"Machine '{script.machine.name}' has directives but no scheduler to read them. "
                "Remove them, or name its scheduler (slurm, pbs)."
            )
        return fill_template("local.sh", script)

    def submit(self, path: Path) -> str:
        """Queue a script to start once no other job runs here, and return the id of its job.

        Raises
        ------
        MissingError
            The keeper process of the job cannot be started.
        """
        script = Path(line(str(path), "The path of a script")).absolute()
        if not script.is_file():
            raise UsageError(f"There is no script {script}; 'hindmost study submit' writes it.")
        folder = new_job()
        beside = script.parent.parent / OUTPUT  # in a study's folder; scripts elsewhere are allowed
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
        """Return the states of jobs; UNKNOWN for a job that no machine knows.

        Raises
        ------
        MissingError
            A job belongs to another machine.
        """
        return {id: _look(id) for id in ids}

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs with TERM, and later with KILL; jobs that have ended are not touched."""
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
        # The keepers record the end of killed jobs.
        end = time.monotonic() + GRACE_S
        while any(_keeper_lives(id) for id in alive) and time.monotonic() < end:
            time.sleep(0.05)

    def left_s(self, id: str) -> None:
        """Return None: jobs have no time limit here."""


def _keeper_lives(id: str) -> bool:
    keeper = read_process(state_folder() / id, "submitted")
    return keeper is not None and keeper.alive


def _signal(id: str, number: signal.Signals) -> None:
    """Send a signal to a job's process group: its keeper, its driver, and ranks in that group."""
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
        reason = f"started on another machine, or never; this is {folder.parent.name}"
        return Job(id=id, state=JobState.UNKNOWN, reason=reason)
    ended = read(folder, "ended")
    if ended is not None:
        return told(*_end(ended))
    keeper, script = read_process(folder, "submitted"), read_process(folder, "started")
    if script is not None and script.alive:
        return told(JobState.RUNNING, f"process {script.pid}")
    if keeper is not None and keeper.alive:
        if read(folder, "started") is not None:
            return told(JobState.RUNNING, "ending")
        return told(JobState.PENDING, "waiting for earlier jobs")
    if (ended := read(folder, "ended")) is not None:  # since the first look
        return told(*_end(ended))
    if keeper is not None and keeper.machine_rebooted:
        return told(JobState.NODE_FAILED, "the machine was rebooted before the job ended")
    return told(JobState.FAILED, "killed: there is no exit status")


def _end(ended: dict[str, object]) -> tuple[JobState, str]:
    """Return the state of an ended job, and the reason."""
    status = ended.get("status")
    reason = f"exit {status}" if status is not None else "before it started"
    if ended.get("cancelled"):
        return JobState.CANCELLED, reason
    if status == WORK_IS_LEFT:
        return JobState.LEFT, reason
    return (JobState.COMPLETED if status == 0 else JobState.FAILED), reason


LOCAL = Local()
"""The scheduler ``local``: this machine."""
