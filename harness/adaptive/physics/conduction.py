"""Implicit heat conduction on a patch, by the fluxes across faces.

A step of backward Euler with frozen coefficients. For the new temperatures T of the cells c,

    C_c (T_c - T_c old) = sum over faces f of w_f (T_neighbour - T_c),

with the heat capacity C = density x specific heat x area and the weight w = time step x
conductivity x length of the face / distance of the centres. Walls are adiabatic. The matrix is
symmetric and positive definite. For any solver, energy is then moved across the faces according to
the temperatures, so that a loose tolerance loses no energy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import Faces, HaloExchange, Patch
from hindmost.harness.adaptive.physics.hydro import LEVELS, State
from hindmost.harness.adaptive.physics.scratch import Scratch

AllSum = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums float64 or int64 arrays over all ranks, in place."""


class Heat(Protocol):
    """A solver that advances heat by a time step."""

    def step(self, state: State, dt: float) -> int:
        """Move energy between owned rows; return the number of iterations."""


class Conduction:
    """The heat equations on one patch; a changed mesh needs a new object.

    Parameters
    ----------
    patch : Patch
    spacing : float
        Width of a cell of the base mesh.
    conductivity, specific_heat : float
    exchange : HaloExchange
    scratch : Scratch, optional
        Work arrays of the previous patch.

    Attributes
    ----------
    temperature, capacity, inverse : float64 array, shape (owned + ghosts, 1)
        Temperature, C, and one over the diagonal of the matrix; see `freeze`.
    faces : tuple
        Lower and upper rows and weights of the faces across x, then across y.
    """

    def __init__(
        self,
        patch: Patch,
        *,
        spacing: float,
        conductivity: float,
        specific_heat: float,
        exchange: HaloExchange,
        scratch: Scratch | None = None,
    ) -> None:
        from hindmost.harness.adaptive.physics.loops import conduction

        self.scratch = scratch or Scratch()
        self.patch, self.exchange = patch, exchange
        self.conductivity, self.specific_heat = conductivity, specific_heat
        self._loops = conduction
        self._area = (spacing / 2.0 ** np.arange(LEVELS)) ** 2
        self._per_area = 1.0 / self._area
        self.temperature = self.vector("temperature")
        self.capacity = self.vector("capacity")
        self.inverse = self.vector("inverse")
        self._x_ratio = ratios(patch.x_faces, patch.level)
        self._y_ratio = ratios(patch.y_faces, patch.level)
        x, y = patch.x_faces, patch.y_faces
        self.faces = (
            x.lower, x.upper, self.scratch.take("x weight", x.lower.size, 1).ravel(),
            y.lower, y.upper, self.scratch.take("y weight", y.lower.size, 1).ravel(),
        )  # fmt: skip

    def vector(self, name: str) -> State:
        """Return a work array, shape (owned + ghosts, 1)."""
        return self.scratch.take(name, self.patch.owned + self.patch.ghosts, 1)

    def freeze(self, state: State, dt: float) -> None:
        """Set temperatures and coefficients from a state, and fill the ghosts of temperatures."""
        scale = dt * self.conductivity
        np.multiply(self._x_ratio, scale, out=self.faces[2])
        np.multiply(self._y_ratio, scale, out=self.faces[5])
        self._loops.freeze(
            state, self.patch.owned, self.patch.level, self._area, self.specific_heat, *self.faces,
            self.temperature.ravel(), self.capacity.ravel(), self.inverse.ravel(),
        )  # fmt: skip
        self.exchange.fill(self.temperature)

    def deposit(self, state: State) -> None:
        """Move energy according to the temperatures, after filling their ghosts."""
        self.exchange.fill(self.temperature)
        self._loops.deposit(
            state, self.patch.owned, self.patch.level, self._per_area, *self.faces,
            self.temperature.ravel(), self.vector("heat").ravel(),
        )  # fmt: skip


def ratios(faces: Faces, level: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the length of faces over the distance of their cells' centres.

    Parameters
    ----------
    faces : Faces
    level : int8 array, shape (row,)

    Returns
    -------
    float64 array, shape (face,)
    """
    return np.where(level[faces.lower] == level[faces.upper], 1.0, 2.0 / 3.0)
