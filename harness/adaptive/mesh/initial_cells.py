"""The initial cells of a mesh: the base mesh, or given cells, which are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.cells import Cells
from hindmost.harness.adaptive.mesh.order import Tables


def base_part(tables: Tables, rank: int, ranks: int) -> Cells:
    """Return a rank's equal part of the base mesh."""
    columns, rows = tables
    placed = np.argsort((rows[:, None] + columns[None, :]).ravel())
    part = placed[rank * placed.size // ranks : (rank + 1) * placed.size // ranks]
    return Cells(
        i=(part % columns.size).astype(np.int32),
        j=(part // columns.size).astype(np.int32),
        level=np.zeros(part.size, np.int8),
    )


def check_cells(communicator: Any, cells: Cells, base: tuple[int, int], levels: int) -> None:
    """Raise a DataError unless the cells lie in the domain and have its area. Collective."""
    level = cells.level.astype(np.int64)
    outside = (level < 0) | (level > levels)
    level = np.clip(level, 0, levels)
    for index, size in zip((cells.i, cells.j), base, strict=True):
        outside |= (index < 0) | (index >= size << level)
    found = np.array([outside.sum(), (np.int64(1) << 2 * (levels - level)).sum()], np.int64)
    total = np.empty_like(found)
    communicator.Allreduce(found, total)
    if total[0]:
        raise DataError(
            f"{total[0]} cells outside a base mesh of {base[0]} x {base[1]} with {levels} levels; "
            "use the mesh from which the cells were written."
        )
    if total[1] != base[0] * base[1] << 2 * levels:
        raise DataError(
            f"The cells cover {total[1] / (1 << 2 * levels)} base cells and the domain has "
            f"{base[0] * base[1]}; every place needs exactly one cell: read all cells, once."
        )


def check_order(
    communicator: Any, key: NDArray[np.int64], level: NDArray[np.int8], levels: int, order: str
) -> None:
    """Raise a DataError unless the keys of cells ascend over all ranks. Collective.

    Together with `check_cells` this means that the cells tile the domain.
    """
    after = key + (np.int64(1) << 2 * (levels - level.astype(np.int64)))
    ends = np.full(3, -1, np.int64)
    if key.size:
        ends[:] = key[0], after[-1], (key[1:] < after[:-1]).sum()
    all_ends = np.empty((communicator.size, 3), np.int64)
    communicator.Allgather(ends, all_ends)
    all_ends = all_ends[all_ends[:, 0] >= 0]
    if all_ends[:, 2].any() or (all_ends[1:, 0] < all_ends[:-1, 1]).any():
        raise DataError(
            f"The cells do not follow each other along the order '{order}'; use the order in "
            "which they were written, and give the ranks consecutive pieces."
        )
