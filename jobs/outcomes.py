"""How attempts at runs ended, as files; and whether a run is done, still to do, or given up."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hindmost.errors import DataError, UnknownSchemaError
from hindmost.files import read_bytes
from hindmost.jobs.core.durable import write_durably
from hindmost.parsing import PLAIN_NAME, parse_json
from hindmost.records import check_version, from_document, to_document

VERSION = 1
PREFIX, SUFFIX = "outcome-", ".json"


class Cause(StrEnum):
    """Why a run ended; the values appear in files of the study's folder."""

    RUNNING = "running"
    """It has not ended; if its driver was killed, another one says how it ended."""
    DONE = "done"
    FAILED = "failed"
    """It ended with an error that would occur again: usage, data or environment."""
    CRASHED = "crashed"
    """A signal or an unknown status ended it; another attempt may succeed."""
    RUN_LIMIT = "run limit"
    STOPPED = "stopped"
    """The end of the allocation or a signal to the driver ended it."""
    NODE_FAILED = "node failed"
    MEMORY = "out of memory"
    FORGIVEN = "forgiven"
    """It failed, and 'study submit --again' asked for the run all the same."""


UNCOUNTED = frozenset({Cause.RUNNING, Cause.STOPPED, Cause.FORGIVEN})
"""Causes after which a run is repeated as often as they come."""
RETRIED = UNCOUNTED | {Cause.CRASHED, Cause.NODE_FAILED}
"""Causes after which a run is repeated."""


FileName = Annotated[
    str, Meta(pattern=PLAIN_NAME, description="the name of a file in the run's folder")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """One attempt at a run and its end, written when it begins and when it ends.

    Attributes
    ----------
    run : str
        Its id.
    cause : Cause
    status : int
        Exit status; minus the signal's number where one ended it.
    attempt : int
        From 1.
    seconds : float
    allocation, job : str
        Where it ran: the plan's allocation and the scheduler's job.
    nodes : tuple of str
    files : tuple of str
        Run files, by name.
    message : str
        The error message of the run, for a person.
    """

    run: str
    cause: Cause
    status: int
    attempt: int
    seconds: float
    allocation: str
    job: str
    nodes: tuple[str, ...]
    files: tuple[FileName, ...]
    message: str


class Completion(StrEnum):
    """Whether a run is done, still to do, or given up."""

    DONE = "done"
    LEFT = "left"
    GIVEN_UP = "failed for good"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The contents of a run's folder.

    Attributes
    ----------
    outcomes : tuple of RunOutcome
        One for each attempt, in order.
    files : frozenset of str
        Names of everything in the folder.
    """

    outcomes: tuple[RunOutcome, ...] = ()
    files: frozenset[str] = frozenset()

    @property
    def done(self) -> RunOutcome | None:
        """The outcome of a finished attempt whose files all exist."""
        for outcome in self.outcomes:
            if outcome.cause is Cause.DONE and self.files.issuperset(outcome.files):
                return outcome
        return None

    @property
    def running(self) -> RunOutcome | None:
        """The attempt that has not ended, or whose driver was killed."""
        last = self.outcomes[-1] if self.outcomes else None
        return last if last is not None and last.cause is Cause.RUNNING else None

    @property
    def attempts(self) -> int:
        """The number of the last attempt."""
        return max((outcome.attempt for outcome in self.outcomes), default=0)


def completion_of(record: RunRecord, *, max_retries: int) -> Completion:
    """Decide whether a run is done, still to do, or given up.

    Parameters
    ----------
    max_retries : int
        How often a run that crashed, or whose node failed, is repeated.
    """
    if record.done is not None:
        return Completion.DONE
    held = [outcome.cause for outcome in record.outcomes if outcome.cause is not Cause.DONE]
    if any(cause not in RETRIED for cause in held):
        return Completion.GIVEN_UP
    tries = sum(cause not in UNCOUNTED for cause in held)
    return Completion.GIVEN_UP if tries > max_retries else Completion.LEFT


def write_outcome(folder: Path, outcome: RunOutcome) -> None:
    """Write an outcome beside the files of its run, whole or not at all."""
    text = json.dumps({"version": VERSION, **to_document(outcome)}, indent=1, allow_nan=False)
    write_durably(folder / f"{PREFIX}{outcome.attempt}{SUFFIX}", text + "\n")


def read_outcome(path: str | Path) -> RunOutcome:
    """Read an outcome.

    Raises
    ------
    DataError
        The file is not an outcome, or a newer hindmost wrote it.
    """
    try:
        found = parse_json(read_bytes(path))
        if isinstance(found, dict):
            check_version(found.pop("version", None), VERSION, path)
        return from_document(RunOutcome, found)
    except UnknownSchemaError:
        raise
    except ValueError as error:
        why = str(error).rstrip(".")
        raise DataError(
            f"{path} is not the outcome of a run ({why}). Remove it to have the run repeated."
        ) from error


def read_record(folder: str | Path) -> RunRecord:
    """Read the contents of a run's folder; empty if there is no folder."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - of 10,000 runs
    except FileNotFoundError:
        return RunRecord()
    outcomes = [
        read_outcome(os.path.join(folder, name))  # noqa: PTH118 - of 10,000 runs
        for name in names
        if name.startswith(PREFIX) and name.endswith(SUFFIX)
    ]
    outcomes.sort(key=lambda outcome: outcome.attempt)
    return RunRecord(outcomes=tuple(outcomes), files=frozenset(names))
