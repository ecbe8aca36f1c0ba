"""A question whose answer may take long, while the process that asked goes on polling."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """The answer to a question, found by a thread; nobody waits for it, not even at the end."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._answer: T
        self._error: Exception | None = None
        self.is_answered = False
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._answer = self._ask()
        except Exception as error:
            self._error = error
        self.is_answered = True

    def answer(self) -> T:
        """Return the answer, which is there, or raise the error that there was instead."""
        if self._error is not None:
            raise self._error
        return self._answer
