"""Who does work that falls into parts: this process, or many.

Analysis and models are handed an executor and use its `map` alone; whether threads, processes or
ranks of MPI stand behind it is the command's choice. What is mapped is a function of a module and
its arguments, so that another process can be sent both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Executor(Protocol):
    """What executors of the standard library and of mpi4py have in common."""

    def map(
        self, function: Callable[..., Result], /, *arguments: Iterable[Any]
    ) -> Iterable[Result]:
        """Call a function with each set of arguments; results come in that order."""


class ThisProcess:
    """An executor that does one part after the other, here."""

    def map(
        self, function: Callable[..., Result], /, *arguments: Iterable[Any]
    ) -> Iterator[Result]:
        """Call a function with each set of arguments."""
        return map(function, *arguments)
