"""Heat by conjugate gradients on the face lists, with one reduction per iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.physics.conduction import AllSum, Conduction
from hindmost.harness.adaptive.physics.hydro import State
from hindmost.text import choose

SUMS = ("plain", "fixed")
"""Plain sums of floats; fixed sums are exact, and bitwise identical on any number of ranks."""
MOST_ITERATIONS = 10_000


class FaceHeat:
    """Solves by conjugate gradients in Chronopoulos and Gear's form, preconditioned by Jacobi.

    It starts from the old temperatures and ends when the natural norm of the residual,
    ``sqrt(r . r / diagonal)``, is below the tolerance times that of the right-hand side.

    Parameters
    ----------
    conduction : Conduction
    allsum : callable
        Sums arrays over all ranks, in place: float64 of shape (2,), or int64 for fixed sums.
    tolerance : float
    sums : str
        See `SUMS`.

    Raises
    ------
    UsageError
        Unknown sums.
    """

    def __init__(
        self,
        conduction: Conduction,
        *,
        allsum: AllSum,
        tolerance: float = 1e-8,
        sums: str = "plain",
    ) -> None:
        from hindmost.harness.adaptive.physics.loops import conduction as loops
        from hindmost.harness.adaptive.physics.loops import exact_sums

        if sums not in SUMS:
            raise UsageError(f"Unknown sums '{sums}'; {choose(SUMS)}.")
        self.conduction, self.tolerance, self.sums = conduction, tolerance, sums
        self._allsum, self._loops, self._exact = allsum, loops, exact_sums
        self._pair = np.empty(2)
        self._terms = np.empty(exact_sums.TERMS)
        self._bins = np.empty((2, exact_sums.BINS), np.int64)

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
        self.conduction.freeze(state, dt)
        iterations = self.solve()
        self.conduction.deposit(state)
        return iterations

    def solve(self) -> int:
        """Solve for the temperatures; return the iterations."""
        system, loops = self.conduction, self._loops
        owned = system.patch.owned
        x, inverse = system.temperature.ravel(), system.inverse.ravel()
        capacity = system.capacity.ravel()
        u_rows = system.vector("u")
        r, u, w, p, s = (system.vector(name).ravel() for name in ("r", "u", "w", "p", "s"))
        np.multiply(capacity, x, out=r)
        np.multiply(r, inverse, out=u)
        goal = self.tolerance**2 * self.dots(r, r, u)[0]
        loops.residual(*system.faces, x, r)
        np.multiply(r, inverse, out=u)
        p[:] = 0.0
        s[:] = 0.0
        alpha = beta = before = 0.0
        for iteration in range(MOST_ITERATIONS):
            system.exchange.fill(u_rows)
            loops.product(*system.faces, capacity, u, w)
            size, curvature = self.dots(r, w, u)
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

    def dots(
        self, a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return a . c and b . c over the owned cells of all ranks."""
        owned = self.conduction.patch.owned
        if self.sums == "plain":
            self._loops.two_dots(a, b, c, owned, self._pair)
            first, second = self._allsum(self._pair)
            return float(first), float(second)
        exact = self._exact
        exact.exact_dots(a, b, c, owned, self._terms, self._terms.view(np.int64), self._bins)
        bins = self._allsum(self._bins)
        return exact.rounded(bins[0]), exact.rounded(bins[1])
