"""The Euler equations of an ideal gas on a patch: HLLC fluxes, first or second order.

A state is a float64 array, shape (at least owned + ghosts, 4): density, x and y momentum, and total
energy, all per area. Walls reflect.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.adaptive.mesh.patch import Faces, HaloExchange, Patch
from hindmost.harness.adaptive.physics.scratch import Scratch

COLUMNS = ("density", "x momentum", "y momentum", "energy")
"""The columns of a state."""
ORDERS = (1, 2)
LEVELS = 32
"""More levels than int32 indices allow."""
State = NDArray[np.float64]


class Hydro:
    """Steps of flow on one patch; a changed mesh needs a new object.

    Sums over a cell's faces follow the order of the face lists, so that results are bitwise
    identical on any number of ranks.

    Parameters
    ----------
    patch : Patch
    spacing : float
        Width of a cell of the base mesh.
    gamma : float
        Ratio of specific heats.
    order : int
        1; or 2: MUSCL-Hancock with van Leer's limiter, and one more exchange per step.
    scratch : Scratch, optional
        Work arrays of the previous patch.

    Raises
    ------
    UsageError
        Unknown order.
    """

    def __init__(
        self,
        patch: Patch,
        *,
        spacing: float,
        gamma: float,
        order: int = 1,
        scratch: Scratch | None = None,
    ) -> None:
        from hindmost.harness.adaptive.physics.loops import first_order, second_order

        if order not in ORDERS:
            raise UsageError(f"There is no scheme of order {order}; choose 1 or 2.")
        scratch = scratch or Scratch()
        rows = patch.owned + patch.ghosts
        self.patch, self.spacing, self.gamma, self.order = patch, spacing, gamma, order
        self._first, self._second = first_order, second_order
        self._length = spacing / 2.0 ** np.arange(LEVELS)
        self._per_width = 1.0 / self._length
        self._gas = scratch.take("gas", rows, 4)
        self._change = scratch.take("change", rows, 4)
        self._work = scratch.take("fluxes", 9 * first_order.BLOCK, 1).ravel()
        if order == 2:
            self._sides = scratch.take("sides", rows, 8)
            self._slopes = scratch.take("slopes", rows, 8)
            self._x_shifts = shifts(patch.x_faces, patch.level, patch.j)
            self._y_shifts = shifts(patch.y_faces, patch.level, patch.i)

    def largest_rate(self, state: State) -> float:
        """Return the largest (|u| + |v| + 2 c) / width of the owned cells, per unit of time.

        The time step is the CFL number over the largest rate of all ranks. The rate is infinite if
        a cell is invalid, so that the maximum over ranks informs all of them; see `flaw`.
        """
        rate: float = self._first.largest_rate(
            state, self.patch.owned, self.patch.level, self._per_width, self.gamma
        )
        return rate

    def flaw(self, state: State) -> int:
        """Return the first owned row with an invalid state, or -1.

        Invalid are NaN, infinity, and density or pressure that is not positive.
        """
        rho, mx, my, energy = state[: self.patch.owned].T
        with np.errstate(all="ignore"):
            inner = energy - 0.5 * (mx * mx + my * my) / rho
            sound = np.isfinite(state[: self.patch.owned]).all(axis=1) & (rho > 0.0) & (inner > 0.0)
        rows = np.flatnonzero(~sound)
        return int(rows[0]) if rows.size else -1

    def step(self, state: State, dt: float, exchange: HaloExchange) -> None:
        """Advance the owned rows by one time step.

        Parameters
        ----------
        state : float64 array, shape (at least owned + ghosts, 4)
            Its ghosts are filled.
        dt : float
        exchange : HaloExchange
            Fills the ghosts of the slopes; not used at first order.
        """
        patch, walls, x, y = self.patch, self.patch.walls, self.patch.x_faces, self.patch.y_faces
        per_area = dt * self._per_width**2
        if self.order == 1:
            self._first.first_order_step(
                state, patch.owned, patch.level,
                x.lower, x.upper, x.level, y.lower, y.upper, y.level, walls.cell, walls.side,
                self._length, per_area, self.gamma, self._gas, self._work, self._change,
            )  # fmt: skip
            return
        self._second.find_slopes(
            state, patch.owned, patch.level,
            x.lower, x.upper, x.level, y.lower, y.upper, y.level,
            self.gamma, self._gas, self._change, self._sides, self._slopes,
        )  # fmt: skip
        exchange.fill(self._slopes)
        self._second.second_order_step(
            state, patch.owned, patch.level,
            x.lower, x.upper, x.level, *self._x_shifts,
            y.lower, y.upper, y.level, *self._y_shifts, walls.cell, walls.side,
            self._length, per_area, 0.5 * dt * self._per_width, self.gamma,
            self._gas, self._slopes, self._work, self._change,
        )  # fmt: skip


def shifts(
    faces: Faces, level: NDArray[np.int8], place: NDArray[np.int32]
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the offset of faces from the middle of the lower and the upper cell's side.

    In quarters of the cell's width: next to a finer cell, the face is half of the side.

    Parameters
    ----------
    faces : Faces
    level : int8 array, shape (row,)
    place : int32 array, shape (row,)
        Of cells along the faces.
    """
    low, high = level[faces.lower], level[faces.upper]
    half = (2 * (place & 1) - 1).astype(np.int8)
    below = np.where(low < high, half[faces.upper], 0).astype(np.int8)
    above = np.where(high < low, half[faces.lower], 0).astype(np.int8)
    return below, above
