"""The note of a run that is going: what is left of it when a driver is killed."""

from __future__ import annotations

import json
import os
import platform
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from hindmost.jobs.durable import write_durably
from hindmost.jobs.folder import StudyFolder, now
from hindmost.jobs.outcome import Cause, Outcome
from hindmost.jobs.outcomes import write_outcome

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
    """

    run: str
    attempt: int
    job: str
    nodes: tuple[str, ...]
    host: str
    folder: str
    since: str


def note(
    study: StudyFolder, allocation: str, *, run: str, attempt: int, job: str,
    nodes: tuple[str, ...], folder: Path,
) -> None:  # fmt: skip
    """Note that a run begins."""
    running = Running(
        run=run, attempt=attempt, job=job, nodes=nodes, host=platform.node(),
        folder=str(folder), since=now(),
    )  # fmt: skip
    write_durably(study.allocation(allocation) / NAME, json.dumps(asdict(running)) + "\n")


def noted(study: StudyFolder, allocation: str) -> Running | None:
    """Return the run that is, or was, going; None if there is none."""
    try:
        found = json.loads((study.allocation(allocation) / NAME).read_text())
        return Running(**{**found, "nodes": tuple(found["nodes"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def clear(study: StudyFolder, allocation: str) -> None:
    """Forget the note."""
    with suppress(FileNotFoundError):
        (study.allocation(allocation) / NAME).unlink()


def settle(study: StudyFolder, allocation: str, cause: Cause, message: str) -> Outcome | None:
    """Write the outcome of a run whose driver was killed; None if none was going.

    Parameters
    ----------
    cause : Cause
        What is known of the end of the driver: STOPPED if nothing is.
    """
    running = noted(study, allocation)
    if running is None:
        return None
    record = study.records((running.run,))[running.run]
    outcome = None
    if record.attempts < running.attempt:
        outcome = Outcome(
            run=running.run, cause=cause, status=-9, attempt=running.attempt, seconds=0.0,
            allocation=allocation, job=running.job, nodes=running.nodes, files=(), message=message,
        )  # fmt: skip
        study.run(running.run).mkdir(exist_ok=True)
        write_outcome(study.run(running.run), outcome)
    if running.host == platform.node() and os.sep + "hindmost-" in running.folder:
        shutil.rmtree(running.folder, ignore_errors=True)
    clear(study, allocation)
    return outcome
