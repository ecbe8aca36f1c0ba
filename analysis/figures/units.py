"""The unit in which times are easiest to read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time: its sign, and how many of it make a second."""

    sign: str
    per_second: float


UNITS = (Unit("s", 1.0), Unit("ms", 1e3), Unit("µs", 1e6))


def unit_for(times: NDArray[np.float64]) -> Unit:
    """Return the largest unit in which the median of times is 1 or more; µs at the least.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    """
    middle = float(np.median(times))
    return next((unit for unit in UNITS if middle * unit.per_second >= 1.0), UNITS[-1])


def several(count: int, thing: str) -> str:
    """Write a number of things: ``1 rank``, ``2 ranks``."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
