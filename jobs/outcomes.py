"""Outcomes on disk, and what they come to: done, to be done (again), or given up."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from hindmost.errors import DataError
from hindmost.jobs.durable import write_durably
from hindmost.jobs.outcome import RETRIED, Cause, Outcome

VERSION = 1
PREFIX, SUFFIX = "outcome-", ".json"


class Standing(StrEnum):
    """What is to be done about a run."""

    DONE = "done"
    LEFT = "left"
    GIVEN_UP = "failed for good"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What the folder of a run holds.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One an attempt, in their order.
    files : frozenset of str
        Names of everything in the folder.
    """

    outcomes: tuple[Outcome, ...] = ()
    files: frozenset[str] = frozenset()

    @property
    def done(self) -> Outcome | None:
        """The outcome of an attempt that is done and whose files are all there."""
        for outcome in self.outcomes:
            if outcome.cause is Cause.DONE and self.files.issuperset(outcome.files):
                return outcome
        return None

    @property
    def attempts(self) -> int:
        """The number of the last attempt."""
        return max((outcome.attempt for outcome in self.outcomes), default=0)


def standing(record: RunRecord, *, max_retries: int, forgiven: int = 0) -> Standing:
    """Say what is to be done about a run.

    Parameters
    ----------
    max_retries : int
        How often a run that crashed, or whose node failed, is tried again.
    forgiven : int
        Attempts up to this one are not held against the run.
    """
    if record.done is not None:
        return Standing.DONE
    held = [
        outcome.cause
        for outcome in record.outcomes
        if outcome.attempt > forgiven and outcome.cause is not Cause.DONE
    ]
    if any(cause not in RETRIED for cause in held):
        return Standing.GIVEN_UP
    tries = sum(cause is not Cause.STOPPED for cause in held)
    return Standing.GIVEN_UP if tries > max_retries else Standing.LEFT


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """Write an outcome beside the files of its run, whole or not at all."""
    text = json.dumps({"version": VERSION, **asdict(outcome)}, indent=1, allow_nan=False)
    write_durably(folder / f"{PREFIX}{outcome.attempt}{SUFFIX}", text + "\n")


def read_outcome(path: str | Path) -> Outcome:
    """Read an outcome.

    Raises
    ------
    DataError
        The file is no outcome, or one of a newer hindmost.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - of 10,000 runs
            found = json.loads(file.read())
        version = found.pop("version")
        if version != VERSION:
            raise DataError(
                f"{path} has version {version}; this hindmost reads {VERSION}: take a newer one."
            )
        return Outcome(
            **{
                **found,
                "cause": Cause(found["cause"]),
                "nodes": tuple(found["nodes"]),
                "files": tuple(found["files"]),
            }
        )
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is not the outcome of a run ({error}). Remove it: the run is done again."
        ) from error


def read_record(folder: str | Path) -> RunRecord:
    """Read what the folder of a run holds; nothing where there is none."""
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


def read_records(runs: Path, ids: Sequence[str]) -> dict[str, RunRecord]:
    """Read what the folders of all runs hold; of 10,000 within a second or two."""
    try:
        with os.scandir(runs) as entries:
            there = {entry.name for entry in entries}
    except FileNotFoundError:
        there = set()
    empty = RunRecord()
    return {
        each: read_record(f"{runs}/{each}") if each in there else empty  # a string: many
        for each in ids
    }
