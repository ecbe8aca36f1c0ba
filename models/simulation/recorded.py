"""The walk as it was recorded: when every rank came to an event on the common clock, and left it.

Nothing is computed anew here, unlike in `hindmost.models.simulation.walker`: a rank comes to an
event after its own work, and leaves it after the time that it was recorded to spend there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import EventBlock


def moments(
    start: NDArray[np.float64], block: EventBlock
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when every rank came to every event of some bodies, and when it left.

    Parameters
    ----------
    start : float64 array, shape (iteration, rank), seconds
        On the common clock.
    block : EventBlock
        Of the same bodies. What follows the end of a body has no meaning in the result.

    Returns
    -------
    come, leave : float64 array, shape (iteration, event, rank), seconds
    """
    bodies, events = block.kind.shape
    steps = np.empty((bodies, 2 * events + 1, start.shape[1]))
    steps[:, 0] = start
    steps[:, 1::2] = block.work.transpose(0, 2, 1)
    steps[:, 2::2] = block.duration.transpose(0, 2, 1)
    np.cumsum(steps, axis=1, out=steps)
    return steps[:, 1::2], steps[:, 2::2]
