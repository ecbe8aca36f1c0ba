"""The record of the run in progress, with which a later driver cleans up after a killed one."""

from __future__ import annotations

import json
import os
import platform
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hindmost.files import read_text
from hindmost.jobs.core.durable import write_durably
from hindmost.jobs.drive.process import MARKS, end_processes
from hindmost.jobs.folder import StudyFolder, now
from hindmost.jobs.outcomes import Cause, RunOutcome, write_outcome
from hindmost.parsing import parse_json
from hindmost.records import from_document, to_document

NAME = "running.json"


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
    """

    run: str
    attempt: int
    job: str
    nodes: tuple[str, ...]
    host: str
    folder: str
    since: str


def record(
    study: StudyFolder, allocation: str, *, run: str, attempt: int, job: str,
    nodes: tuple[str, ...], folder: Path,
) -> None:  # fmt: skip
    """Record that a run starts."""
    running = CurrentRun(
        run=run, attempt=attempt, job=job, nodes=nodes, host=platform.node(),
        folder=str(folder), since=now(),
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
    if here:
        end_processes(dict(zip(MARKS, (running.run, running.job), strict=True)))
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
