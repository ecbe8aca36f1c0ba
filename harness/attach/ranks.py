"""Ranks inside one process: code that was written for MPI runs on data that one process holds.

Every rank is a thread, and only one of them runs at a time, from one collective to the next, in the
order of the ranks. So results do not depend on chance, and what a rank needs for a moment is needed
once, not once for each rank.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class LeftError(Exception):
    """Another rank failed."""


class Circle(Generic[T]):
    """Runs a function on some ranks, each of which gets a `Member`."""

    def __init__(self, size: int, work: Callable[[Member], T]) -> None:
        self.size = size
        self._work = work
        self._turns = [threading.Semaphore(0) for _ in range(size)]
        self._given: list[Any] = [None] * size
        self._exchanged: list[Any] = []
        self._exchanges = 0
        self._ended = [False] * size
        self._ended_at: int | None = None
        self._results: list[Any] = [None] * size
        self.failure: BaseException | None = None

    def run(self) -> list[T]:
        """Return what the function returned on every rank; raise what it raised first."""
        threads = [
            threading.Thread(target=self._run_rank, args=(rank,), daemon=True)
            for rank in range(self.size)
        ]
        for thread in threads:
            thread.start()
        self._turns[0].release()
        try:
            for thread in threads:
                thread.join()
        except BaseException as error:  # Ctrl-C: the ranks leave at their next collective
            self.failure = self.failure or error
            for thread in threads:
                thread.join()
            raise
        if self.failure is not None:
            raise self.failure
        return self._results

    def _run_rank(self, rank: int) -> None:
        """Run the function on one rank, in its turns."""
        self._turns[rank].acquire()
        try:
            if self.failure is None:
                self._results[rank] = self._work(Member(self, rank))
        except LeftError:
            pass
        except BaseException as error:
            self.failure = self.failure or error
        self._ended[rank] = True
        if self._ended_at is None:
            self._ended_at = self._exchanges
        self._pass_on(rank)

    def _pass_on(self, rank: int) -> None:
        """Let the next rank run that has not ended."""
        others = chain(range(rank + 1, self.size), range(rank + 1))
        following = next((each for each in others if not self._ended[each]), None)
        if following is not None:
            self._turns[following].release()

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """Give a value, and return those of all ranks when each has given one."""
        number = self._exchanges
        self._given[rank] = value
        if rank == self.size - 1:
            self._exchanged, self._given = self._given, [None] * self.size
            self._exchanges += 1
        self._pass_on(rank)
        self._turns[rank].acquire()
        if self.failure is None and (self._exchanges == number or self._left_before(number)):
            self.failure = RuntimeError("a rank ended while others wait for it in a collective")
        if self.failure is not None:
            raise LeftError
        return self._exchanged

    def _left_before(self, number: int) -> bool:
        """Tell whether a rank had ended before an exchange."""
        return self._ended_at is not None and self._ended_at <= number


class Member:
    """A rank of a `Circle`, with the methods of mpi4py that writing a run file needs."""

    def __init__(self, circle: Circle[Any], rank: int) -> None:
        self._circle = circle
        self.rank = rank
        self.size = circle.size

    def allgather(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        return self._circle.exchange(self.rank, value)

    def gather(self, value: T, root: int = 0) -> list[T] | None:
        """Return the values of all ranks on one of them."""
        values = self._circle.exchange(self.rank, value)
        return values if self.rank == root else None

    def bcast(self, value: T, root: int = 0) -> T:
        """Return the value of one rank."""
        values: list[T] = self._circle.exchange(self.rank, value)
        return values[root]

    def scatter(self, values: list[T] | None, root: int = 0) -> T:
        """Return this rank's part of what one rank has."""
        given = self._circle.exchange(self.rank, values)[root]
        part: T = given[self.rank]
        return part

    def allreduce(self, value: int) -> int:
        """Return the sum over all ranks."""
        return sum(self._circle.exchange(self.rank, value))

    def Gather(self, part: NDArray[Any], whole: NDArray[Any] | None, root: int = 0) -> None:  # noqa: N802
        """Copy the parts of all ranks into an array of one of them."""
        parts = self._circle.exchange(self.rank, part)
        if self.rank == root and whole is not None:
            for row, each in zip(whole, parts, strict=True):
                np.copyto(row, each)

    def Barrier(self) -> None:  # noqa: N802
        """Wait for all ranks."""
        self._circle.exchange(self.rank, None)


def on_ranks(size: int, work: Callable[[Any], T]) -> list[T]:
    """Run a function on ranks of this process; return the results of all.

    Parameters
    ----------
    size : int
    work : callable
        Gets a communicator, as `Member` has it; must call the same collectives on all ranks.
    """
    return Circle(size, work).run()
