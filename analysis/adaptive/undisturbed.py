"""Which cycles of a run were undisturbed, as a probe on the same cores shows.

The probe says nothing about the time of the cycle: it is the pulse, a fixed computation right
before and right after the cycle on the core of every rank, and the share of the cycle in which a
rank did not have its core.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.replays import FIRST
from hindmost.analysis.runs.cycles import AdaptiveRun

FAST = 0.1
"""Quantile of a rank's pulses that stands for its undisturbed core and memory."""
SLOW_CORE, SLOW_MEMORY = 1.08, 1.5
"""Pulses over that quantile from which on a core, or its memory, is disturbed. Two passes over the
same memory differ by more than two computations do."""
LOST = 0.01
"""Share of a cycle from which on a rank without its core is disturbed."""


def undisturbed_cycles(run: AdaptiveRun) -> NDArray[np.bool_] | None:
    """Return which cycles were undisturbed on every rank.

    The first cycle never counts: there is no pulse before it.

    Returns
    -------
    bool array, shape (cycle,), or None
        None if the run has no pulses.
    """
    pulses = run.pulses_s
    if not pulses.shape[0]:
        return None
    fast = np.quantile(pulses, FAST, axis=0)
    calm = (pulses <= fast * np.array([SLOW_CORE, SLOW_MEMORY])).all(axis=(1, 2))
    calm[FIRST:] &= calm[:-FIRST]
    calm[:FIRST] = False
    found: NDArray[np.bool_] = calm & (run.lost < LOST).all(axis=1)
    return found


def undisturbed_share(runs: Iterable[AdaptiveRun]) -> float | None:
    """Return the share of undisturbed cycles in runs; None if none has pulses."""
    found = [calm for run in runs if (calm := undisturbed_cycles(run)) is not None]
    return float(np.mean(np.concatenate(found))) if found else None
