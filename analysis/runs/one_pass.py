"""What charts of a whole run need, from one pass over its file in blocks: pooled maps, and sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.analysis.show.heat_map import bodies_in_column, maxima
from hindmost.harness.runfile.reader import Run


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
    """

    bodies: NDArray[np.int64]
    durations: NDArray[np.float64]
    work: NDArray[np.float64]
    phases_of_ranks: NDArray[np.float64]


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

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        rows, bodies, longest = block.rows, self._bodies, self._longest
        self._of_ranks += block.phases_of_ranks
        first, last = np.searchsorted(bodies, [rows.start, rows.stop])
        if last > first:
            # Columns of the map that begin in this block, and one that began in an earlier block.
            columns = np.arange(first, last) // self._width
            begins = np.flatnonzero(np.diff(columns, prepend=-1))
            at_columns = slice(int(columns[0]), int(columns[-1]) + 1)
            for at, times in enumerate((block.duration, block.work)):
                shown = times[bodies[first:last] - rows.start]
                pooled = shown if self._width == 1 else maxima(shown, begins)
                np.maximum(longest[at, at_columns], pooled, out=longest[at, at_columns])

    def result(self) -> OnePass:
        """Return all of it."""
        return OnePass(
            bodies=self._bodies,
            durations=self._longest[0],
            work=self._longest[1],
            phases_of_ranks=self._of_ranks.T,
        )
