"""When one rank fails: one message, and every rank ends."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import sys
import time
from array import array
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from hindmost.errors import HindmostError, UsageError
from hindmost.failure import describe, show_traceback
from hindmost.output import warn, write_lines

T = TypeVar("T")

GRACE_S = 1.0
"""How long a failed rank waits for the others to fail as well."""
STAGGER_S = 0.02
"""Delay between the messages of failed ranks, so that the first one ends the rest."""
LAUNCHER_S = 4.0
"""How long a launcher may take to end the other ranks when one has ended with an error."""
READING_S = 0.2
"""For the launcher to read what a rank has said: MPICH's ends without a look at what is left."""


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


def on_all(communicator: Any, action: Callable[[], T]) -> T:
    """Do something on every rank; where any fails, all raise the error of the first; collective."""
    result, failure = None, None
    try:
        result = action()
    except HindmostError as error:
        failure = error
    for each in communicator.allgather(failure):
        if each is not None:
            raise each
    return result  # type: ignore[return-value]  # what the action returned


def met(everybody: Any, most_s: float) -> bool:
    """Wait for a request of all ranks, so many seconds at most; return whether it is done."""
    end = time.monotonic() + most_s
    while not everybody.Test():
        if time.monotonic() > end:
            return False
        time.sleep(0.0005)
    return True


def first_failed(communicator: Any, error: BaseException | None) -> int | None:
    """Return the first rank on which a program failed, None if none did; collective.

    Ranks that did not fail wait for the others as long as it takes. A rank that failed waits for a
    grace period only: the others may be waiting for it in MPI calls of the program, where no
    agreement reaches them. Its error is then shown first, and when the process ends for it, MPI
    ends the other ranks.

    Parameters
    ----------
    communicator : MPI.Intracomm
        Not used by anything else; not to be freed after a failure.
    error : BaseException or None
        What failed on this rank.
    """
    if communicator.size == 1:
        return None if error is None else communicator.rank
    from mpi4py import MPI

    mine = array("i", [communicator.size if error is None else communicator.rank])
    first = array("i", [0])
    everybody = communicator.Iallreduce([mine, MPI.INT], [first, MPI.INT], MPI.MIN)
    if not met(everybody, GRACE_S if error is not None else math.inf):
        # The reduction goes on, and needs its buffers as long as the process lives.
        atexit.register(_end_others, communicator, everybody, error, (mine, first))
        return int(communicator.rank)
    return first[0] if first[0] < communicator.size else None


def _end_others(communicator: Any, everybody: Any, error: BaseException | None, _: Any) -> None:
    """End the other ranks if this process ends for an error that they know nothing of."""
    from mpi4py import MPI

    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    else:
        status = 1 if getattr(sys, "last_value", None) is not None else 0  # else it was caught
    if status == 0 or MPI.Is_finalized() or everybody.Test():
        return
    await_turn(communicator.rank)
    warn(
        f"rank {communicator.rank}: the recorded program failed here while other ranks were in it, "
        "so all ranks end."
    )
    write_lines(flush=True)
    _abort(communicator, status)


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
    if not met(communicator.Ibarrier(), GRACE_S):
        await_turn(communicator.rank)
        if message:
            warn(f"rank {communicator.rank}: {message}")
        _abort(communicator, status)
    if communicator.rank == 0 and message:
        warn(message)
    communicator.Barrier()
    return status


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
    except BaseException as error:
        show_traceback(error)
        return end_together(communicator, *describe(error))


def end_alone(rank: int, error: BaseException) -> int:
    """End all ranks of a command that failed on this one, which cannot meet the others.

    What was asked for is the same on every rank, and so is what is wrong with it: rank 0 speaks.
    What a machine lacks may be so on one node only: rank 0 speaks at once, and the others are ended
    before it is their turn. Returns the status.
    """
    message, status = describe(error)
    if rank > 0:
        if isinstance(error, UsageError):
            return status
        time.sleep(LAUNCHER_S)
        await_turn(rank)
    if message:
        warn(f"rank {rank}: {message}" if rank > 0 else message)
    mpi = sys.modules.get("mpi4py.MPI")
    if isinstance(error, HindmostError):
        return status  # the process ends in order, and the launcher ends the others
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        _abort(mpi.COMM_WORLD, status)
    return status


def await_turn(rank: int) -> None:
    """Let the ranks of lower numbers speak first: the first one that does ends the rest."""
    time.sleep(min(STAGGER_S * rank, LAUNCHER_S))


def _abort(communicator: Any, status: int) -> NoReturn:
    """End all ranks through MPI, once the launcher has read what this one has said.

    MPICH's own abort ends in ``exit``, where UCX takes down its connections under a thread that
    still serves them: now and then that thread calls ``abort``, and the status is lost. So the
    first thing that ``exit`` does here is to end the process. Where its abort comes back before the
    launcher has ended the ranks, nothing else may be said.
    """
    time.sleep(READING_S)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):
        libc.fflush(None)
        libc.on_exit(libc._exit, None)  # called with the status of exit, before older handlers
    communicator.Abort(status)
    os._exit(status)


def reporter(rank: int) -> Callable[[str], None]:
    """Return what tells the person on rank 0, and nobody elsewhere."""

    def report(text: str) -> None:
        if rank == 0:
            warn(text)

    return report
