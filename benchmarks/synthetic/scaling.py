"""Synthetic scaling experiments for evaluation: two behaviours, and another tool's terms.

Series of one behaviour, and noise, are drawn by `hindmost.models.pmnf.segments.one_behaviour`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.segments.one_behaviour import Draw, inside


def two_functions(
    random: np.random.Generator,
    points: NDArray[np.float64],
    count: int,
    *,
    first: int,
    family: Draw = inside,
) -> NDArray[np.float64]:
    """Draw series whose first points follow one function and all others another.

    Parameters
    ----------
    first : int
        Points of the first function.
    family : callable
        Draws both functions.

    Raises
    ------
    UsageError
        Fewer than 1 point on a side.
    """
    if not 0 < first < points.size:
        raise UsageError(f"{first} of {points.size} points; each function needs at least one.")
    before = family(random, points[:first], count)
    return np.concatenate([before, family(random, points[first:], count)], axis=1)
