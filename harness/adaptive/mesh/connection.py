"""The connection of a rank's cells: ghosts, faces and walls.

Ghosts are the cells of other ranks that share a face with an owned one. If a rank's region touches
another's, both know it. Therefore each rank determines what to send without a request, and no rank
stores the whole mesh.

The position of a cell's upper neighbour follows from the cell's key: add one in the bits of the
axis. If they overflow, the neighbour is in the base cell ahead, else in the same one. There a
binary search over a few cells finds the last one that does not begin later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.order import key_loop, masks
from hindmost.harness.adaptive.mesh.part import Columns, MeshPart, Roots
from hindmost.harness.adaptive.mesh.patch import Exchange, Faces, Mirrors, Patch, Walls
from hindmost.models.compiled import compiled

GHOST_TAG = 72


def rows_of_roots(
    roots: Roots, levels: int, key: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the begin and end of the cells of every root, among cells with these keys."""
    begin, end = (np.zeros(roots.key.size, np.int32) for _ in range(2))
    base = key >> 2 * levels
    first = np.flatnonzero(np.diff(base, prepend=-1))
    root = np.searchsorted(roots.key, base[first])
    begin[root], end[root] = first, np.append(first[1:], key.size)
    return begin, end


def find_mirrors(
    roots: Roots,
    levels: int,
    cells: Columns,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the owned rows that each peer needs, and the begin of each peer's rows.

    They are the cells of base cells at the border that touch a side where the peer is.

    Parameters
    ----------
    begin, end : int32 arrays, shape (root,)
        Rows of the cells of a root.
    """
    count = end[roots.border] - begin[roots.border]
    of = np.repeat(np.arange(roots.border.size), count)
    row = (begin[roots.border] - np.cumsum(count) + count)[of] + np.arange(of.size)
    first = cells.key[row]
    last = first | (np.int64(1) << 2 * (levels - cells.level[row].astype(np.int64))) - 1
    x, y = masks(levels)
    touches = np.stack([first & x == 0, last & x == x, first & y == 0, last & y == y], axis=1)
    peer = roots.border_peer[of]
    at, side = np.nonzero(touches & (peer >= 0))
    owned = cells.level.size
    needed = np.unique(peer[at, side].astype(np.int64) * owned + row[at])
    who, mirror = np.divmod(needed, owned)
    start = np.searchsorted(who, np.arange(roots.peers.size + 1)).astype(np.int64)
    return mirror.astype(np.int32), start


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


def face_loop(
    axis: int,
    levels: int,
    along: int,
    across: int,
    first_root: int,
    last_root: int,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    ahead: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    finer: NDArray[np.int8],
) -> int:
    """Fill the faces across an axis, by the keys of their lower, then of their upper cells.

    Base cells ("roots") are in the order of the whole mesh, including ghosts, so that the faces of
    a cell have the same order on any number of ranks. At least one cell of a face is owned: its
    root is in `first_root` to `last_root` - 1.

    Parameters
    ----------
    axis : int
        0 for x, 1 for y.
    along, across : int
        The bits of the axis, and of the other one, in a key within its root.
    begin, end : int32 arrays, shape (root,)
        Rows of the cells of a root.
    ahead : int32 array, shape (root,)
        The root ahead along the axis; -1 if there is none, or both are ghosts.
    lower, upper, finer
        Output; see `Faces`.

    Returns
    -------
    int
        Number of faces; if a neighbour of row r is finer by two levels or more, -1 - r.
    """
    inside = along | across
    second = np.int64(2 >> axis)
    one = np.int64(1)
    n = 0
    for root in range(len(begin)):
        owned = first_root <= root < last_root
        towards = ahead[root]
        for c in range(begin[root], end[root]):
            depth = level[c]
            shift = 2 * (levels - depth)
            here = key[c] & inside
            there = (((here | across) + (one << (shift + axis))) & along) | (here & across)
            if there & along != 0:
                if not owned:
                    continue
                row, stop = np.int64(c + 1), np.int64(end[root])
            else:
                if towards < 0:
                    continue
                row, stop = np.int64(begin[towards]), np.int64(end[towards])
            after = stop
            while after - row > 1:
                middle = (row + after) >> 1
                if key[middle] & inside <= there:
                    row = middle
                else:
                    after = middle
            lower[n] = c
            upper[n] = row
            if level[row] <= depth:
                if level[row] < depth - 1:
                    return int(-1 - row)
                finer[n] = depth
                n += 1
                continue
            if level[row] > depth + 1:
                return -1 - c
            finer[n] = depth + 1
            n += 1
            there += second << (shift - 2)
            after = stop
            while after - row > 1:
                middle = (row + after) >> 1
                if key[middle] & inside <= there:
                    row = middle
                else:
                    after = middle
            if level[row] != depth + 1:
                return -1 - c
            lower[n] = c
            upper[n] = row
            finer[n] = depth + 1
            n += 1
    return n


def connected(part: MeshPart) -> tuple[Patch, Exchange]:
    """Connect the cells of a part. Collective among neighbours.

    Raises
    ------
    DataError
        Neighbours differ by more than one level, which only given cells can.
    """
    communicator, tables, own = part.communicator, part.tables, part.columns
    roots, levels, owned = part.roots, part.levels, part.owned
    begin, end = rows_of_roots(roots, levels, own.key)
    mirror, start = find_mirrors(roots, levels, own, begin, end)
    fetched, mirrors = fetch_ghosts(communicator, roots.peers, mirror, start, own, owned)
    rows = owned + fetched.shape[0]
    cells = Columns.empty(rows)
    for mine, theirs, whole in (
        (own.i, fetched[:, 0], cells.i),
        (own.j, fetched[:, 1], cells.j),
        (own.level, fetched[:, 2], cells.level),
    ):
        whole[:owned], whole[owned:] = mine, theirs
    cells.key[:owned] = own.key
    compiled(key_loop)(*tables, levels, owned, rows, cells.i, cells.j, cells.level, cells.key)
    begin, end = rows_of_roots(roots, levels, cells.key)
    faces = []
    bits = masks(levels)
    for axis in range(2):
        # Each face has a finer or equal side, and a cell has two sides along an axis.
        lower, upper = (np.empty(2 * rows, np.int32) for _ in range(2))
        finer = np.empty(2 * rows, np.int8)
        many = compiled(face_loop)(
            axis, levels, bits[axis], bits[1 - axis], roots.first, roots.last, begin, end,
            roots.ahead[axis], cells.level, cells.key, lower, upper, finer,
        )  # fmt: skip
        if many < 0:
            row = -1 - many
            raise DataError(
                f"The cell ({cells.i[row]}, {cells.j[row]}) of level {cells.level[row]} has a "
                "neighbour two levels finer; only one level is allowed. Use the mesh as it "
                "was written."
            )
        faces.append(Faces(lower=lower[:many], upper=upper[:many], level=finer[:many]))
    i, j, level = own.i, own.j, own.level.astype(np.int32)
    last_i, last_j = ((table.size << level) - 1 for table in tables)
    row, side = np.nonzero(np.stack([i == 0, i == last_i, j == 0, j == last_j], axis=1))
    patch = Patch(
        owned=owned,
        ghosts=rows - owned,
        i=cells.i,
        j=cells.j,
        level=cells.level,
        x_faces=faces[0],
        y_faces=faces[1],
        walls=Walls(cell=row.astype(np.int32), side=side.astype(np.int8)),
    )
    return patch, Exchange(communicator, mirrors)
