"""Move cells to their new owners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.store import Store

TAG = 73
"""And the next four."""


def move_cells(
    communicator: Any,
    store: Store,
    state: NDArray[np.float64],
    counts: NDArray[np.int64],
    splits: NDArray[np.int64],
) -> tuple[NDArray[np.float64], int]:
    """Send and receive the cells between old and new splits. Collective.

    Every rank knows both splits, so that no requests are needed.

    Parameters
    ----------
    counts : int64 array, shape (rank,)
        Previous number of cells of all ranks.
    splits : int64 array, shape (rank + 1,)
        First cell of each rank's new part, and the number of all cells.

    Returns
    -------
    float64 array, shape (owned cell, column)
        The new state.
    int
        Number of cells that this rank sent away.
    """
    rank = communicator.rank
    old = np.concatenate([[0], np.cumsum(counts)])
    owned = int(splits[rank + 1] - splits[rank])
    cells, new = store.cells, store.next_cells(owned)
    moved_state = store.next_state(state, owned)
    before: list[NDArray[Any]] = [cells.i, cells.j, cells.level, cells.key, state]
    after: list[NDArray[Any]] = [new.i, new.j, new.level, new.key, moved_state]

    requests = []
    for peer, first, last in overlaps(splits[rank : rank + 2], old):
        place = slice(first - int(splits[rank]), last - int(splits[rank]))
        if peer == rank:
            origin = slice(first - int(old[rank]), last - int(old[rank]))
            for source, target in zip(before, after, strict=True):
                target[place] = source[origin]
            continue
        for number, target in enumerate(after):
            requests.append(communicator.Irecv(target[place], source=peer, tag=TAG + number))
    sent = 0
    for peer, first, last in overlaps(old[rank : rank + 2], splits):
        if peer == rank:
            continue
        origin = slice(first - int(old[rank]), last - int(old[rank]))
        sent += last - first
        for number, source in enumerate(before):
            requests.append(communicator.Isend(source[origin], dest=peer, tag=TAG + number))
    if requests:
        from mpi4py import MPI

        MPI.Request.Waitall(requests)
    store.turn()
    return moved_state, sent


def overlaps(part: NDArray[np.int64], splits: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return the parts that a range of cells overlaps, and the overlaps.

    Parameters
    ----------
    part : int64 array, shape (2,)
    splits : int64 array, shape (rank + 1,)
    """
    low = np.maximum(part[0], splits[:-1])
    high = np.minimum(part[1], splits[1:])
    return [(int(at), int(low[at]), int(high[at])) for at in np.flatnonzero(low < high)]
