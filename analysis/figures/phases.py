"""Where the time of bodies went: the shares of the phases, standing on each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Look, Quantity, Series

MOST_STEPS = 600
ORDER = ("local", "post", "halo", "wait")
"""From the bottom: what a rank does by itself, then what it does and loses because of others; above
these, phases of a user's own, which are one area: more could not be told apart in grey."""


def stacked_shares(
    sums: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    along: str,
    marks: dict[str, float],
    names: tuple[str, ...] = (),
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
    names : tuple of str
        Of the steps, where their numbers are not.
    """
    length = next(iter(sums.values())).size
    factor = -(-length // MOST_STEPS)
    starts = np.arange(0, length, factor)
    pooled = {name: np.add.reduceat(times, starts) for name, times in in_order(sums).items()}
    whole = np.sum(list(pooled.values()), axis=0)
    whole = np.where(whole > 0, whole, 1.0)
    percent = {name: 100.0 * times / whole for name, times in pooled.items()}
    edges = np.append(starts, length) - 0.5
    return Chart(
        title=title,
        x=Quantity(along),
        y=Quantity("share of the time of bodies", "%"),
        series=stacked(percent, edges),
        y_limits=(0.0, 100.0),
        note=f"{factor} together in a step" if factor > 1 else "",
        marks=marks,
        stacked=True,
        counted=True,
        names=names,
    )


def in_order(times: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return the phases that are there from the bottom up, those of a user's own as one."""
    own = [name for name in times if name not in ORDER]
    parts = {name: times[name] for name in ORDER if name in times}
    if own:
        parts[", ".join(own)] = np.sum([times[name] for name in own], axis=0)
    return parts


def stacked(
    parts: Mapping[str, NDArray[np.float64]], x: NDArray[np.float64], look: Look = "area"
) -> tuple[Series, ...]:
    """Return areas or bars that stand on each other, from the bottom up.

    Parameters
    ----------
    parts : mapping of str to float64 array, shape (step,)
    x : float64 array, shape (step + 1,) for areas, (step,) for bars
    look : ``area`` or ``bars``
    """
    steps = next(iter(parts.values())).size
    tops = np.cumsum([np.zeros(steps), *parts.values()], axis=0)
    return tuple(
        Series(name=name, look=look, x=x, y=tops[level + 1], base=tops[level])
        for level, name in enumerate(parts)
    )
