"""How well recorded iterations tell the time of a solve of another length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.harness.runfile.reader import Run
from hindmost.models.simulation.change import Change

FEWEST_BODIES = 20
"""Recorded bodies that another length rests on, without which there is no interval."""
MOST_BLOCKS, FEWEST_IN_BLOCK = 20, 5
"""Parts of the solve whose times are compared: as many as that, of as many bodies."""
FEWEST_ALIKE = 5
"""Bodies at a place of the restart cycle, for a median of them."""
WIDEST = 10.0
"""The factor between a time and an end of its interval, from which on there is no interval."""


def length_scatter(run: Run, change: Change) -> float:
    """Return the logarithm of the factor by which bodies leave a time open; may be inf.

    The same bodies would not take the same time again. For another length, the bodies that are
    repeated tell the mean of all bodies with an error, which grows with the length, and those that
    were not recorded scatter themselves. Both follow from how parts of the recorded solve differ,
    so that bodies may depend on each other.

    Parameters
    ----------
    run : Run
    change : Change
    """
    if change == Change():
        return 0.0
    times_s = run.durations.max(axis=1)
    wanted = run.header.iterations if change.iterations is None else change.iterations
    restart = run.header.restart
    kept_s = float(times_s.sum())
    if not restart:  # the second half is repeated
        used = np.arange(run.bodies) >= run.bodies // 2
        more = wanted - run.header.iterations
    elif change.restart is not None and change.restart < restart:
        used = run.position < change.restart
        kept_s = float(times_s[used].sum())
        more = wanted - int(used.sum())
    else:
        used = np.ones(run.bodies, np.bool_)
        more = wanted - run.header.iterations
    count = int(used.sum())
    if count < (FEWEST_BODIES if more > 0 else 2):
        return float("inf")
    position = run.position[used] if restart else np.zeros(count, np.int32)
    deviating_s = deviations(times_s[used], position)
    blocks = max(min(MOST_BLOCKS, count // FEWEST_IN_BLOCK), 2)
    sums_s = np.array([part.sum() for part in np.array_split(deviating_s, blocks)])
    total_s = float(times_s[used].sum())
    sd_s = float(np.sqrt(blocks) * sums_s.std(ddof=1))
    repeated = max(more, 0) / count
    # The same bodies once more scatter as a whole; others, also by how well these tell the mean.
    width_s = np.sqrt(repeated * (repeated + 1.0)) * sd_s if repeated else sd_s
    factor = float(special.stdtrit(blocks - 1, 0.95))
    return change.noise * factor * float(width_s) / (kept_s + repeated * total_s)


def deviations(
    times_s: NDArray[np.float64],
    position: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return times less the median at their place in the restart cycle, where many share it."""
    found = np.array(times_s, np.float64)
    for place in np.unique(position):
        here = position == place
        if here.sum() >= FEWEST_ALIKE:
            found[here] -= np.median(found[here])
    return found
