"""Division and combination of cells, within the limits set by neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.connection import Connection
from hindmost.harness.adaptive.mesh.part import MeshPart
from hindmost.harness.adaptive.mesh.rewrite import rewrite_loop
from hindmost.harness.adaptive.mesh.store import roomy
from hindmost.harness.adaptive.mesh.target_levels import settle_loop, wish_loop
from hindmost.models.compiled import compiled

RAISED, DIVIDED, COMBINED, OWNED = range(4)
"""Indices of the counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """The result of a call of `Mesh.adapt` on this rank.

    Attributes
    ----------
    divided : int
        Number of cells that were divided.
    combined : int
        Number of cells that result from combining four.
    sweeps : int
        Rounds of exchange and reduction until neighbours differed by at most one level.
    held : bool
        Whether `most_cells` prevented division, on all ranks.
    """

    divided: int
    combined: int
    sweeps: int
    held: bool


class Adaption:
    """Memory for the target levels of cells, and for the counts."""

    def __init__(self) -> None:
        self._target = np.empty((0, 1), np.int8)
        self._here = np.zeros(4, np.int64)
        self._total = np.zeros(4, np.int64)

    def run(
        self,
        part: MeshPart,
        connection: Connection,
        flags: NDArray[np.int8],
        state: NDArray[np.float64],
        most_cells: int | None,
    ) -> tuple[NDArray[np.float64], Adapted]:
        """Adapt the cells of a part; return on all ranks whether any changed. Collective."""
        rows = connection.patch.owned + connection.patch.ghosts
        if self._target.shape[0] < rows:
            self._target = np.empty((roomy(rows), 1), np.int8)
        here, total = self._here, self._total
        sweeps = self._settle(part, connection, flags, most=1)
        grown = int(total[OWNED] + 3 * total[DIVIDED] - 3 * total[COMBINED])
        held = most_cells is not None and grown > most_cells and bool(total[DIVIDED] > 0)
        if held:
            sweeps += self._settle(part, connection, flags, most=0)
        divided, combined = int(here[DIVIDED]), int(here[COMBINED])
        if total[DIVIDED] or total[COMBINED]:
            part.changed = True
        if divided or combined:
            owned = part.owned + 3 * divided - 3 * combined
            new = part.store.next_cells(owned + connection.patch.ghosts)
            written = part.store.next_state(state, owned)
            old = part.store.cells
            compiled(rewrite_loop)(
                part.owned, part.levels, self._target.reshape(-1),
                old.i, old.j, old.level, old.key, state,
                new.i, new.j, new.level, new.key, written,
            )  # fmt: skip
            part.store.turn()
            part.owned, state = owned, written
        adapted = Adapted(divided=divided, combined=combined, sweeps=sweeps, held=held)
        return state[: part.owned], adapted

    def _settle(
        self, part: MeshPart, connection: Connection, flags: NDArray[np.int8], *, most: int
    ) -> int:
        """Fill target levels, and counts of this rank and of all; return the sweeps."""
        cells, patch = part.store.cells, connection.patch
        target = self._target.reshape(-1)
        compiled(wish_loop)(part.owned, part.levels, most, flags, cells.level, cells.key, target)
        sweeps = 0
        while True:
            connection.exchange.fill(self._target)
            self._here[RAISED] = 0
            compiled(settle_loop)(
                part.owned, part.levels, cells.level, cells.key,
                patch.x_faces.lower, patch.x_faces.upper, patch.y_faces.lower, patch.y_faces.upper,
                target, self._here,
            )  # fmt: skip
            part.communicator.Allreduce(self._here, self._total)
            sweeps += 1
            # Levels raised on one rank may require changes on another.
            if self._total[RAISED] == 0 or part.communicator.size == 1:
                return sweeps
