"""Ranks that fail together: one message, and every rank ends."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from hindmost.errors import HindmostError, UsageError
from hindmost.statuses import INTERRUPTED

T = TypeVar("T")

GRACE_S = 1.0
"""How long a failed rank waits for the others to fail alike."""
STAGGER_S = 0.02
"""A failed rank speaks this much later than the one before it, so that the first ends the rest."""
LONGEST_STAGGER_S = 3.0
LAUNCHER_S = 4.0
"""How long a launcher may take to end the other ranks when one has ended with an error."""


def on_root(communicator: Any, action: Callable[[], T]) -> T:
    """Do something on rank 0 and give every rank its result, or its error; collective."""
    outcome: tuple[T | None, HindmostError | None] = (None, None)
    if communicator.rank == 0:
        try:
            outcome = (action(), None)
        except HindmostError as error:
            outcome = (None, error)
    result, failure = communicator.bcast(outcome)
    if failure is not None:
        raise failure
    return result  # type: ignore[no-any-return]  # what rank 0's action returned


def end_together(communicator: Any, message: str, status: int) -> int:
    """End all ranks after this one has failed, with one message.

    If every rank fails within a grace period, rank 0 speaks, and all end in order: the status is
    returned. Otherwise the failed rank speaks and MPI ends the others, wherever they are.

    Parameters
    ----------
    communicator : MPI.Intracomm
        All ranks.
    message : str
    status : int
        Exit status for the command.
    """
    everybody = communicator.Ibarrier()
    deadline = time.monotonic() + GRACE_S
    while not everybody.Test():
        if time.monotonic() > deadline:
            time.sleep(min(STAGGER_S * communicator.rank, LONGEST_STAGGER_S))
            say(f"rank {communicator.rank}: {message}")
            communicator.Abort(status)
        time.sleep(0.01)
    if communicator.rank == 0:
        say(message)
    communicator.Barrier()
    return status


def end_before_meeting(rank: int, error: HindmostError) -> int:
    """End a process that failed before the ranks could meet; returns the status.

    What was asked for is the same on every rank, and so is what is wrong with it: rank 0 speaks.
    What a machine lacks may be so on one node only: rank 0 speaks at once, and when it ends the
    launcher ends the others before it is their turn.
    """
    if rank > 0:
        if isinstance(error, UsageError):
            return error.exit_status
        time.sleep(LAUNCHER_S + min(STAGGER_S * rank, LONGEST_STAGGER_S))
    say(f"rank {rank}: {error}" if rank > 0 else str(error))
    return error.exit_status


def perform_together(communicator: Any, action: Callable[[], int]) -> int:
    """Do what a command is for on all ranks; on a failure all end, with one message.

    Parameters
    ----------
    communicator : MPI.Intracomm
        Not the one that the action waits on: a rank that fails meets the others here.
    action : callable
        Collective; returns the exit status.
    """
    try:
        return action()
    except HindmostError as error:
        return end_together(communicator, str(error), error.exit_status)
    except KeyboardInterrupt:
        return end_together(communicator, "interrupted", INTERRUPTED)
    except BaseException:
        defect = f"a defect of hindmost; please report it:\n{traceback.format_exc().rstrip()}"
        return end_together(communicator, defect, 1)


def reporter(rank: int) -> Callable[[str], None]:
    """Return what tells the person on rank 0, and nobody elsewhere."""

    def report(text: str) -> None:
        if rank == 0:
            say(text)

    return report


def say(message: str) -> None:
    """Write the message where errors go."""
    sys.stderr.write(f"hindmost: {message}\n")
    sys.stderr.flush()
