"""What charts of a whole run need, from one pass over its file in blocks.

Maps are pooled while they are read, phases are summed, and of a run that would fill memory a
sample of its times is kept for distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.model_input import MOST_IN_MEMORY
from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.analysis.show.heat_map import bodies_in_column, maxima
from hindmost.harness.runfile.reader import Run

SPREAD = 2654435761
"""Multiplier of Fibonacci hashing: spreads the samples of iterations over the ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePass:
    """What charts of a whole run need.

    Attributes
    ----------
    bodies : int64 array, shape (body,)
        Iterations that maps show.
    durations, work : float64 array, shape (column, rank), seconds
        The longest of the iterations that a column of a map pools.
    phases_of_ranks : float64 array, shape (phase, rank), seconds
        Summed over all iterations.
    one_in : int
        Of so many times of an iteration one is in the sample; 1: all are.
    some_durations, some_work : float64 array, shape (iteration, sample), seconds
        Of every iteration the times of other ranks.
    """

    bodies: NDArray[np.int64]
    durations: NDArray[np.float64]
    work: NDArray[np.float64]
    phases_of_ranks: NDArray[np.float64]
    one_in: int
    some_durations: NDArray[np.float64]
    some_work: NDArray[np.float64]


def one_pass(run: Run, place: int | None) -> OnePass:
    """Read a run once.

    Parameters
    ----------
    run : Run
    place : int or None
        Maps show the iterations at this place of the restart cycle; None: all of them.
    """
    return tallied(run, for_charts(place))


def for_charts(place: int | None) -> Wanted[OnePass]:
    """Return what `one_pass` reads, to be read together with other results."""
    return Wanted(ChartsTally, (place,), checked=False, large=True)


class ChartsTally:
    """What charts need of a run, gathered block by block."""

    def __init__(self, run: Run, place: int | None) -> None:
        self._bodies = (
            np.arange(run.bodies) if place is None else np.flatnonzero(run.position == place)
        )
        self._width = bodies_in_column(self._bodies.size)
        self._longest = np.zeros((2, -(-self._bodies.size // self._width), run.columns))
        self._of_ranks = np.zeros((run.columns, len(run.phases)))
        self._one_in = max(-(-run.bodies * run.columns // MOST_IN_MEMORY), 1)
        self._samples = run.columns // self._one_in
        self._sampled = np.empty((2, run.bodies, self._samples))

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        rows, bodies, longest = block.rows, self._bodies, self._longest
        both = block.duration, block.work
        self._of_ranks += block.phases_of_ranks
        first, last = np.searchsorted(bodies, [rows.start, rows.stop])
        if last > first:
            # Columns of the map that begin in this block, and one that began in an earlier block.
            columns = np.arange(first, last) // self._width
            begins = np.flatnonzero(np.diff(columns, prepend=-1))
            at_columns = slice(int(columns[0]), int(columns[-1]) + 1)
            for at, times in enumerate(both):
                shown = times[bodies[first:last] - rows.start]
                pooled = shown if self._width == 1 else maxima(shown, begins)
                np.maximum(longest[at, at_columns], pooled, out=longest[at, at_columns])
        some = sample_of(np.arange(rows.start, rows.stop), self._samples, self._one_in)
        for at, times in enumerate(both):
            self._sampled[at, rows] = np.take_along_axis(times, some, axis=1)

    def result(self) -> OnePass:
        """Return all of it."""
        return OnePass(
            bodies=self._bodies,
            durations=self._longest[0],
            work=self._longest[1],
            phases_of_ranks=self._of_ranks.T,
            one_in=self._one_in,
            some_durations=self._sampled[0],
            some_work=self._sampled[1],
        )


def sample_of(bodies: NDArray[np.int64], samples: int, one_in: int) -> NDArray[np.int64]:
    """Return which ranks are in the sample of some iterations: shape (iteration, sample).

    Every nth rank from a first one that differs from iteration to iteration, so that neither some
    ranks nor some places of a cycle are left out.
    """
    first = (bodies.astype(np.uint64) * np.uint64(SPREAD) % np.uint64(1 << 32)).astype(np.float64)
    offset = (first / float(1 << 32) * one_in).astype(np.int64)
    return np.asarray(offset[:, None] + one_in * np.arange(samples))
