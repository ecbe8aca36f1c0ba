"""What the mesh did over cycles: its cells, and what adaption and balance changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.figures.adaptive.lines import edges
from hindmost.analysis.figures.chart import Chart, Quantity, Series

ROOM = 1.05


def cells_over_cycles(run: AdaptiveRun) -> Chart:
    """Make the chart of cells; on several ranks beside them those of the fullest times the ranks.

    What lies between the two is what all ranks wait for in every step.
    """
    values = {"cells of all ranks": run.total_cells}
    if run.ranks > 1:
        values["those of the fullest rank, times the ranks"] = run.most_cells * run.ranks
    return stepped(run, values, "cells")


def adaption_over_cycles(run: AdaptiveRun) -> Chart:
    """Make the chart of cells that were divided, combined and moved to another rank."""
    values = {"divided": run.divided, "combined": run.combined}
    if run.ranks > 1:
        values["moved"] = run.moved
    return stepped(run, values, "cells at the end of a cycle")


def stepped(run: AdaptiveRun, values: dict[str, NDArray[np.int64]], what: str) -> Chart:
    """Make a chart of counts, each constant over its cycle."""
    highest = max(int(each.max()) for each in values.values())
    return Chart(
        title=run.title,
        x=Quantity("cycle"),
        y=Quantity(what),
        series=tuple(
            Series(name=name, look="steps", x=edges(run), y=each.astype(np.float64))
            for name, each in values.items()
        ),
        y_limits=(0.0, ROOM * max(1, highest)),
        marks={},
        counted=True,
    )
