"""Which blocks of the mesh need cells of which others: what a map of blocks to ranks exchanges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockNeeds:
    """The cells of a rank's blocks that other blocks need, as ghosts across a face.

    A cell that two blocks need counts for both, also where one rank has both.

    Attributes
    ----------
    source, target : int64 array, shape (block edge,)
        Numbers of the block that has the cells, and of that which needs them.
    cells : int64 array, shape (block edge,)
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    cells: NDArray[np.int64]


def block_needs(patch: Patch, base: tuple[int, int]) -> BlockNeeds:
    """Return what other blocks need of this rank's; blocks are base cells, numbered row by row.

    Parameters
    ----------
    patch : Patch
    base : (int, int)
        Base cells along x and y.
    """
    blocks = base[0] * base[1]
    i, j = patch.i >> patch.level, patch.j >> patch.level
    place = j.astype(np.int64) * base[0] + i
    cell, needs = [], []
    for faces in (patch.x_faces, patch.y_faces):
        for here, there in ((faces.lower, faces.upper), (faces.upper, faces.lower)):
            across = (place[here] != place[there]) & (here < patch.owned)
            cell.append(here[across].astype(np.int64))
            needs.append(place[there[across]])
    # A cell goes once to each block that needs it, over however many faces.
    once = np.unique(np.concatenate(cell) * blocks + np.concatenate(needs))
    row, target = np.divmod(once, blocks)
    pair, count = np.unique(place[row] * blocks + target, return_counts=True)
    source, target = np.divmod(pair, blocks)
    return BlockNeeds(source=source, target=target, cells=count.astype(np.int64))
