"""Without a scheduler: jobs run one after another on this machine.

::

    ~/.local/state/hindmost/jobs/HOST/    or below XDG_STATE_HOME
        lock                              held while a job is submitted
        20261121T195153.123456/           a job; its name is its id, and later ids sort later
            lock                          held while the job waits or runs
            submitted.json                its process group
            started.json                  the process of the script
            cancelled.json                if somebody cancelled it
            ended.json                    its exit status

A job's keeper, detached from the terminal, holds the lock of the job until it ends. The jobs of a
machine run one after another because each waits for the locks of all earlier ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hindmost.errors import MissingError
from hindmost.files import read_text, user_folder, write_atomically
from hindmost.harness.batch_job import CALL_LIMIT_S, call
from hindmost.jobs.core.durable import is_locked, locked
from hindmost.jobs.schedulers.scheduler import (
    OUTPUT,
    Job,
    JobState,
    Script,
    environment_of_jobs,
    fill_template,
)
from hindmost.parsing import parse_json
from hindmost.statuses import WORK_IS_LEFT

GRACE_S = 15.0
"""Between TERM and KILL; enough for a driver to stop its run and record it."""

_KEEPER = "from hindmost.jobs.schedulers.local import keep; keep()"


class Local:
    """Jobs on this machine, each in its own session, which survives the terminal."""

    name = "local"

    def render(self, script: Script) -> str:
        """Return the script: byte for byte the same text for the same allocation."""
        return fill_template("local.sh", script)

    def submit(self, path: Path) -> str:
        """Queue a script to start once no other job runs here, and return the id of its job.

        Raises
        ------
        MissingError
            The keeper process of the job cannot be started, or the jobs have no folder.
        """
        script = path.absolute()
        busy = "Another process is submitting a job; try again."
        jobs = state_folder()
        try:
            jobs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MissingError(
                f"{jobs} cannot be created ({error.strerror}); set XDG_STATE_HOME to a folder "
                "that can be written."
            ) from None
        # One at a time: each keeper then sees the locks of all earlier jobs.
        with locked(jobs / "lock", busy, patience_s=CALL_LIMIT_S):
            folder = jobs / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
            folder.mkdir()
            beside = script.parent.parent / OUTPUT  # in a study's folder; others are allowed
            file = f"{script.stem}-{folder.name}.out"
            output = beside / file if beside.is_dir() else folder / OUTPUT
            answer = call(
                sys.executable, "-P", "-c", _KEEPER, str(folder), str(script), str(output),
                environment=environment_of_jobs(),
            )  # fmt: skip
        if answer.status:
            raise MissingError(
                f"The job of {script} was not started: {answer.complaint}; see {folder}."
            )
        return folder.name

    def query(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return the states of jobs; UNKNOWN for a job that no machine knows.

        Raises
        ------
        MissingError
            A job belongs to another machine.
        """
        return {id: _query(id) for id in ids}

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs with TERM, and later with KILL; jobs that have ended are not touched.

        What left the process group of its job ends with the driver, or is killed by the next one.
        """
        alive = [id for id in ids if _query(id).state in (JobState.PENDING, JobState.RUNNING)]
        folders = [state_folder() / id for id in alive]
        for folder in folders:
            write(folder, "cancelled")
        for number in (signal.SIGTERM, signal.SIGKILL):
            for folder in folders:
                with suppress(OSError):
                    os.killpg(int((read(folder, "submitted") or {})["group"]), number)
            end = time.monotonic() + GRACE_S
            while folders and time.monotonic() < end:
                folders = [folder for folder in folders if is_locked(folder / "lock")]
                time.sleep(0.05)


def state_folder() -> Path:
    """Return the folder of all jobs of this user on this machine."""
    root = user_folder("XDG_STATE_HOME", ".local", "state")
    return root / "hindmost" / "jobs" / socket.gethostname()


def read(folder: Path, event: str) -> dict[str, Any] | None:
    """Return an event of a job; None if it has not happened."""
    try:
        told = parse_json(read_text(folder / f"{event}.json"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _query(id: str) -> Job:
    folder = state_folder() / id

    def told(state: JobState, reason: str) -> Job:
        return Job(id=id, state=state, reason=reason, nodes=folder.parent.name)

    if not id or Path(id).name != id or not folder.is_dir():
        elsewhere = [path.parent.name for path in folder.parent.parent.glob(f"*/{id}") if id]
        if elsewhere:
            raise MissingError(
                f"Job {id} was started on {elsewhere[0]}, and this is {folder.parent.name}: "
                f"ask on {elsewhere[0]}."
            )
        reason = f"started on another machine, or never; this is {folder.parent.name}"
        return Job(id=id, state=JobState.UNKNOWN, reason=reason)
    # before the events: a job that ends now has written its last one
    alive = is_locked(folder / "lock")
    started, ended = read(folder, "started"), read(folder, "ended")
    status = None if ended is None else ended.get("status")
    if alive and ended is None:
        if started is None:
            return told(JobState.PENDING, "waiting for earlier jobs")
        return told(JobState.RUNNING, f"process {started.get('process')}")
    if (folder / "cancelled.json").exists():
        reason = f"exit {status}" if status is not None else "killed" if started else ""
        return told(JobState.CANCELLED, reason or "before it started")
    if status == 0:
        return told(JobState.COMPLETED, "exit 0")
    if ended is not None:
        return told(JobState.LEFT if status == WORK_IS_LEFT else JobState.FAILED, f"exit {status}")
    return told(JobState.FAILED, "killed: there is no exit status")


def keep() -> None:
    """Leave the keeper of a job in a session of its own, and return at once."""
    folder, script, output = (Path(word) for word in sys.argv[1:])
    os.setsid()
    lock = open_lock(folder)
    fcntl.flock(lock, fcntl.LOCK_EX)
    write(folder, "submitted", group=os.getpgrp())
    with output.open("ab", buffering=0) as sink:
        if os.fork():
            return  # the lock stays with the child
        for stream in (1, 2):
            os.dup2(sink.fileno(), stream)
    for earlier in sorted(folder.parent.iterdir()):
        if earlier.name < folder.name and not (earlier / "ended.json").exists():
            other = open_lock(earlier)
            fcntl.flock(other, fcntl.LOCK_SH)
            os.close(other)
    write(folder, "ended", status=run(folder, script, lock))


def run(folder: Path, script: Path, lock: int) -> int:
    """Run the script and return its exit status; minus the signal's number if one ended it."""
    # A cancellation signals the whole group: it ends the script, whose end is recorded here.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # The script holds the lock as well, so that no other job starts if this keeper is killed.
    child = subprocess.Popen(
        ["/bin/bash", script],
        stdin=subprocess.DEVNULL,
        pass_fds=(lock,),
        env={**os.environ, "HINDMOST_JOB_ID": folder.name},
    )
    write(folder, "started", process=child.pid)
    if (folder / "cancelled.json").exists():  # before the script could hear of it
        child.terminate()
    return child.wait()


def open_lock(folder: Path) -> int:
    """Open the lock of a job, which its keeper and its script hold."""
    return os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)


def write(folder: Path, event: str, **values: object) -> None:
    """Record an event of a job."""
    write_atomically(folder / f"{event}.json", json.dumps(values) + "\n")


LOCAL = Local()
"""The scheduler ``local``: this machine."""
