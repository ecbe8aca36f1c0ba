"""What a scheduler does for a study, and the words for what became of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from hindmost.jobs.plan.plan import Allocation
from hindmost.jobs.study.machine import Machine


class JobState(StrEnum):
    """What became of a job; the values stand in the folder of a study."""

    PENDING = "pending"
    STUCK = "stuck"
    """Pending for a reason that will not go away."""
    RUNNING = "running"
    COMPLETED = "completed"
    """The script ended with status 0."""
    LEFT = "left"
    """The script ended with status 75: work is left."""
    FAILED = "failed"
    TIME_LIMIT = "time limit"
    MEMORY = "out of memory"
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    DEPENDENCY = "dependency never satisfied"
    UNKNOWN = "unknown"
    """The scheduler does not know the job: never a success."""


REFUSED = (
    "Correct the script and let 'hindmost resume' submit it; or, as long as no script of the study "
    "was submitted, correct its machine or its limits and 'hindmost submit' it again."
)
"""What to do where a scheduler refuses a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as its scheduler sees it.

    Attributes
    ----------
    id : str
        The scheduler's.
    state : JobState
    reason : str
        In the scheduler's own words: state, reason and exit status.
    nodes : str
        Where it runs or ran, as far as known.
    """

    id: str
    state: JobState
    reason: str
    nodes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script and what its lines say.

    Attributes
    ----------
    allocation : Allocation
    machine : Machine
    folder : Path
        Of the study, absolute.
    study : str
    """

    allocation: Allocation
    machine: Machine
    folder: Path
    study: str


class Scheduler(Protocol):
    """Renders scripts, and submits, watches and cancels jobs; every call has a time limit."""

    @property
    def name(self) -> str:
        """The name in study files."""

    def render(self, script: Script) -> str:
        """Return the script: the same text for the same allocation, to the byte."""

    def submit(self, path: Path) -> str:
        """Submit a script and return the id of its job."""

    def look(self, ids: Sequence[str]) -> dict[str, Job]:
        """Say what became of jobs; one that the scheduler does not know is UNKNOWN."""

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs; those that ended are left as they are."""

    def left_s(self, id: str) -> float | None:
        """Return the seconds until the end of a running job; None where nobody says."""
