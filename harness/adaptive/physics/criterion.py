"""The refinement criterion: relative jumps of a cell to its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.adaptive.mesh.patch import HaloExchange, Patch
from hindmost.harness.adaptive.physics.hydro import State
from hindmost.harness.adaptive.physics.scratch import Scratch

DIVIDE, KEEP, COMBINE = 1, 0, -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinementCriterion:
    """Jumps of density, pressure and, if heat is conducted, temperature.

    The jump of a and b is ``|a - b| / min(a, b)``. Between the thresholds a cell is unchanged, so
    that it does not divide and combine alternately.

    Attributes
    ----------
    divide, combine : float
        A cell divides above the first, and may combine below the second.
    levels : int
        Cells of this level do not divide.
    buffer : int
        Number of rings of neighbours that divide or stay with a cell, so that moving features do
        not leave the refined region immediately.
    temperature : bool

    Raises
    ------
    UsageError
        The thresholds are in the wrong order.
    """

    divide: float
    combine: float
    levels: int
    buffer: int = 0
    temperature: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.combine < self.divide:
            raise UsageError(
                f"Cells cannot divide above {self.divide:g} and combine below {self.combine:g}: "
                "the rule is 0 <= combine < divide."
            )

    def flags(
        self,
        patch: Patch,
        state: State,
        *,
        gamma: float,
        exchange: HaloExchange,
        scratch: Scratch | None = None,
    ) -> NDArray[np.int8]:
        """Return flags for the owned cells.

        Parameters
        ----------
        patch : Patch
        state : float64 array, shape (at least owned + ghosts, 4)
            Its ghosts are filled.
        gamma : float
        exchange : HaloExchange
            Fills the ghosts of jumps, `buffer` times.
        scratch : Scratch, optional

        Returns
        -------
        int8 array, shape (owned,)
            1: divide; 0: keep; -1: combine, if all siblings have -1.
        """
        from hindmost.harness.adaptive.physics.loops.jumps import largest_jumps, spread

        scratch = scratch or Scratch()
        rows = patch.owned + patch.ghosts
        values = scratch.take("jumping", rows, 3 if self.temperature else 2)
        rho, mx, my, energy = state[:rows].T
        values[:, 0] = rho
        values[:, 1] = (gamma - 1.0) * (energy - 0.5 * (mx * mx + my * my) / rho)
        if self.temperature:
            values[:, 2] = values[:, 1] / rho
        jump = scratch.take("jump", rows, 1)
        jump[:] = 0.0
        for faces in (patch.x_faces, patch.y_faces):
            largest_jumps(faces.lower, faces.upper, values, jump.ravel())
        for _ in range(self.buffer):
            exchange.fill(jump)
            before = scratch.take("jump before", rows, 1)
            before[:] = jump
            for faces in (patch.x_faces, patch.y_faces):
                spread(faces.lower, faces.upper, before.ravel(), jump.ravel())
        largest, level = jump[: patch.owned, 0], patch.level[: patch.owned]
        flags = np.zeros(patch.owned, np.int8)
        flags[(largest > self.divide) & (level < self.levels)] = DIVIDE
        flags[(largest < self.combine) & (level > 0)] = COMBINE
        return flags
