"""Moving runs of cells until the ranks have nearly as many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.part import Part
from hindmost.harness.adaptive.mesh.split import even_splits


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """What one call of `Mesh.balance` did.

    Attributes
    ----------
    moved : int
        Cells that this rank sent away.
    imbalance_before, imbalance_after : float
        Most cells of a rank over the mean of all, at least 1.
    """

    moved: int
    imbalance_before: float
    imbalance_after: float


def balance(
    part: Part, state: NDArray[np.float64], threshold: float
) -> tuple[NDArray[np.float64], Balanced]:
    """Split the order anew if a rank has more cells than the threshold allows. Collective."""
    counts = part.counts()
    mean = counts.sum() / counts.size
    before = after = float(counts.max() / mean)
    moved = 0
    if before > threshold:
        splits = even_splits(part.communicator, counts, part.begins())
        wanted = np.diff(splits)
        if (wanted != counts).any():
            state, moved = part.move(state, counts, splits)
            after = float(wanted.max() / mean)
    balanced = Balanced(moved=moved, imbalance_before=before, imbalance_after=after)
    return state[: part.owned], balanced
