"""A few ranks of a run file, read without the others where that is quicker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.checks import BLOCK_BYTES
from hindmost.harness.runfile.reader import Run

FEW_OF = 64
"""Columns of a file, of which a single one is read by itself and not with the others."""


def few(run: Run, columns: int) -> bool:
    """Tell whether so many columns of a run are read one by one."""
    return FEW_OF * columns <= run.columns


def blocks_of(run: Run, columns: int) -> Iterator[slice]:
    """Yield slices of rows of which some columns can be read at once; see `Run.blocks`."""
    if not few(run, columns):
        yield from run.blocks()
        return
    rows = max(1, BLOCK_BYTES // (8 * columns))
    for first in range(0, run.bodies, rows):
        yield slice(first, min(first + rows, run.bodies))


def columns_of(
    run: Run, name: str, places: NDArray[np.int64], rows: slice = slice(None)
) -> NDArray[Any]:
    """Read a variable, or some of its rows, of some ranks: array, shape (row, rank, ...).

    Parameters
    ----------
    places : int64 array, shape (rank,)
        Of the columns in the file; at least one.
    """
    if not few(run, places.size):
        return run.variable(name, rows)[:, places]
    with run.reading() as file:
        return np.stack([file[name][rows, place] for place in places.tolist()], axis=1)
