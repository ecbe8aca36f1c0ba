"""Where the time of bodies went: the shares of the phases, standing on each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Quantity, Series

MOST_STEPS = 600
ORDER = ("local", "post", "halo", "wait")
"""From the bottom: what a rank does by itself, then what it does and loses because of others."""


def shares_per_rank(
    phases: Mapping[str, NDArray[np.float64]], *, title: str, marks: dict[str, float]
) -> Chart:
    """Make the stacked shares of every rank.

    Parameters
    ----------
    phases : mapping of str to float64 array, shape (iteration, rank), seconds
    marks : dict of str to float
        Where the ranks of each host begin.
    """
    sums = {name: values.sum(axis=0) for name, values in phases.items()}
    return stacked_shares(sums, title=title, along="rank", marks=marks)


def shares_over_time(phases: Mapping[str, NDArray[np.float64]], *, title: str) -> Chart:
    """Make the stacked shares over the bodies of the solve, all ranks together.

    Parameters
    ----------
    phases : mapping of str to float64 array, shape (iteration, rank), seconds
    """
    sums = {name: values.sum(axis=1) for name, values in phases.items()}
    return stacked_shares(sums, title=title, along="body", marks={})


def stacked_shares(
    sums: Mapping[str, NDArray[np.float64]], *, title: str, along: str, marks: dict[str, float]
) -> Chart:
    """Stack the shares of phases; neighbours are added up where there are many.

    Parameters
    ----------
    sums : mapping of str to float64 array, shape (step,), seconds
    """
    length = next(iter(sums.values())).size
    factor = -(-length // MOST_STEPS)
    starts = np.arange(0, length, factor)
    pooled = [np.add.reduceat(sums[name], starts) for name in ORDER]
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
            for level, name in enumerate(ORDER)
        ),
        y_limits=(0.0, 100.0),
        note=f"{factor} together in a step" if factor > 1 else "",
        marks=marks,
        stacked=True,
        counted=True,
    )
