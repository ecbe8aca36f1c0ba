"""How the time of a body depends on its place in the restart cycle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.units import unit_for

BAND = (0.05, 0.95)


def time_in_cycle(
    durations: NDArray[np.float64],
    work: NDArray[np.float64],
    position: NDArray[np.int32],
    *,
    title: str,
) -> Chart:
    """Make the chart of medians and the middle 90 % at every place of the cycle.

    Parameters
    ----------
    durations, work : float64 array, shape (iteration, rank), seconds
    position : int array, shape (iteration,)
        Place in the cycle.
    """
    unit = unit_for(durations)
    places = np.unique(position)
    low, middle, high = (
        np.array([np.quantile(durations[position == place], share) for place in places])
        * unit.per_second
        for share in (BAND[0], 0.5, BAND[1])
    )
    alone = np.array([np.median(work[position == place]) for place in places]) * unit.per_second
    x = places.astype(np.float64)
    return Chart(
        title=title,
        x=Quantity("place of the body in the restart cycle"),
        y=Quantity("time of a body", unit.sign),
        series=(
            Series(name="middle 90 % of bodies", look="band", x=x, y=high, base=low),
            Series(name="median", look="line", x=x, y=middle),
            Series(name="median without waiting", look="line", x=x, y=alone),
        ),
        y_limits=(0.0, 1.25 * float(high.max())),
        marks={},
        counted=True,
    )
