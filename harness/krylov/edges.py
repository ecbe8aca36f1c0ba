"""Who exchanges halos with whom in a product with a distributed matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from hindmost.harness.runfile.contents import Edges


def incoming_edges(matrix: Any, rank: int, scalar_bytes: int) -> Edges:
    """Return the halos that a rank receives in a product with a matrix.

    A rank needs the entries of the vector at the columns of its rows; those that it does not own
    come from their owners, each once. This is what PETSc's scatter exchanges.

    Parameters
    ----------
    scalar_bytes : int
        Size of one entry.
    """
    first, last = matrix.getOwnershipRange()
    _, columns, _ = matrix.getValuesCSR()
    needed = np.unique(columns)
    needed = needed[(needed < first) | (needed >= last)]
    borders = np.asarray(matrix.getOwnershipRangesColumn())
    owners, counts = np.unique(
        np.searchsorted(borders, needed, side="right") - 1, return_counts=True
    )
    return Edges(
        source=owners.astype(np.int32),
        target=np.full(owners.size, rank, np.int32),
        bytes=(counts * scalar_bytes).astype(np.int64),
    )
