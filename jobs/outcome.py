"""What became of a run: written whole or not at all, beside its files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """Why a run ended; the values stand in the folder of a study."""

    DONE = "done"
    FAILED = "failed"
    """It ended with an error that it would end with again: usage, data, environment."""
    CRASHED = "crashed"
    """A signal or an unknown status ended it: worth another try."""
    RUN_LIMIT = "run limit"
    STOPPED = "stopped"
    """The allocation's end or a signal to the driver ended it: not the run's fault."""
    NODE_FAILED = "node failed"
    MEMORY = "out of memory"


RETRIED = frozenset({Cause.CRASHED, Cause.NODE_FAILED, Cause.STOPPED})
"""Causes after which a run is done again; stopped ones without counting as a try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one attempt at a run.

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
        The last words of the run, for a person.
    """

    run: str
    cause: Cause
    status: int
    attempt: int
    seconds: float
    allocation: str
    job: str
    nodes: tuple[str, ...]
    files: tuple[str, ...]
    message: str
