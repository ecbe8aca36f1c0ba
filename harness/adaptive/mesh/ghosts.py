"""Ghosts: the cells of other ranks that share a face with an owned one.

If a rank's region touches another's, both know it. Therefore each rank determines what to send
without a request, and no rank stores the whole mesh.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.exchange import Mirrors
from hindmost.harness.adaptive.mesh.keys import masks
from hindmost.harness.adaptive.mesh.roots import Roots
from hindmost.harness.adaptive.mesh.store import Columns, longer
from hindmost.models.compiled import compiled

TAG = 72


def find_mirrors(
    roots: Roots,
    levels: int,
    cells: Columns,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    room: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the owned rows that each peer needs, and the begin of each peer's rows.

    Parameters
    ----------
    begin, end : int32 arrays, shape (root,)
        Rows of the cells of a root.
    room : int32 array
        Memory for the rows, used if large enough.
    """
    x_bits, y_bits = masks(levels)
    start = np.zeros(roots.peers.size + 1, np.int64)
    mark = np.empty(roots.peers.size, np.int32)
    loop = compiled(mirror_loop)
    for filling in (False, True):
        mark[:] = -1
        if filling:
            np.cumsum(start, out=start)
            room = longer(room, int(start[-1]))
        # Counts are shifted by one, so that their running sum is the begin of each peer's rows;
        # filling then advances these begins.
        place = start[:-1].copy() if filling else start[1:]
        loop(
            filling, levels, x_bits, y_bits, roots.border, roots.border_peer, begin, end,
            cells.level, cells.key, mark, place, room,
        )  # fmt: skip
    return room, start


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
        communicator.Isend(sent[start[at] : start[at + 1]], dest=peer, tag=TAG)
        for at, peer in enumerate(peers.tolist())
    ]
    status = MPI.Status()
    parts = []
    for at, peer in enumerate(peers.tolist()):
        communicator.Probe(source=peer, tag=TAG, status=status)
        part = np.empty((status.Get_count(MPI.INT32_T) // 3, 3), np.int32)
        communicator.Recv(part, source=peer, tag=TAG)
        parts.append(part)
        received[at + 1] = received[at] + part.shape[0]
    MPI.Request.Waitall(requests)
    mirrors = Mirrors(peers=peers, row=row, sent=start, received=received, owned=owned)
    return np.concatenate(parts), mirrors
