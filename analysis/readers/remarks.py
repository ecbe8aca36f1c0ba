"""Remarks of readers: a sentence each, and a count of many similar ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hindmost.errors import DataError
from hindmost.text import counted

SHOWN = 5
"""Remarks of one sort that are given in full."""


def few(sentences: Sequence[str], most: int) -> list[str]:
    """Return the first few sentences of `Remarks`, and say how many follow, one a line."""
    left = len(sentences) - most
    return [*sentences[:most], *([f"{counted(left, 'more line')} of remarks"] if left > 0 else [])]


class Remarks:
    """Sentences by sort, in the order in which the sorts came up."""

    def __init__(self) -> None:
        self._sorts: dict[str, list[str]] = {}

    def add(self, sort: str, sentence: str) -> None:
        """Add a sentence.

        Parameters
        ----------
        sort : str
            The common subject of similar sentences, to count them if there are many.
        """
        self._sorts.setdefault(sort, []).append(sentence)

    @contextmanager
    def leaving_out(self, sort: str, part: str) -> Iterator[None]:
        """Leave out a part of a file that cannot be read, with a remark; the rest is read.

        Parameters
        ----------
        sort : str
            See `add`.
        part : str
            What is left out, in the singular.
        """
        try:
            yield
        except DataError as error:
            self.add(sort, f"{error} The {part} is left out.")

    def sentences(self) -> tuple[str, ...]:
        """Return the first few sentences of every sort, each sort followed by how many more."""
        found: list[str] = []
        for sort, sentences in self._sorts.items():
            found += sentences[:SHOWN]
            if len(sentences) > SHOWN:
                found.append(f"{len(sentences) - SHOWN} more of this sort: {sort}.")
        return tuple(found)
