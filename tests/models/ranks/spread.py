"""Processes that hold some ranks each, as threads that meet: MPI's reductions without MPI."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Spread:
    """One process of several; sums in an order that is not that of the ranks."""

    def __init__(self, number: int, mine: NDArray[np.int64], meeting: _Meeting) -> None:
        self.mine = mine
        self._number, self._meeting = number, meeting

    def _reduced(self, values: NDArray[Any], how: Callable[[list[Any]], Any]) -> NDArray[Any]:
        shelf = self._meeting
        shelf.values[self._number] = np.array(values)
        shelf.barrier.wait()
        result = np.array(how(shelf.values[::-1]))
        shelf.barrier.wait()
        return result

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._reduced(values, lambda parts: sum(parts[1:], parts[0]))

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._reduced(values, lambda parts: np.min(parts, axis=0))

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._reduced(values, lambda parts: np.max(parts, axis=0))

    def gathered(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        every = self._reduced(rows, lambda parts: np.concatenate(parts[::-1]))
        return every if self._number == 0 else None

    def shared(self, value: T | None) -> T:
        shelf = self._meeting
        shelf.values[self._number] = value
        shelf.barrier.wait()
        found: T = shelf.values[0]
        shelf.barrier.wait()
        return found


class _Meeting:
    def __init__(self, processes: int) -> None:
        self.barrier = threading.Barrier(processes, timeout=600)
        self.values: list[Any] = [None] * processes


def on_processes(processes: int, ranks: int, work: Callable[[Spread], T]) -> list[T]:
    """Let processes do the same, each with a stretch of the ranks."""
    meeting = _Meeting(processes)
    shares = np.array_split(np.arange(ranks, dtype=np.int64), processes)
    with ThreadPoolExecutor(processes) as pool:
        jobs = [
            pool.submit(work, Spread(number, mine, meeting)) for number, mine in enumerate(shares)
        ]
        return [job.result() for job in jobs]
