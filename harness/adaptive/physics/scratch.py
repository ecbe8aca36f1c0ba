"""Work arrays that outlive a mesh: fresh pages cost a third of a cycle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SPARE = 1.25
"""How much longer than asked for an array is made, since meshes grow little by little."""


class Scratch:
    """Work arrays by name, made anew only where they are too short."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[np.float64]] = {}

    def take(self, name: str, rows: int, columns: int) -> NDArray[np.float64]:
        """Return a float64 array, shape (rows, columns), contiguous, with anything in it."""
        held = self._arrays.get(name)
        if held is None or len(held) < rows or held.shape[1] != columns:
            held = np.zeros((int(rows * SPARE) + 1, columns))
            self._arrays[name] = held
        return held[:rows]
