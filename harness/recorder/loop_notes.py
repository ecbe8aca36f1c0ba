"""What a rank notes of a user's loop, and which iterations follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.attributes import Json
from hindmost.text import named_ranks

MOST_RAISED = 100
"""Iterations that raised that the file names; a sentence names the first five."""


@dataclass(slots=True, kw_only=True)
class LoopNotes:
    """What one rank notes while its loop runs.

    Attributes
    ----------
    begins, ends : list of int
        Nanoseconds, of every finished iteration.
    numbers : list of int
        Of every finished iteration, counted from 0 among those that began.
    raised : dict of int to str
        Iterations that raised, and the error.
    regions : list of (int, int)
        Nanoseconds at begin and end of the phases of finished iterations.
    called : list of str
        The name of each.
    """

    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    raised: dict[int, str] = field(default_factory=dict)
    regions: list[tuple[int, int]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

    def borders(self, kept: list[int]) -> NDArray[np.int64]:
        """Return where iterations begin, and where the last one ends.

        The time of any other iteration counts to the one before it; before the first and after the
        last one it lies outside all iterations.

        Parameters
        ----------
        kept : list of int
            Iterations that all ranks finished, ascending.

        Returns
        -------
        int64 array, shape (iteration + 1,), nanoseconds
        """
        at = np.searchsorted(self.numbers, kept)
        return np.append(np.array(self.begins)[at], self.ends[at[-1]])


def missing_iterations(
    finished: list[list[int]], raised_on: list[dict[int, str]]
) -> tuple[list[Json], str]:
    """Return which iterations are not in the file, and why.

    Parameters
    ----------
    finished : list of list of int
        Iterations that each rank finished, counted from 0.
    raised_on : list of dict of int to str
        Iterations that raised on each rank, and the errors.

    Returns
    -------
    list of dict
        Number, ranks and errors of those that raised, as the header keeps them.
    str
        Why iterations are missing; empty if none is.
    """
    raised: list[Json] = [
        {
            "iteration": number,
            "ranks": [rank for rank, each in enumerate(raised_on) if number in each],
            "errors": sorted({each[number] for each in raised_on if number in each}),
        }
        for number in sorted(set().union(*raised_on))
    ]
    clauses = [
        f"iteration {each['iteration']} raised {', '.join(each['errors'])} on "
        f"{named_ranks(each['ranks'], len(raised_on))}"
        for each in raised[:5]
    ]
    if len(raised) > 5:
        clauses.append(f"{len(raised) - 5} further iterations raised")
    begun = [len(done) + len(each) for done, each in zip(finished, raised_on, strict=True)]
    if min(begun) < max(begun):
        clauses.append(f"the ranks began {min(begun)} to {max(begun)} iterations")
    sentence = ""
    if clauses:
        sentence = f"{'; '.join(clauses)}; iterations that all ranks finished are kept"
    return raised[:MOST_RAISED], sentence
