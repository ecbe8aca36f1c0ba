"""The histogram of all bodies with the laws that were fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.style import ACCENT, INK, SECOND
from hindmost.models.stochastic.johnsonsu import JohnsonSU

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 80
MICROSECONDS = 1e6
LONGEST = 0.995
"""Quantile at which the axis ends; what lies beyond is counted in the label, not hidden."""


def draw_histogram(
    axes: Axes, times: NDArray[np.float64], law: JohnsonSU | None, title: str
) -> Axes:
    """Draw the density of times and the fitted laws.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    law : JohnsonSU or None
        None where the times allow no fit.
    """
    values = times.ravel() * MICROSECONDS
    low, high = float(values.min()), float(np.quantile(values, LONGEST))
    high = max(high, low * (1 + 1e-6))
    shown = values[values <= high]
    counts, edges = np.histogram(shown, bins=BINS, range=(low, high))
    density = counts / (values.size * np.diff(edges))
    axes.stairs(density, edges, fill=True, color=INK, alpha=0.25, label="recorded bodies")
    x = np.linspace(low, high, 800)
    if law is not None:
        axes.plot(
            x, law.pdf(x / MICROSECONDS) / MICROSECONDS, color=ACCENT, lw=1.8, label="Johnson SU"
        )
    mean, deviation = float(values.mean()), float(values.std())
    if deviation > 0:
        normal = np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        axes.plot(x, normal, color=SECOND, lw=1.4, ls="--", label="normal, same mean and deviation")
    axes.set_ylim(0, 1.15 * float(density.max()))
    beyond = values.size - shown.size
    note = f"; {beyond} of {values.size} lie beyond, up to {values.max():.0f} us" if beyond else ""
    axes.set_xlabel(f"time of a body, us{note}")
    axes.set_ylabel("density, 1/us")
    axes.set_title(title)
    axes.legend()
    return axes
