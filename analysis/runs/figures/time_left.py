"""How the time of a job was used: iterations, what they might have taken, checkpoints, the stop."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.read import title_of
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.time_left import time_use_of
from hindmost.text import unit_for

MAX_POINTS = 1000
"""Iterations that are drawn; of more, the longest of each stretch."""


def make_time_left(run: Run, choice: FigureChoice) -> Chart:
    """Make the chart of a run whose time was limited.

    Raises
    ------
    UsageError
        It was not, or no loop was known.
    """
    use = time_use_of(run.header.spec.get("attached") or {})
    if use is None or use.limit_s is None or not use.band:
        raise UsageError(
            f"{run.path} does not say how its iterations went on until a limit: record the program "
            "with 'hindmost attach --stop-before'."
        )
    begin_s = datetime.fromisoformat(run.header.t0_utc).timestamp() - use.began_utc_s
    rank = int(run.durations.sum(axis=0).argmax())
    times = run.durations[:, rank]
    ends = begin_s + run.starts[:, rank] + times
    places = longest_of_each(times)
    band = {
        name: np.array([getattr(point, name) for point in use.band])
        for name in ("at_s", "level_s", "bound_s")
    }
    unit = unit_for(times)
    scale = unit.per_second
    highest_s = max(float(times.max()), float(band["bound_s"].max()))
    series = [
        Series(
            name="what the next iteration may take",
            look="band",
            x=band["at_s"],
            y=band["bound_s"] * scale,
            base=band["level_s"] * scale,
        ),
        Series(name="iterations", look="points", x=ends[places], y=times[places] * scale),
    ]
    if use.checkpoints:
        extra_s = np.array([write.extra_s for write in use.checkpoints])
        at_s = np.array([write.at_s for write in use.checkpoints])
        name = "what a checkpoint took"
        series.append(Series(name=name, look="points", x=at_s, y=extra_s * scale))
        highest_s = max(highest_s, float(extra_s.max()))
    top = 1.5 * highest_s * scale
    moments = {} if use.stop is None else {"told to stop": use.stop.at_s}
    series += [
        Series(name=name, look="line", x=np.array([at_s, at_s]), y=np.array([0.0, top]))
        for name, at_s in {**moments, "limit": use.limit_s}.items()
    ]
    return Chart(
        title=title_of(run),
        x=Quantity("time since the program was started", "s"),
        y=Quantity("time of an iteration", unit.sign),
        series=tuple(series),
        y_limits=(0.0, top),
        marks={},
    )


def longest_of_each(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of the longest iterations of equal stretches, ascending."""
    if times.size <= MAX_POINTS:
        return np.arange(times.size)
    edges = np.linspace(0, times.size, MAX_POINTS + 1).astype(np.int64)
    return np.array(
        [begin + int(times[begin:end].argmax()) for begin, end in pairwise(edges.tolist())]
    )
