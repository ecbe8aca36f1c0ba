"""What a cycle of an adaptive code has to do: known before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of one cycle.

    Attributes
    ----------
    cells : float
        Cells of the rank that has most; E in the SAGE model.
    total : float
        Cells of all ranks; as many as ``cells`` on one rank.
    steps : int
        Hydro steps in the cycle, each with a halo exchange and a reduction.
    iterations : float
        Expected iterations of the heat solver in all its solves: 0 without heat, NaN where nothing
        is known of them.
    solves : float or None
        How often heat is solved for; None for as often as usual (`Application.solves`), or never
        where there are no iterations.
    adapts : bool
        Whether the mesh is looked at for adaption at the end of the cycle.
    ghosts : float
        Cells that the rank receives in one exchange, 0 where that is not known.
    messages : float
        Neighbours that the rank exchanges with.
    """

    cells: float
    total: float = 0.0
    steps: int = 1
    iterations: float = 0.0
    solves: float | None = None
    adapts: bool = False
    ghosts: float = 0.0
    messages: float = 0.0


PHASES = ("hydro", "halo", "heat", "reduction", "adaption", "balance")
"""The phases of a cycle, exclusive; halo and reduction are those of all other phases together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a cycle took on one rank.

    Attributes
    ----------
    seconds : float
        The whole cycle.
    phases_s : tuple of float
        In the order of `PHASES`; empty where only the whole is known.
    iterations : float or None
        Iterations of the heat solver that were done; None where they were not counted.
    divided, combined, moved : int
        Cells that were divided, combined and moved to another rank at the end of the cycle.
    disturbed : bool
        The rank was switched out against its will.
    """

    seconds: float
    phases_s: tuple[float, ...] = ()
    iterations: float | None = None
    divided: int = 0
    combined: int = 0
    moved: int = 0
    disturbed: bool = False


def iterations_done(spent: Spent, work: Work) -> float:
    """Return the heat iterations of a cycle: those counted, else those expected, else none."""
    if spent.iterations is not None:
        return spent.iterations
    return 0.0 if math.isnan(work.iterations) else work.iterations
