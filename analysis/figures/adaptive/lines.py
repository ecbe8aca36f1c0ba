"""What the figures over cycles share: their axes and their curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.limits import worth_showing
from hindmost.analysis.figures.units import unit_for

ROOM = 1.08
"""Top of an axis over the highest of what is shown."""


def times_over_cycles(
    run: AdaptiveRun,
    times_s: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    behind: Sequence[Series] = (),
    fill: str = "",
) -> Chart:
    """Make a chart of times of cycles, from zero; cycles far out lie beyond the axis.

    Parameters
    ----------
    times_s : mapping of str to float64 array, shape (cycle,), seconds
        The first are measured. NaN where nothing was predicted.
    fill : str
        Name of the stretches in which the neighbour ran; empty to leave them out.
    """
    measured = next(iter(times_s.values()))
    unit = unit_for(measured)
    known = np.concatenate([each[np.isfinite(each)] for each in times_s.values()])
    top = ROOM * max(worth_showing(measured)[1], worth_showing(known)[1]) * unit.per_second
    beyond = int(np.count_nonzero(measured * unit.per_second > top))
    areas = [stretches(run, top, fill)] if fill else []
    return Chart(
        title=title,
        x=Quantity("cycle"),
        y=Quantity("time of a cycle", unit.sign),
        series=(*behind, *areas, *curves(run.numbers, times_s, unit.per_second)),
        y_limits=(0.0, top),
        note=f"{beyond} of {measured.size} lie beyond" if beyond else "",
        marks={},
        counted=True,
        legend_below=len(times_s) > 3,
    )


def curves(
    cycles: NDArray[np.int64], values: Mapping[str, NDArray[np.float64]], factor: float = 1.0
) -> list[Series]:
    """Return a line through the known values of each name; none of what is never known."""
    found = []
    for name, each in values.items():
        known = np.isfinite(each)
        if known.any():
            x = cycles[known].astype(np.float64)
            found.append(Series(name=name, look="line", x=x, y=each[known] * factor))
    return found


def stretches(run: AdaptiveRun, top: float, name: str) -> Series:
    """Return an area behind the cycles in which the neighbour ran."""
    return Series(name=name, look="area", x=edges(run), y=np.where(run.neighbour, top, 0.0))


def edges(run: AdaptiveRun) -> NDArray[np.float64]:
    """Return the borders of cycles on the axis, float64 array, shape (cycle + 1,)."""
    return np.append(run.numbers, run.numbers[-1] + 1) - 0.5
