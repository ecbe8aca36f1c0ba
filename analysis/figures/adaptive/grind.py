"""Time per cell against cells: what a run took, and the machine's piecewise curve (figure 1)."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.limits import worth_showing
from hindmost.models.dynamic.grind import curve
from hindmost.models.dynamic.machine import Machine
from hindmost.models.dynamic.work import PHASES

HYDRO = PHASES.index("hydro")
NS = 1e9
ROOM = 1.15


def time_per_cell(run: AdaptiveRun, machine: Machine | None = None) -> Chart:
    """Make the chart of hydro time per cell and step on rank 0 against its cells.

    Parameters
    ----------
    machine : Machine, optional
        Its curves are drawn for one rank, and for as many as the run had on a node.
    """
    cells = run.cells.astype(np.float64)
    each = NS * run.phases_s[:, HYDRO] / (cells * run.steps)
    curves, highest = [], worth_showing(each)[1]
    if machine is not None:
        for on_node in sorted({1, min(run.ranks, machine.ranks_per_node)}):
            found = curve(machine.grind, "hydro", on_node)
            if found is not None:
                ranks = "rank" if on_node == 1 else "ranks"
                probed = Series(
                    name=f"probed with {on_node} {ranks} at work",
                    look="line",
                    x=np.exp(found.log_cells),
                    y=NS * np.asarray(found.seconds),
                )
                curves.append(probed)
                highest = max(highest, float(probed.y.max()))
    top = ROOM * highest
    order = np.argsort(cells, kind="stable")
    shown = order[each[order] <= top]
    points = Series(name="measured in the run", look="points", x=cells[shown], y=each[shown])
    beyond = cells.size - shown.size
    return Chart(
        title=run.title,
        x=Quantity("cells of a rank"),
        y=Quantity("hydro time per cell and step", "ns"),
        series=(points, *curves),
        y_limits=(0.0, top),
        note=f"{beyond} of {each.size} cycles lie beyond" if beyond else "",
        marks={},
        logarithmic=(machine is not None, False),
    )
