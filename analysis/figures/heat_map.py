"""The (iteration, rank) colour map: the one way to draw a matrix of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.style import COLOUR_MAP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 1200
MOST_ROWS = 600
MICROSECONDS = 1e6
RANGE = (0.01, 0.995)
"""Quantiles of the times at the ends of the colours: a few detours must not darken the rest."""


def pool_maximum(times: NDArray[np.float64], most: int, axis: int) -> NDArray[np.float64]:
    """Pool neighbours along an axis by their maximum, so that no detour disappears.

    Parameters
    ----------
    times : float64 array
    most : int
        The most entries that are left along the axis.
    """
    factor = -(-times.shape[axis] // most)
    if factor <= 1:
        return times
    starts = np.arange(0, times.shape[axis], factor)
    pooled: NDArray[np.float64] = np.maximum.reduceat(times, starts, axis=axis)
    return pooled


def draw_heat_map(axes: Axes, times: NDArray[np.float64], title: str) -> Axes:
    """Draw times as colours, iterations to the right and ranks upwards.

    Parameters
    ----------
    times : float64 array, shape (iteration, rank), seconds
    """
    iterations, ranks = times.shape
    pooled = pool_maximum(pool_maximum(times, MOST_COLUMNS, axis=0), MOST_ROWS, axis=1)
    low, high = np.quantile(times, RANGE)
    image = axes.imshow(
        pooled.T * MICROSECONDS,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=COLOUR_MAP,
        vmin=low * MICROSECONDS,
        vmax=max(high, low * (1 + 1e-9)) * MICROSECONDS,
        extent=(-0.5, iterations - 0.5, -0.5, ranks - 0.5),
    )
    if ranks <= 16:
        axes.set_yticks(range(ranks))
    pooling = -(-iterations // MOST_COLUMNS)
    note = f" (each column: the slowest of {pooling})" if pooling > 1 else ""
    axes.set_xlabel(f"body{note}")
    rows = -(-ranks // MOST_ROWS)
    axes.set_ylabel("rank" + (f" (each row: the slowest of {rows})" if rows > 1 else ""))
    axes.set_title(title)
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=axes, label="time of the body, us", extend="both", pad=0.02)
    return axes
