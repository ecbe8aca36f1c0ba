"""The note of a run that is going: what is left of it when a driver is killed."""

from __future__ import annotations

import json
import os
import platform
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from hindmost.jobs.drive.left_behind import end_session
from hindmost.jobs.durable import write_durably
from hindmost.jobs.folder import StudyFolder, now
from hindmost.jobs.outcome import Cause, Outcome
from hindmost.jobs.outcomes import write_outcome
from hindmost.jobs.schedulers.local_jobs import Process, process

NAME = "running.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A run that was begun.

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
        The run's first one, whose session the others belong to; None where it is not known.
    """

    run: str
    attempt: int
    job: str
    nodes: tuple[str, ...]
    host: str
    folder: str
    since: str
    process: Process | None = None


def note(
    study: StudyFolder, allocation: str, *, run: str, attempt: int, job: str,
    nodes: tuple[str, ...], folder: Path, pid: int | None = None,
) -> None:  # fmt: skip
    """Note that a run begins."""
    running = Running(
        run=run, attempt=attempt, job=job, nodes=nodes, host=platform.node(),
        folder=str(folder), since=now(), process=None if pid is None else process(pid),
    )  # fmt: skip
    write_durably(study.allocation(allocation) / NAME, json.dumps(asdict(running)) + "\n")


def noted(study: StudyFolder, allocation: str) -> Running | None:
    """Return the run that is, or was, going; None if there is none."""
    try:
        found = json.loads((study.allocation(allocation) / NAME).read_text())
        first = found.get("process")
        known = {"nodes": tuple(found["nodes"]), "process": Process(**first) if first else None}
        return Running(**{**found, **known})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def clear(study: StudyFolder, allocation: str) -> None:
    """Forget the note."""
    with suppress(FileNotFoundError):
        (study.allocation(allocation) / NAME).unlink()


def settle(study: StudyFolder, allocation: str, cause: Cause, message: str) -> Outcome | None:
    """Write the outcome of a run whose driver was killed; None if none was going.

    What is left of its processes on this machine is killed first.

    Parameters
    ----------
    cause : Cause
        What is known of the end of the driver: STOPPED if nothing is.
    """
    running = noted(study, allocation)
    if running is None:
        return None
    here = running.host == platform.node()
    if here and running.process is not None:
        end_session(running.process, running.run)
    record = study.records((running.run,))[running.run]
    outcome = None
    if record.attempts < running.attempt:
        outcome = Outcome(
            run=running.run, cause=cause, status=-9, attempt=running.attempt, seconds=0.0,
            allocation=allocation, job=running.job, nodes=running.nodes, files=(), message=message,
        )  # fmt: skip
        study.run(running.run).mkdir(exist_ok=True)
        write_outcome(study.run(running.run), outcome)
    if here and os.sep + "hindmost-" in running.folder:
        shutil.rmtree(running.folder, ignore_errors=True)
    clear(study, allocation)
    return outcome
