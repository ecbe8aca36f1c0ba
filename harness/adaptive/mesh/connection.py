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
from hindmost.harness.adaptive.mesh.order import Cells, Tables
from hindmost.harness.adaptive.mesh.patch import Exchange, Faces, Patch, Walls

GHOST_TAG = 72


def find_mirrors(
    communicator: Any, tables: Tables, levels: int, cells: Cells, key: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return the peers, the owned rows that each of them needs, and where its rows begin.

    A peer needs the cells at the border of a base cell that has the peer's beside it. Collective.
    """
    firsts = np.empty(communicator.size + 1, np.int64)
    communicator.Allgather(key[:1].copy(), firsts[:-1])
    firsts[-1] = np.iinfo(np.int64).max
    first, end = firsts[communicator.rank : communicator.rank + 2]
    within = (1 << cells.level.astype(np.int64)) - 1
    place = [cells.i >> cells.level, cells.j >> cells.level]  # base cells
    terms = [table[:: 1 << levels] for table in tables]
    found = [np.empty(0, np.int64)]
    for axis, index in enumerate((cells.i, cells.j)):
        for offset, border in ((-1, 0), (1, within)):
            there = place[axis] + offset
            row = np.flatnonzero(
                (index & within == border) & (there >= 0) & (there < terms[axis].size)
            )
            behind = terms[axis][there[row]] + terms[1 - axis][place[1 - axis][row]]
            far = (behind < first) | (behind >= end)
            owner = np.searchsorted(firsts, behind[far], side="right") - 1
            found.append(owner * key.size + row[far])
    who, row = np.divmod(np.unique(np.concatenate(found)), key.size)
    peers, start = np.unique(who, return_index=True)
    return peers.astype(np.int32), row.astype(np.int32), np.append(start, who.size)


def fetch_ghosts(
    communicator: Any,
    peers: NDArray[np.int32],
    row: NDArray[np.int32],
    start: NDArray[np.int64],
    cells: Cells,
) -> tuple[NDArray[np.int32], Exchange]:
    """Send mirrors to their peers; return the ghosts and their exchange.

    Returns
    -------
    int32 array, shape (ghost, 3)
        i, j and level, by owner, then in the owner's order.
    Exchange
    """
    sent = np.stack([cells.i[row], cells.j[row], cells.level[row]], axis=1, dtype=np.int32)
    requests = [
        communicator.isend(sent[start[at] : start[at + 1]], dest=peer, tag=GHOST_TAG)
        for at, peer in enumerate(peers.tolist())
    ]
    parts = [communicator.recv(source=peer, tag=GHOST_TAG) for peer in peers.tolist()]
    for request in requests:
        request.wait()
    exchange = Exchange(
        communicator=communicator,
        peers=peers,
        row=row,
        sent=start,
        received=np.cumsum([0, *map(len, parts)]),
        owned=cells.level.size,
    )
    return np.concatenate([np.empty((0, 3), np.int32), *parts]), exchange


def find_faces(tables: Tables, levels: int, cells: Cells, owned: int) -> Faces:
    """Return the faces with an owned cell, across each axis by the keys of lower and upper cells.

    So the faces of a cell have the same order on any number of ranks.

    Parameters
    ----------
    cells : Cells
        The owned ones, then ghosts.

    Raises
    ------
    DataError
        Neighbours differ by more than one level.
    """
    key = cells.keys(tables, levels)
    order = np.argsort(key, kind="stable")
    key, level = key[order], cells.level[order].astype(np.int64)
    size = np.int64(1) << levels - level
    end = key + size**2
    own = order < owned
    corner = [cells.i[order] * size, cells.j[order] * size]
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for axis, (along, across) in enumerate(((tables[0], tables[1]), (tables[1], tables[0]))):
        ahead, aside = corner[axis] + size, corner[1 - axis]  # behind the upper side
        lower = np.flatnonzero(ahead < along.size)
        front = along[ahead[lower]]
        there = front + across[aside[lower]]
        upper = np.searchsorted(key, there, side="right") - 1
        # Not all neighbours are here: those of ghosts are not, but for owned ones.
        here = (there < end[upper]) & (own[lower] | own[upper])
        lower, upper, front = lower[here], upper[here], front[here]
        halved = level[upper] > level[lower]
        if halved.any():
            more = lower[halved]
            there = front[halved] + across[aside[more] + (size[more] >> 1)]
            lower = np.append(lower, more)
            upper = np.append(upper, np.searchsorted(key, there, side="right") - 1)
            by_key = np.argsort(lower, kind="stable")  # of two faces the lower one came first
            lower, upper = lower[by_key], upper[by_key]
        found.append((lower, upper))
    lower, upper = (np.concatenate(each) for each in zip(*found, strict=True))
    apart = np.flatnonzero(np.abs(level[upper] - level[lower]) > 1)
    if apart.size:
        pair = (lower[apart[0]], upper[apart[0]])
        row = order[min(pair, key=lambda cell: level[cell])]
        raise DataError(
            f"The cell ({cells.i[row]}, {cells.j[row]}) of level {cells.level[row]} has a "
            "neighbour two levels finer; only one level is allowed. Use the mesh as it was written."
        )
    return Faces(
        lower=order[lower].astype(np.int32),
        upper=order[upper].astype(np.int32),
        level=np.maximum(level[lower], level[upper]).astype(np.int8),
        across_x=found[0][0].size,
    )


def connected(
    communicator: Any, tables: Tables, levels: int, own: Cells, key: NDArray[np.int64]
) -> tuple[Patch, Exchange]:
    """Connect the cells of a rank. Collective.

    Raises
    ------
    DataError
        Neighbours differ by more than one level, which only given cells can.
    """
    peers, mirror, start = find_mirrors(communicator, tables, levels, own, key)
    fetched, exchange = fetch_ghosts(communicator, peers, mirror, start, own)
    cells = Cells(
        i=np.append(own.i, fetched[:, 0]),
        j=np.append(own.j, fetched[:, 1]),
        level=np.append(own.level, fetched[:, 2].astype(np.int8)),
    )
    finest = levels - own.level.astype(np.int64)
    last_i, last_j = ((table.size >> finest) - 1 for table in tables)
    sides = [own.i == 0, own.i == last_i, own.j == 0, own.j == last_j]
    row, side = np.nonzero(np.stack(sides, axis=1))
    patch = Patch(
        owned=key.size,
        ghosts=fetched.shape[0],
        i=cells.i,
        j=cells.j,
        level=cells.level,
        faces=find_faces(tables, levels, cells, key.size),
        walls=Walls(cell=row.astype(np.int32), side=side.astype(np.int8)),
    )
    return patch, exchange
