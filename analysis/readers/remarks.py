"""What a reader has to say of a file: a sentence each, and a count where there are many alike."""

from __future__ import annotations

SHOWN = 5
"""Remarks of one sort that are given in full."""


def some(names: list[str], shown: int = 3) -> str:
    """List the first few names, and count the rest."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


class Remarks:
    """Sentences by sort, in the order in which the sorts came up."""

    def __init__(self) -> None:
        self._sorts: dict[str, list[str]] = {}

    def add(self, sort: str, sentence: str) -> None:
        """Add a sentence.

        Parameters
        ----------
        sort : str
            What sentences of this sort have in common, to be counted when there are many.
        """
        self._sorts.setdefault(sort, []).append(sentence)

    def sentences(self) -> tuple[str, ...]:
        """Return the first few sentences of every sort, each sort followed by how many more."""
        found: list[str] = []
        for sort, sentences in self._sorts.items():
            found += sentences[:SHOWN]
            if len(sentences) > SHOWN:
                found.append(f"{len(sentences) - SHOWN} more of this sort: {sort}.")
        return tuple(found)
