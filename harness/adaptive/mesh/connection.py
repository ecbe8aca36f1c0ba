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


def run_loop(
    levels: int,
    first: int,
    last: int,
    first_root: int,
    key: NDArray[np.int64],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
) -> int:
    """Fill the begin and end of the cells of base cells, from the first root on; return the end.

    Rows first to last - 1 contain the cells, root by root.
    """
    root = first_root - 1
    base = np.int64(-1)
    for c in range(first, last):
        if key[c] >> 2 * levels != base:
            base = key[c] >> 2 * levels
            root += 1
            begin[root] = c
        end[root] = c + 1
    return root + 1


GHOST_TAG = 72


def find_mirrors(
    roots: Roots,
    levels: int,
    cells: Columns,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the owned rows that each peer needs, and the begin of each peer's rows.

    Parameters
    ----------
    begin, end : int32 arrays, shape (root,)
        Rows of the cells of a root.
    """
    x_bits, y_bits = masks(levels)
    start = np.zeros(roots.peers.size + 1, np.int64)
    mark = np.empty(roots.peers.size, np.int32)
    rows, loop = np.empty(0, np.int32), compiled(mirror_loop)
    for filling in (False, True):
        mark[:] = -1
        if filling:
            np.cumsum(start, out=start)
            rows = np.empty(int(start[-1]), np.int32)
        # Counts are shifted by one, so that their running sum is the begin of each peer's rows;
        # filling then advances these begins.
        place = start[:-1].copy() if filling else start[1:]
        loop(
            filling, levels, x_bits, y_bits, roots.border, roots.border_peer, begin, end,
            cells.level, cells.key, mark, place, rows,
        )  # fmt: skip
    return rows, start


def mirror_loop(
    filling: bool,
    levels: int,
    x_bits: int,
    y_bits: int,
    border: NDArray[np.int32],
    border_peer: NDArray[np.int32],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    mark: NDArray[np.int32],
    place: NDArray[np.int64],
    rows: NDArray[np.int32],
) -> None:
    """Count the mirrors of each peer in `place`, or store them at these places."""
    for at in range(len(border)):
        root = border[at]
        for c in range(begin[root], end[root]):
            fine = (np.int64(1) << 2 * (levels - level[c])) - 1
            here = key[c]
            for side in range(4):
                peer = border_peer[at, side]
                if peer < 0 or mark[peer] == c:
                    continue
                bits = x_bits if side < 2 else y_bits
                edge = (here | fine) & bits == bits if side & 1 else here & bits == 0
                if edge:
                    mark[peer] = c
                    if filling:
                        rows[place[peer]] = c
                    place[peer] += 1


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
    total = int(start[-1])
    row = row[:total]
    received = np.zeros(peers.size + 1, np.int64)
    if peers.size == 0:
        empty = np.empty((0, 3), np.int32)
        return empty, Mirrors(peers=peers, row=row, sent=start, received=received, owned=owned)
    from mpi4py import MPI

    sent = np.empty((total, 3), np.int32)
    sent[:, 0], sent[:, 1], sent[:, 2] = cells.i[row], cells.j[row], cells.level[row]
    requests = [
        communicator.Isend(sent[start[at] : start[at + 1]], dest=peer, tag=GHOST_TAG)
        for at, peer in enumerate(peers.tolist())
    ]
    status = MPI.Status()
    parts = []
    for at, peer in enumerate(peers.tolist()):
        communicator.Probe(source=peer, tag=GHOST_TAG, status=status)
        part = np.empty((status.Get_count(MPI.INT32_T) // 3, 3), np.int32)
        communicator.Recv(part, source=peer, tag=GHOST_TAG)
        parts.append(part)
        received[at + 1] = received[at] + part.shape[0]
    MPI.Request.Waitall(requests)
    mirrors = Mirrors(peers=peers, row=row, sent=start, received=received, owned=owned)
    return np.concatenate(parts), mirrors


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


def wall_loop(
    levels: int,
    x_bits: int,
    y_bits: int,
    roots: NDArray[np.int32],
    sides: NDArray[np.int8],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    cell: NDArray[np.int32],
    side: NDArray[np.int8],
) -> int:
    """Fill the walls, by the keys of their cells; return their number.

    Parameters
    ----------
    roots, sides : arrays, shape (root on the border,)
        Base cells, and a bit for each of their `SIDES` that is a wall.
    """
    n = 0
    for at in range(len(roots)):
        root = roots[at]
        for c in range(begin[root], end[root]):
            fine = (np.int64(1) << 2 * (levels - level[c])) - 1
            here = key[c]
            if sides[at] & 1 and here & x_bits == 0:
                cell[n], side[n] = c, 0
                n += 1
            if sides[at] & 2 and (here | fine) & x_bits == x_bits:
                cell[n], side[n] = c, 1
                n += 1
            if sides[at] & 4 and here & y_bits == 0:
                cell[n], side[n] = c, 2
                n += 1
            if sides[at] & 8 and (here | fine) & y_bits == y_bits:
                cell[n], side[n] = c, 3
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
    begin, end = (np.empty(roots.key.size, np.int32) for _ in range(2))
    run = compiled(run_loop)
    run(levels, 0, owned, roots.first, own.key, begin, end)
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
    before = owned + int(mirrors.received[np.searchsorted(roots.peers, communicator.rank)])
    run(levels, owned, before, 0, cells.key, begin, end)
    run(levels, before, rows, roots.last, cells.key, begin, end)

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
    on_walls = 4 * int((end[roots.walls] - begin[roots.walls]).sum())
    wall_cell, wall_side = np.empty(on_walls, np.int32), np.empty(on_walls, np.int8)
    many = compiled(wall_loop)(
        levels, *bits, roots.walls, roots.wall_sides, begin, end, cells.level, cells.key,
        wall_cell, wall_side,
    )  # fmt: skip
    patch = Patch(
        owned=owned,
        ghosts=rows - owned,
        i=cells.i,
        j=cells.j,
        level=cells.level,
        x_faces=faces[0],
        y_faces=faces[1],
        walls=Walls(cell=wall_cell[:many], side=wall_side[:many]),
    )
    return patch, Exchange(communicator, mirrors)
