"""The Euler equations of an ideal gas on a patch, and the criterion that refines its mesh.

HLLC fluxes at first order. A state is a float64 array, shape (at least owned + ghosts, 4): density,
x and y momentum, and total energy, all per area. Walls reflect.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.mesh.patch import Fill, Patch

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
    """

    def __init__(self, patch: Patch, *, spacing: float, gamma: float) -> None:
        from hindmost.harness.adaptive.physics import flow_loops

        rows = patch.owned + patch.ghosts
        self.patch, self.spacing, self.gamma = patch, spacing, gamma
        self._loops = flow_loops
        self._length = spacing / 2.0 ** np.arange(LEVELS)
        self._per_width = 1.0 / self._length
        self._gas, self._change = np.empty((rows, 4)), np.empty((rows, 4))
        self._work = np.empty(9 * flow_loops.BLOCK)

    def largest_rate(self, state: State) -> float:
        """Return the largest (|u| + |v| + 2 c) / width of the owned cells, per unit of time.

        The time step is the CFL number over the largest rate of all ranks. The rate is infinite if
        a cell is invalid, so that the maximum over ranks informs all of them; see `flaw`.
        """
        rate: float = self._loops.largest_rate(
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

    def step(self, state: State, dt: float) -> None:
        """Advance the owned rows by one time step.

        Parameters
        ----------
        state : float64 array, shape (at least owned + ghosts, 4)
            Its ghosts are filled.
        dt : float
        """
        patch, walls, faces = self.patch, self.patch.walls, self.patch.faces
        self._loops.step(
            state, patch.owned, patch.level,
            faces.lower, faces.upper, faces.level, faces.across_x, walls.cell, walls.side,
            self._length, dt * self._per_width**2, self.gamma, self._gas, self._work, self._change,
        )  # fmt: skip


def refinement_flags(deck: Deck, patch: Patch, state: State, *, fill: Fill) -> NDArray[np.int8]:
    """Flag owned cells by jumps of density, pressure and, if the deck conducts heat, temperature.

    The jump of a and b is ``|a - b| / min(a, b)``. A cell divides above ``deck.divide`` and may
    combine below ``deck.combine``; between them it is unchanged, so that it does not divide and
    combine alternately. ``deck.buffer`` rings of neighbours divide or stay with a cell, so that
    moving features do not leave the refined region immediately.

    Parameters
    ----------
    deck : Deck
    patch : Patch
    state : float64 array, shape (at least owned + ghosts, 4)
        Its ghosts are filled.
    fill : callable
        Fills the ghosts of jumps, once for each ring.

    Returns
    -------
    int8 array, shape (owned,)
        1: divide; 0: keep; -1: combine, if all siblings have -1.
    """
    from hindmost.harness.adaptive.physics.flow_loops import largest_jumps, spread

    rows = patch.owned + patch.ghosts
    values = np.empty((rows, 3 if deck.heat else 2))
    rho, mx, my, energy = state[:rows].T
    values[:, 0] = rho
    values[:, 1] = (deck.gamma - 1.0) * (energy - 0.5 * (mx * mx + my * my) / rho)
    if deck.heat:
        values[:, 2] = values[:, 1] / rho
    jump, faces = np.zeros((rows, 1)), patch.faces
    largest_jumps(faces.lower, faces.upper, values, jump.ravel())
    for _ in range(deck.buffer):
        fill(jump)
        spread(faces.lower, faces.upper, jump.ravel().copy(), jump.ravel())
    largest, level = jump[: patch.owned, 0], patch.level[: patch.owned]
    flags = np.zeros(patch.owned, np.int8)
    flags[(largest > deck.divide) & (level < deck.levels)] = 1
    flags[(largest < deck.combine) & (level > 0)] = -1
    return flags
