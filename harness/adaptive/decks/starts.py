"""States that decks begin with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.registry import Registry

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A state in the beginning.

    Attributes
    ----------
    name, summary : str
    gas : callable
        ``gas(x, y, extent)`` returns density, x and y velocity and pressure at the places, float64
        array, shape (place, 4); `extent` is the domain's width and height.
    """

    name: str
    summary: str
    gas: Callable[[Array, Array, tuple[float, float]], Array]


def columns(x: Array, *fields: Array | float) -> Array:
    """Return quantities side by side, shape (place, 4)."""
    return np.column_stack([np.broadcast_to(field, x.shape) for field in fields])


def sod(x: Array, y: Array, extent: tuple[float, float]) -> Array:
    """Return Sod's tube along x, its membrane in the middle."""
    left = x < 0.5 * extent[0]
    return columns(x, np.where(left, 1.0, 0.125), 0.0, 0.0, np.where(left, 1.0, 0.1))


def sedov(x: Array, y: Array, extent: tuple[float, float]) -> Array:
    """Return a hot disc in the middle of a cold gas at rest."""
    near = np.hypot(x - 0.5 * extent[0], y - 0.5 * extent[1]) < 0.05 * min(extent)
    return columns(x, 1.0, 0.0, 0.0, np.where(near, 100.0, 0.01))


def gaussian(x: Array, y: Array, extent: tuple[float, float]) -> Array:
    """Return a warm spot in the middle: 1 more than around it, a twentieth of the width wide."""
    far = ((x - 0.5 * extent[0]) ** 2 + (y - 0.5 * extent[1]) ** 2) / (0.05 * extent[0]) ** 2
    return columns(x, 1.0, 0.0, 0.0, 1.0 + np.exp(-0.5 * far))


def blast_and_shock(x: Array, y: Array, extent: tuple[float, float]) -> Array:
    """Return a hot disc off the middle and two heavy ones, in the way of a shock.

    The shock comes from the left at Mach 2, for a ratio of specific heats of 1.4 (Rankine and
    Hugoniot). The heavy discs move slowly, so that there is something to resolve for long.
    """
    behind = x < 0.08 * extent[0]
    near = disc(x, y, extent, 0.55, 0.4, 0.03)
    heavy = disc(x, y, extent, 0.3, 0.7, 0.06) | disc(x, y, extent, 0.8, 0.75, 0.05)
    rho = np.where(heavy, 20.0, np.where(behind, 8 / 3, 1.0))
    p = np.where(near, 400.0, np.where(behind, 4.5, 1.0))
    return columns(x, rho, np.where(behind, 1.25 * np.sqrt(1.4), 0.0), 0.0, p)


def disc(
    x: Array, y: Array, extent: tuple[float, float], x_part: float, y_part: float, radius: float
) -> NDArray[np.bool_]:
    """Tell which places are in a disc, given as parts of the domain."""
    far = np.hypot(x - x_part * extent[0], y - y_part * extent[1])
    return np.asarray(far < radius * min(extent))


STARTS: Registry[Start] = Registry(
    "start",
    (
        Start(name="blast-and-shock", summary=blast_and_shock.__doc__ or "", gas=blast_and_shock),
        Start(name="sod", summary=sod.__doc__ or "", gas=sod),
        Start(name="sedov", summary=sedov.__doc__ or "", gas=sedov),
        Start(name="gaussian", summary=gaussian.__doc__ or "", gas=gaussian),
    ),
)
"""Every state that a deck can begin with."""
