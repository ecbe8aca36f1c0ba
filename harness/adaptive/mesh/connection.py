"""The connection of a rank's cells: ghosts, faces, walls and the exchange."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.exchange import Exchange
from hindmost.harness.adaptive.mesh.faces import face_loop, wall_loop
from hindmost.harness.adaptive.mesh.ghosts import fetch_ghosts, find_mirrors
from hindmost.harness.adaptive.mesh.keys import key_loop, masks
from hindmost.harness.adaptive.mesh.part import MeshPart
from hindmost.harness.adaptive.mesh.patch import Faces, Patch, Walls
from hindmost.harness.adaptive.mesh.roots import run_loop
from hindmost.harness.adaptive.mesh.store import longer
from hindmost.models.compiled import compiled


class Connection:
    """Memory for the connection of cells, filled again after every change.

    Attributes
    ----------
    patch : Patch
    exchange : Exchange
    """

    patch: Patch
    exchange: Exchange

    def __init__(self) -> None:
        self._mirror_room = np.empty(0, np.int32)
        self._faces = [
            (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int8)) for _ in range(2)
        ]
        self._wall_cell = np.empty(0, np.int32)
        self._wall_side = np.empty(0, np.int8)

    def renew(self, part: MeshPart) -> None:
        """Connect the cells. Collective among neighbours.

        Raises
        ------
        DataError
            Neighbours differ by more than one level, which only given cells can.
        """
        if hasattr(self, "exchange"):
            self.exchange.close()
        communicator, store, tables = part.communicator, part.store, part.tables
        roots, levels, owned = part.roots, part.levels, part.owned
        begin, end = (np.empty(roots.key.size, np.int32) for _ in range(2))
        run = compiled(run_loop)
        run(levels, 0, owned, roots.first, store.cells.key, begin, end)
        self._mirror_room, start = find_mirrors(
            roots, levels, store.cells, begin, end, self._mirror_room
        )
        fetched, mirrors = fetch_ghosts(
            communicator, roots.peers, self._mirror_room, start, store.cells, owned
        )
        rows = owned + fetched.shape[0]
        store.widen(owned, rows)
        cells = store.cells
        cells.i[owned:rows], cells.j[owned:rows] = fetched[:, 0], fetched[:, 1]
        cells.level[owned:rows] = fetched[:, 2]
        columns, base_rows = tables
        compiled(key_loop)(
            columns, base_rows, levels, owned, rows, cells.i, cells.j, cells.level, cells.key
        )
        before = owned + int(mirrors.received[np.searchsorted(roots.peers, communicator.rank)])
        run(levels, owned, before, 0, cells.key, begin, end)
        run(levels, before, rows, roots.last, cells.key, begin, end)

        faces = []
        bits = masks(levels)
        for axis in range(2):
            # Each face has a finer or equal side, and a cell has two sides along an axis.
            room = 2 * rows
            lower, upper, finer = self._faces[axis]
            lower, upper, finer = longer(lower, room), longer(upper, room), longer(finer, room)
            self._faces[axis] = lower, upper, finer
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
        self._wall_cell = longer(self._wall_cell, on_walls)
        self._wall_side = longer(self._wall_side, on_walls)
        many = compiled(wall_loop)(
            levels, *bits, roots.walls, roots.wall_sides, begin, end, cells.level, cells.key,
            self._wall_cell, self._wall_side,
        )  # fmt: skip
        self.patch = Patch(
            owned=owned,
            ghosts=rows - owned,
            i=cells.i[:rows],
            j=cells.j[:rows],
            level=cells.level[:rows],
            x_faces=faces[0],
            y_faces=faces[1],
            walls=Walls(cell=self._wall_cell[:many], side=self._wall_side[:many]),
        )
        self.exchange = Exchange(communicator, mirrors)

    def incoming(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the ranks that ghosts come from, and the number from each."""
        mirrors = self.exchange.mirrors
        return mirrors.peers, np.diff(mirrors.received)
