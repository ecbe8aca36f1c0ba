"""The interface of schedulers, and the states of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation


class JobState(StrEnum):
    """The state of a job; `hindmost study status --json` has the values."""

    PENDING = "pending"
    STUCK = "stuck"
    """Pending for a reason that never goes away."""
    RUNNING = "running"
    COMPLETED = "completed"
    """The script ended with status 0."""
    LEFT = "left"
    """The script ended with status 75: runs remain."""
    FAILED = "failed"
    TIME_LIMIT = "time limit"
    MEMORY = "out of memory"
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    DEPENDENCY = "dependency never satisfied"
    UNKNOWN = "unknown"
    """The scheduler does not know the job; never counted as a success."""


REFUSED = (
    "Correct the script and submit the folder with 'hindmost study submit'; or, if no script of "
    "the study was submitted yet, correct its machine or its limits, remove the study's folder and "
    "submit the study again."
)
"""What to do when a scheduler refuses a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, as its scheduler reports it.

    Attributes
    ----------
    id : str
        Given by the scheduler.
    state : JobState
    reason : str
        In the scheduler's own words: state, reason and exit status.
    nodes : str
        Where it runs or ran, if known.
    """

    id: str
    state: JobState
    reason: str
    nodes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a script is made of.

    Attributes
    ----------
    allocation : Allocation
    machine : MachineProfile
    folder : Path
        Of the study, absolute.
    study : str
    """

    allocation: Allocation
    machine: MachineProfile
    folder: Path
    study: str


@runtime_checkable
class Scheduler(Protocol):
    """Renders scripts, and submits, watches and cancels jobs; every call has a time limit."""

    @property
    def name(self) -> str:
        """The name in study files."""

    def render(self, script: Script) -> str:
        """Return the script: byte for byte the same text for the same allocation."""

    def submit(self, path: Path) -> str:
        """Submit a script and return the id of its job."""

    def look(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return the states of jobs; UNKNOWN for a job that the scheduler does not know."""

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs; ended ones are ignored."""

    def left_s(self, id: str) -> float | None:
        """Return the seconds until the end of a running job; None if unknown."""
