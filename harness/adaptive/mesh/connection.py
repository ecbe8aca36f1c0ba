"""The connection of a rank's cells: ghosts, faces and walls.

Ghosts are the cells of other ranks that share a face with an owned one. If a rank's region touches
another's, both know it. Therefore each rank determines what to send without a request, and no rank
stores the whole mesh.

The neighbour of a cell is the one that contains the place just behind its side: the last cell whose
key does not exceed that of the place. Behind a side with finer neighbours there are two such cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.order import Tables, keys_at
from hindmost.harness.adaptive.mesh.part import Columns, MeshPart
from hindmost.harness.adaptive.mesh.patch import Exchange, Faces, Mirrors, Patch, Walls

GHOST_TAG = 72
STEP = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Offsets to the neighbour on each of the `SIDES`."""


def find_mirrors(
    part: MeshPart,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return the peers, the owned rows that each of them needs, and where its rows begin.

    A peer needs the cells at the border of a base cell that has the peer's beside it. Collective.
    """
    communicator, (columns, rows), own = part.communicator, part.tables, part.columns
    first_key = np.empty(communicator.size, np.int64)
    communicator.Allgather(own.key[:1] >> 2 * part.levels, first_key)
    within = (1 << own.level.astype(np.int64)) - 1
    base_x, base_y = own.i >> own.level, own.j >> own.level
    borders = (own.i & within == 0, own.i & within == within,
               own.j & within == 0, own.j & within == within)  # fmt: skip
    found = []
    for border, (dx, dy) in zip(borders, STEP, strict=True):
        x, y = base_x + dx, base_y + dy
        inside = (x >= 0) & (x < columns.size) & (y >= 0) & (y < rows.size)
        row = np.flatnonzero(border & inside)
        owner = np.searchsorted(first_key, columns[x[row]] + rows[y[row]], side="right") - 1
        far = owner != communicator.rank
        found.append(owner[far] * part.owned + row[far])
    who, row = np.divmod(np.unique(np.concatenate(found)), part.owned)
    peers, start = np.unique(who, return_index=True)
    return peers.astype(np.int32), row.astype(np.int32), np.append(start, who.size)


def fetch_ghosts(
    communicator: Any,
    peers: NDArray[np.int32],
    row: NDArray[np.int32],
    start: NDArray[np.int64],
    cells: Columns,
    owned: int,
) -> tuple[NDArray[np.int32], Mirrors]:
    """Send mirrors to their peers; return the ghosts and the data for their exchange.

    Returns
    -------
    int32 array, shape (ghost, 3)
        i, j and level, by owner, then in the owner's order.
    Mirrors
    """
    sent = np.stack([cells.i[row], cells.j[row], cells.level[row]], axis=1, dtype=np.int32)
    requests = [
        communicator.isend(sent[start[at] : start[at + 1]], dest=peer, tag=GHOST_TAG)
        for at, peer in enumerate(peers.tolist())
    ]
    parts = [communicator.recv(source=peer, tag=GHOST_TAG) for peer in peers.tolist()]
    for request in requests:
        request.wait()
    received = np.cumsum([0, *map(len, parts)])
    mirrors = Mirrors(peers=peers, row=row, sent=start, received=received, owned=owned)
    return np.concatenate([np.empty((0, 3), np.int32), *parts]), mirrors


def faces_across(
    axis: int, tables: Tables, levels: int, cells: Columns, owned: int, order: NDArray[np.int64]
) -> Faces:
    """Return the faces across an axis with an owned cell, by the keys of lower and upper cells.

    So the faces of a cell have the same order on any number of ranks.

    Parameters
    ----------
    axis : int
        0 for x, 1 for y.
    cells : Columns
        The owned ones, then ghosts.
    order : int64 array, shape (cell,)
        Rows by key.

    Raises
    ------
    DataError
        Neighbours differ by more than one level.
    """
    key, level = cells.key[order], cells.level[order].astype(np.int64)
    size = np.int64(1) << levels - level
    place = [cells.i[order] * size, cells.j[order] * size]
    place[axis] += size  # behind the upper side

    def behind(cell: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the cells at the places, and whether they contain them: not all are here."""
        there = keys_at(tables, levels, place[0][cell], place[1][cell])
        at = np.searchsorted(key, there, side="right") - 1
        return at, there < key[at] + size[at] ** 2

    lower = np.flatnonzero(place[axis] < tables[axis].size << levels)
    upper, here = behind(lower)
    here &= (order[lower] < owned) | (order[upper] < owned)
    lower, upper = lower[here], upper[here]
    place[1 - axis] += size >> 1
    halved = lower[level[upper] > level[lower]]
    lower, upper = np.append(lower, halved), np.append(upper, behind(halved)[0])
    apart = np.flatnonzero(np.abs(level[upper] - level[lower]) > 1)
    if apart.size:
        pair = (lower[apart[0]], upper[apart[0]])
        row = order[min(pair, key=lambda cell: level[cell])]
        raise DataError(
            f"The cell ({cells.i[row]}, {cells.j[row]}) of level {cells.level[row]} has a "
            "neighbour two levels finer; only one level is allowed. Use the mesh as it was written."
        )
    by_key = np.argsort(lower, kind="stable")  # of two faces of a cell the lower one came first
    lower, upper = lower[by_key], upper[by_key]
    return Faces(
        lower=order[lower].astype(np.int32),
        upper=order[upper].astype(np.int32),
        level=np.maximum(level[lower], level[upper]).astype(np.int8),
    )


def connected(part: MeshPart) -> tuple[Patch, Exchange]:
    """Connect the cells of a part. Collective.

    Raises
    ------
    DataError
        Neighbours differ by more than one level, which only given cells can.
    """
    tables, levels, own, owned = part.tables, part.levels, part.columns, part.owned
    peers, mirror, start = find_mirrors(part)
    fetched, mirrors = fetch_ghosts(part.communicator, peers, mirror, start, own, owned)
    cells = Columns.of(
        tables,
        levels,
        np.append(own.i, fetched[:, 0]),
        np.append(own.j, fetched[:, 1]),
        np.append(own.level, fetched[:, 2].astype(np.int8)),
    )
    order = np.argsort(cells.key, kind="stable")
    x_faces, y_faces = (
        faces_across(axis, tables, levels, cells, owned, order) for axis in range(2)
    )
    i, j, level = own.i, own.j, own.level.astype(np.int32)
    last_i, last_j = ((table.size << level) - 1 for table in tables)
    row, side = np.nonzero(np.stack([i == 0, i == last_i, j == 0, j == last_j], axis=1))
    patch = Patch(
        owned=owned,
        ghosts=fetched.shape[0],
        i=cells.i,
        j=cells.j,
        level=cells.level,
        x_faces=x_faces,
        y_faces=y_faces,
        walls=Walls(cell=row.astype(np.int32), side=side.astype(np.int8)),
    )
    return patch, Exchange(part.communicator, mirrors)
