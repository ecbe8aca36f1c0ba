"""Implicit heat conduction on a patch, by the fluxes across faces.

A step of backward Euler with frozen coefficients. For the new temperatures T of the cells c,

    C_c (T_c - T_c old) = sum over faces f of w_f (T_neighbour - T_c),

with the heat capacity C = density x specific heat x area and the weight w = time step x
conductivity x length of the face / distance of the centres. Walls are adiabatic. The matrix is
symmetric and positive definite. Energy is then moved across the faces according to
the temperatures, so that a loose tolerance loses no energy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.patch import Fill, Patch
from hindmost.harness.adaptive.physics.flow import LEVELS, State

AllSum = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums float64 arrays over all ranks, in place."""
MAX_ITERATIONS = 10_000


class Conduction:
    """The heat equations on one patch; a changed mesh needs a new object.

    Solved by conjugate gradients in Chronopoulos and Gear's form, preconditioned by Jacobi. They
    start from the old temperatures and end when the natural norm of the residual,
    ``sqrt(r . r / diagonal)``, is below the tolerance times that of the right-hand side.

    Parameters
    ----------
    patch : Patch
    spacing : float
        Width of a cell of the base mesh.
    conductivity, specific_heat : float
    fill : callable
        Fills ghosts; see `hindmost.harness.adaptive.mesh.patch.Fill`.
    allsum : callable
        Sums arrays over all ranks, in place.
    tolerance : float

    Attributes
    ----------
    temperature, capacity, inverse : float64 array, shape (owned + ghosts, 1)
        Temperature, C, and one over the diagonal of the matrix; see `freeze`.
    faces : tuple
        Lower and upper rows and weights of the faces.
    """

    def __init__(
        self,
        patch: Patch,
        *,
        spacing: float,
        conductivity: float,
        specific_heat: float,
        fill: Fill,
        allsum: AllSum,
        tolerance: float = 1e-8,
    ) -> None:
        from hindmost.harness.adaptive.physics import heat_loops

        self.patch, self._fill = patch, fill
        self.conductivity, self.specific_heat = conductivity, specific_heat
        self.tolerance, self._allsum = tolerance, allsum
        self._loops, self._pair = heat_loops, np.empty(2)
        self._area = (spacing / 2.0 ** np.arange(LEVELS)) ** 2
        rows = (patch.owned + patch.ghosts, 1)
        self.temperature, self.capacity, self.inverse = (np.empty(rows) for _ in range(3))
        self._u, self._r, self._w, self._p, self._s = (np.empty(rows) for _ in range(5))
        lower, upper = patch.faces.lower, patch.faces.upper
        # The length of faces over the distance of their cells' centres.
        self._ratio = np.where(patch.level[lower] == patch.level[upper], 1.0, 2.0 / 3.0)
        self.faces = (lower, upper, np.empty(lower.size))

    def step(self, state: State, dt: float) -> int:
        """Advance heat by one time step.

        Parameters
        ----------
        state : float64 array, shape (at least owned, 4)
        dt : float

        Returns
        -------
        int
            Iterations.

        Raises
        ------
        DataError
            The iteration does not converge; raised on all ranks.
        """
        self.freeze(state, dt)
        iterations = self.solve()
        self.deposit(state)
        return iterations

    def freeze(self, state: State, dt: float) -> None:
        """Set temperatures and coefficients from a state, and fill the ghosts of temperatures."""
        np.multiply(self._ratio, dt * self.conductivity, out=self.faces[2])
        self._loops.freeze(
            state, self.patch.owned, self.patch.level, self._area, self.specific_heat, *self.faces,
            self.temperature.ravel(), self.capacity.ravel(), self.inverse.ravel(),
        )  # fmt: skip
        self._fill(self.temperature)

    def solve(self) -> int:
        """Solve for the temperatures; return the iterations."""
        loops, owned = self._loops, self.patch.owned
        x, inverse = self.temperature.ravel(), self.inverse.ravel()
        capacity = self.capacity.ravel()
        r, u, w, p, s = (each.ravel() for each in (self._r, self._u, self._w, self._p, self._s))
        np.multiply(capacity, x, out=r)
        np.multiply(r, inverse, out=u)
        goal = self.tolerance**2 * self._dots(r, r, u)[0]
        loops.residual(*self.faces, x, r)
        np.multiply(r, inverse, out=u)
        p[:] = 0.0
        s[:] = 0.0
        alpha = beta = before = 0.0
        for iteration in range(MAX_ITERATIONS):
            self._fill(self._u)
            loops.product(*self.faces, capacity, u, w)
            size, curvature = self._dots(r, w, u)
            if size <= goal:
                return iteration
            if not np.isfinite(size + curvature):
                break
            beta = size / before if iteration else 0.0
            alpha = size / (curvature - beta * size / alpha if iteration else curvature)
            before = size
            loops.advance(alpha, beta, owned, inverse, w, p, s, x, r, u)
        raise DataError(
            f"Heat conduction does not converge: residual {size**0.5:g} after {iteration} "
            f"iterations, {goal**0.5:g} is the goal. Loosen the tolerance or shorten the time "
            "step; a NaN or infinity points to an invalid state."
        )

    def deposit(self, state: State) -> None:
        """Move energy according to the temperatures, after filling their ghosts."""
        self._fill(self.temperature)
        self._loops.deposit(
            state, self.patch.owned, self.patch.level, 1.0 / self._area, *self.faces,
            self.temperature.ravel(), self._r.ravel(),
        )  # fmt: skip

    def _dots(
        self, a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return a . c and b . c over the owned cells of all ranks."""
        self._loops.two_dots(a, b, c, self.patch.owned, self._pair)
        first, second = self._allsum(self._pair)
        return float(first), float(second)
