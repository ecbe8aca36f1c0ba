"""Where the time of bodies went: the shares of the phases, standing on each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Quantity, Series

MOST_STEPS = 600
ORDER = ("local", "post", "halo", "wait")
"""From the bottom: what a rank does by itself, then what it does and loses because of others; above
these, phases of a user's own, which are one area: more could not be told apart in grey."""


def stacked_shares(
    sums: Mapping[str, NDArray[np.float64]], *, title: str, along: str, marks: dict[str, float]
) -> Chart:
    """Stack the shares of phases; neighbours are added up where there are many.

    Parameters
    ----------
    sums : mapping of str to float64 array, shape (step,), seconds
        Time of every phase, summed over what is not along the axis.
    along : str
        What the steps are: ranks, or bodies.
    marks : dict of str to float
        Where the ranks of each host begin.
    """
    length = next(iter(sums.values())).size
    factor = -(-length // MOST_STEPS)
    starts = np.arange(0, length, factor)
    own = [name for name in sums if name not in ORDER]
    parts = {name: sums[name] for name in ORDER}
    if own:
        parts[", ".join(own)] = np.sum([sums[name] for name in own], axis=0)
    pooled = [np.add.reduceat(times, starts) for times in parts.values()]
    tops = np.cumsum(pooled, axis=0)
    whole = np.where(tops[-1] > 0, tops[-1], 1.0)
    percent = 100.0 * np.vstack([np.zeros(starts.size), tops]) / whole
    edges = np.append(starts, length) - 0.5
    return Chart(
        title=title,
        x=Quantity(along),
        y=Quantity("share of the time of bodies", "%"),
        series=tuple(
            Series(name=name, look="area", x=edges, y=percent[level + 1], base=percent[level])
            for level, name in enumerate(parts)
        ),
        y_limits=(0.0, 100.0),
        note=f"{factor} together in a step" if factor > 1 else "",
        marks=marks,
        stacked=True,
        counted=True,
    )
