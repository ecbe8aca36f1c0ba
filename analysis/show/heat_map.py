"""The (iteration, rank) colour map: the one way to draw a matrix of times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.chart import worth_showing
from hindmost.analysis.show.csv_file import Columns
from hindmost.text import Unit, percent, seconds, unit_for

MAX_COLUMNS = 1200
MIN_RANGE = 1.1
"""Longest over shortest time of an axis at least: what is nearly equal looks equal."""
TYPICAL = 0.9
"""Quantile of the cells of what stands out that colours reach."""
MAX_ROWS = 600
"""Of ranks, and steps of a chart over them; neighbours are pooled."""


PERCENT = Unit("%", 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Callout:
    """What stands out in a map, as the finding that names it says.

    Attributes
    ----------
    text : str
        What it is; empty to point only.
    ranks : tuple of int
        Numbers of the ranks.
    iterations : tuple of int
        Those that it is about; empty for all.
    """

    text: str
    ranks: tuple[int, ...]
    iterations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Times of bodies on ranks, neighbours pooled by their maximum.

    Attributes
    ----------
    times : float64 array, shape (column, row), seconds
        The longest of what was pooled into each cell.
    bodies : int array, shape (body,)
        Numbers of the bodies that are shown, in order.
    ranks : int
        Number of ranks.
    bodies_a_column, ranks_a_row : int
        How many were pooled; the last column and row may hold fewer.
    what : str
        What is timed.
    selection : str
        Which bodies are shown if not all are; may be empty.
    numbers : int array, shape (rank,), or None
        Of the ranks that are shown, where not all of a run are.
    in_percent : bool
        Whether cells are shares, not times.
    callouts : tuple of Callout
        What stands out.
    """

    title: str
    what: str
    selection: str
    times: NDArray[np.float64]
    bodies: NDArray[np.int64]
    ranks: int
    bodies_a_column: int
    ranks_a_row: int
    numbers: NDArray[np.int64] | None = None
    of_how_many: str = ""
    in_percent: bool = False
    callouts: tuple[Callout, ...] = ()

    @property
    def unit(self) -> Unit:
        """The unit of the colours."""
        return PERCENT if self.in_percent else unit_for(self.times)

    def written(self, value: float) -> str:
        """Write the value of a cell."""
        return percent(value) if self.in_percent else seconds(value)

    @property
    def highest(self) -> str:
        """What the highest of several cells is called."""
        return "largest" if self.in_percent else "slowest"

    @property
    def first_body(self) -> NDArray[np.int64]:
        """The first body of every column: int array, shape (column,)."""
        return self.bodies[:: self.bodies_a_column]

    @property
    def last_body(self) -> NDArray[np.int64]:
        """The last body of every column: int array, shape (column,)."""
        ends = np.arange(1, self.times.shape[0] + 1) * self.bodies_a_column
        last: NDArray[np.int64] = self.bodies[np.minimum(ends, self.bodies.size) - 1]
        return last

    @property
    def colour_limits_s(self) -> tuple[float, float]:
        """The times at the ends of the colours, which tell apart most cells and what stands out."""
        low, high = worth_showing(self.times)
        pointed = [
            float(np.quantile(cells, TYPICAL)) for cells in map(self.cells_of, self.callouts)
        ]
        return low, max(high, low * MIN_RANGE, 1e-12, *pointed)

    @property
    def stride(self) -> int:
        """Bodies from one that is shown to the next."""
        return int(np.median(np.diff(self.bodies))) if self.bodies.size > 1 else 1

    @property
    def x_label(self) -> str:
        """What a column is."""
        parts = ([self.selection] if self.selection else []) + (
            [f"each column: the {self.highest} of {self.bodies_a_column}"]
            if self.bodies_a_column > 1
            else []
        )
        return "iteration" + (f" ({'; '.join(parts)})" if parts else "")

    @property
    def y_label(self) -> str:
        """What a row is."""
        pooled = self.ranks_a_row
        parts = ([self.of_how_many] if self.of_how_many else []) + (
            [f"each row: the {self.highest} of {pooled}"] if pooled > 1 else []
        )
        return "rank" + (f" ({'; '.join(parts)})" if parts else "")

    @property
    def names(self) -> list[str]:
        """What the ranks are called, in the order of the rows: their numbers."""
        numbers = np.arange(self.ranks) if self.numbers is None else self.numbers
        return [str(number) for number in numbers.tolist()]

    def rows_of(self, callout: Callout) -> list[int]:
        """Return the rows of what stands out, of ranks that are shown."""
        if self.numbers is None:
            return [rank for rank in callout.ranks if rank < self.ranks]
        there = {rank: row for row, rank in enumerate(self.numbers.tolist())}
        return [there[rank] for rank in callout.ranks if rank in there]

    def cells_of(self, callout: Callout) -> NDArray[np.float64]:
        """Return the cells of what stands out: shape (cell,), one of 0 if none are shown."""
        rows = np.unique(np.array(self.rows_of(callout), np.intp) // self.ranks_a_row)
        columns = np.arange(len(self.times))
        if callout.iterations:
            columns = np.searchsorted(self.first_body, callout.iterations, side="right") - 1
        cells = self.times[np.ix_(columns[columns >= 0], rows)].ravel()
        return cells if cells.size else np.zeros(1)

    def coarser(self, columns: int, rows: int) -> HeatMap:
        """Return the map pooled to at most this number of columns and rows."""
        across = -(-self.times.shape[0] // columns)
        up = -(-self.times.shape[1] // rows)
        return replace(
            self,
            times=pool_maximum(pool_maximum(self.times, columns, axis=0), rows, axis=1),
            bodies_a_column=self.bodies_a_column * across,
            ranks_a_row=self.ranks_a_row * up,
        )

    def columns(self) -> Columns:
        """Return the cells: a row for every column of the map, a column for every row of ranks."""
        names, height = self.names, self.ranks_a_row
        ends = zip(names[::height], [*names[height - 1 :: height], names[-1]], strict=False)
        rows = [f"rank_{first}" + (f"_to_{last}" if height > 1 else "") for first, last in ends]
        cells = {
            f"{name}_{'share' if self.in_percent else 's'}": self.times[:, row]
            for row, name in enumerate(rows)
        }
        return {"body": self.first_body, "body_to": self.last_body, **cells}


def pool_maximum(times: NDArray[np.float64], most: int, axis: int) -> NDArray[np.float64]:
    """Pool neighbours along an axis by their maximum, so that no detour disappears.

    Parameters
    ----------
    times : float64 array
    most : int
        The most entries that are left along the axis.
    """
    factor = -(-times.shape[axis] // most)
    if factor <= 1:
        return times
    return maxima(times, np.arange(0, times.shape[axis], factor), axis)


def maxima(
    times: NDArray[np.float64], begins: NDArray[np.integer[Any]], axis: int = 0
) -> NDArray[np.float64]:
    """Return the maxima of stretches along an axis: as of ``np.maximum.reduceat``, but quicker.

    Parameters
    ----------
    times : float64 array, shape (column, row)
    begins : int array, shape (stretch,)
        Where stretches begin, ascending.
    """
    ends = np.append(begins[1:], times.shape[axis])
    shape = list(times.shape)
    shape[axis] = begins.size
    pooled = np.empty(shape)
    for at, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        if axis:
            np.max(times[:, begin:end], axis=1, out=pooled[:, at])
        else:
            np.max(times[begin:end], axis=0, out=pooled[at])
    return pooled


def heat_map(
    times: NDArray[np.float64],
    *,
    title: str,
    what: str = "time of an iteration",
    bodies: NDArray[np.int64] | None = None,
    selection: str = "",
    numbers: NDArray[np.int64] | None = None,
    of_how_many: str = "",
) -> HeatMap:
    """Pool times into a map of at most `MAX_COLUMNS` and `MAX_ROWS`.

    Parameters
    ----------
    times : float64 array, shape (iteration, rank), seconds
        Or (column, rank), where they were pooled as they were read.
    bodies : int array, shape (iteration,), or None
        Numbers of the bodies, where not all of a run are there.
    numbers : int array, shape (rank,), or None
        Of the ranks, where not all of a run are there.
    of_how_many : str
        Note on the axis that says so.
    """
    bodies = np.arange(len(times)) if bodies is None else bodies
    return HeatMap(
        title=title,
        what=what,
        selection=selection,
        times=pool_maximum(pool_maximum(times, MAX_COLUMNS, axis=0), MAX_ROWS, axis=1),
        bodies=bodies,
        ranks=times.shape[1],
        bodies_a_column=bodies_in_column(bodies.size),
        ranks_a_row=-(-times.shape[1] // MAX_ROWS),
        numbers=numbers,
        of_how_many=of_how_many,
    )


def bodies_in_column(bodies: int) -> int:
    """Return how many bodies are pooled into a column of a map."""
    return max(-(-bodies // MAX_COLUMNS), 1)
