"""The record of the run in progress, with which a later driver cleans up after a killed one."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hindmost.files import read_text
from hindmost.jobs.core.durable import write_durably
from hindmost.jobs.folder import StudyFolder, now
from hindmost.jobs.outcomes import Cause, RunOutcome, write_outcome
from hindmost.jobs.schedulers.local_keeper import BOOT_ID
from hindmost.parsing import parse_json
from hindmost.processes import ENDED, SESSION, START, STATE, stat_fields
from hindmost.records import from_document, to_document

NAME = "running.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process, distinguished from a later one with the same number.

    Attributes
    ----------
    pid : int
    start : int
        Clock ticks from the boot of the machine to the start of the process.
    boot : str
        The machine's boot id.
    """

    pid: int
    start: int
    boot: str


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return BOOT_ID.read_text().strip()


def process(pid: int) -> Process | None:
    """Return the process with a number; None if it does not exist or has ended."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return None
    if fields[STATE] in ENDED:
        return None
    return Process(pid=pid, start=int(fields[START]), boot=boot_id())


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """A run in progress.

    Attributes
    ----------
    run : str
    attempt : int
    job : str
    nodes : tuple of str
    host : str
        Of the driver.
    folder : str
        Where the run writes.
    since : str
        ISO 8601, UTC.
    process : Process or None
        The first process of the run, the leader of its session; None if unknown.
    """

    run: str
    attempt: int
    job: str
    nodes: tuple[str, ...]
    host: str
    folder: str
    since: str
    process: Process | None = None


def record(
    study: StudyFolder, allocation: str, *, run: str, attempt: int, job: str,
    nodes: tuple[str, ...], folder: Path, pid: int | None = None,
) -> None:  # fmt: skip
    """Record that a run starts."""
    running = CurrentRun(
        run=run, attempt=attempt, job=job, nodes=nodes, host=platform.node(),
        folder=str(folder), since=now(), process=None if pid is None else process(pid),
    )  # fmt: skip
    write_durably(study.allocation(allocation) / NAME, json.dumps(to_document(running)) + "\n")


def read_current_run(study: StudyFolder, allocation: str) -> CurrentRun | None:
    """Return the run that is, or was, in progress; None if there is none."""
    try:
        found = parse_json(read_text(study.allocation(allocation) / NAME))
        return from_document(CurrentRun, found)
    except (OSError, ValueError):
        return None


def forget(study: StudyFolder, allocation: str) -> None:
    """Remove the record."""
    with suppress(FileNotFoundError):
        (study.allocation(allocation) / NAME).unlink()


def settle(study: StudyFolder, allocation: str, cause: Cause, message: str) -> RunOutcome | None:
    """Write the outcome of a run whose driver was killed; None if no run was in progress.

    Its remaining processes on this machine are killed first.

    Parameters
    ----------
    cause : Cause
        Why the driver ended; STOPPED if that is unknown.
    """
    running = read_current_run(study, allocation)
    if running is None:
        return None
    here = running.host == platform.node()
    if here and running.process is not None:
        end_session(running.process, running.run)
    record = study.records((running.run,))[running.run]
    outcome = None
    if record.attempts < running.attempt:
        outcome = RunOutcome(
            run=running.run, cause=cause, status=-9, attempt=running.attempt, seconds=0.0,
            allocation=allocation, job=running.job, nodes=running.nodes, files=(), message=message,
        )  # fmt: skip
        study.run(running.run).mkdir(exist_ok=True)
        write_outcome(study.run(running.run), outcome)
    if here and os.sep + "hindmost-" in running.folder:
        shutil.rmtree(running.folder, ignore_errors=True)
    forget(study, allocation)
    return outcome


PATIENCE_S = 5.0
"""Time for the kernel to end killed processes."""


def end_session(leader: Process, run: str) -> None:
    """Kill the remaining processes of a run's session on this machine, and wait for their end.

    Parameters
    ----------
    leader : Process
        The leader of the session.
    run : str
        Id of the run, found in the environment of its processes.
    """
    found = process(leader.pid)
    if boot_id() != leader.boot or (found is not None and found != leader):
        return  # the number belongs to another process now
    end = time.monotonic() + PATIENCE_S
    while (left := members(leader, run)) and time.monotonic() < end:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def members(leader: Process, run: str) -> list[int]:
    """Return the living processes of a run's session."""
    mark = f"HINDMOST_RUN_ID={run}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = stat_fields(folder.name)
            ours = int(fields[SESSION]) == leader.pid and int(fields[START]) >= leader.start
            alive = ours and fields[STATE] not in ENDED
            if alive and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except (OSError, ValueError, IndexError):  # ended, or of another user
            continue
    return found
