"""What a rank notes of a user's loop, and the iterations and phase times that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.runfile.attributes import Json
from hindmost.harness.runfile.bodies import PHASES
from hindmost.text import named_ranks

LOCAL = PHASES.index("local")
IN_MPI = len(MPI_PHASES)
"""The first phases of an iteration are those of MPI."""
MOST_NAMED = 5
"""Iterations that raised, and ranks of each, that a sentence names."""
MOST_KEPT = 100
"""Iterations that raised that the file names."""


@dataclass(slots=True, kw_only=True)
class LoopNotes:
    """What one rank notes while its loop runs.

    Attributes
    ----------
    names : list of str
        Phases in the order in which they first came.
    begins, ends : list of int
        Nanoseconds, of every finished iteration.
    phases : list of list of int
        Nanoseconds by phase, of every finished iteration; phases that came later are missing.
    between : list of list of int
        Nanoseconds by MPI phase, after every finished iteration and before the next.
    numbers : list of int
        Of every finished iteration, counted from 0 among those that began.
    raised : dict of int to str
        Iterations that raised, and the error.
    regions : list of (int, int)
        Nanoseconds at begin and end of phases that count as a whole, MPI or not.
    """

    names: list[str] = field(default_factory=lambda: list(PHASES))
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    phases: list[list[int]] = field(default_factory=list)
    between: list[list[int]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    raised: dict[int, str] = field(default_factory=dict)
    regions: list[tuple[int, int]] = field(default_factory=list)


def iteration_times(
    notes: LoopNotes, names: list[str], finished: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the times of the iterations that all ranks finished.

    The time of any other iteration counts to the one before it; before the first and after the
    last one it lies outside all iterations.

    Parameters
    ----------
    names : list of str
        Phases of all ranks.
    finished : list of int
        Iterations that all ranks finished, ascending.

    Returns
    -------
    begin, end : int64 array, shape (iteration,), nanoseconds
    phases : float64 array, shape (iteration, phase), nanoseconds
    """
    kept = np.searchsorted(notes.numbers, finished)
    begins, ends = np.array(notes.begins), np.array(notes.ends)
    phases = np.zeros((begins.size, len(names)))
    order = [names.index(name) for name in notes.names]
    for iteration, spent in enumerate(notes.phases):
        phases[iteration, order[: len(spent)]] = spent
    # Time between two iterations counts to the first, so that the parts sum to the whole: MPI by
    # phase, the rest as local work.
    gaps = np.append(begins[1:] - ends[:-1], 0)
    between = np.array(notes.between)
    last = kept[-1]
    gaps[last] = between[last] = 0  # the loop ends with it
    phases[:, :IN_MPI] += between
    phases[:, LOCAL] += gaps - between.sum(axis=1)
    begin = begins[kept]
    end = np.append(begin[1:], ends[last])
    return begin, end, np.add.reduceat(phases[: last + 1], kept, axis=0)


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
        for each in raised[:MOST_NAMED]
    ]
    if len(raised) > MOST_NAMED:
        clauses.append(f"{len(raised) - MOST_NAMED} further iterations raised")
    begun = [len(done) + len(each) for done, each in zip(finished, raised_on, strict=True)]
    if min(begun) < max(begun):
        clauses.append(f"the ranks began {min(begun)} to {max(begun)} iterations")
    sentence = ""
    if clauses:
        sentence = f"{'; '.join(clauses)}; iterations that all ranks finished are kept"
    return raised[:MOST_KEPT], sentence
