"""The work of a cycle, known before it runs, and the time that it took."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of one cycle.

    Attributes
    ----------
    cells : float
        Cells of the rank with most; E in the SAGE model.
    total : float
        Cells of all ranks.
    steps : int
        Hydro steps in the cycle, each with a halo exchange and a reduction.
    iterations : float
        Expected iterations of the heat solver in all its solves: 0 without heat, NaN if unknown.
    adapts : bool
        Whether the mesh adapts at the end of the cycle.
    ghosts : float
        Cells that the rank receives in one exchange; 0 if unknown.
    messages : float
        Number of neighbours of the rank.
    """

    cells: float
    total: float = 0.0
    steps: int = 1
    iterations: float = 0.0
    adapts: bool = False
    ghosts: float = 0.0
    messages: float = 0.0


PHASES = ("hydro", "halo", "heat", "reduction", "adaption", "balance")
"""The phases of a cycle, exclusive; halo and reduction contain those of all other phases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The time of a cycle on one rank.

    Attributes
    ----------
    seconds : float
        Time of the whole cycle.
    phases_s : tuple of float
        In the order of `PHASES`; empty if only the whole is known.
    iterations : float or None
        Iterations of the heat solver; None if not counted.
    pulse_s : float or None
        A pulse right after the cycle: a fixed computation that is no part of the run, on the
        slowest rank; None if none was read.
    """

    seconds: float
    phases_s: tuple[float, ...] = ()
    iterations: float | None = None
    pulse_s: float | None = None


def iterations_done(spent: Spent, work: Work) -> float:
    """Return the heat iterations of a cycle: counted, else expected, else 0."""
    if spent.iterations is not None:
        return spent.iterations
    return 0.0 if math.isnan(work.iterations) else work.iterations
