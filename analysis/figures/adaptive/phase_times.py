"""Where the time of every cycle went, phase upon phase."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.figures.adaptive.lines import edges
from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.limits import worth_showing
from hindmost.analysis.figures.units import unit_for
from hindmost.models.dynamic.work import PHASES

ROOM = 1.08
STACK = {
    "hydro": ("hydro",),
    "heat": ("heat",),
    "adaption, balance and the rest": ("adaption", "balance"),
    "halo": ("halo",),
    "reduction": ("reduction",),
}
"""From the bottom; what is in no phase stands with adaption: five fills are told apart in grey."""
REST = "adaption, balance and the rest"


def phases_over_cycles(run: AdaptiveRun) -> Chart:
    """Make the stacked chart of the phases of rank 0."""
    unit = unit_for(run.seconds)
    parts = {
        name: np.sum([run.phases_s[:, PHASES.index(phase)] for phase in phases], axis=0)
        for name, phases in STACK.items()
    }
    parts[REST] = parts[REST] + np.maximum(0.0, run.seconds - run.phases_s.sum(axis=1))
    tops = unit.per_second * np.cumsum(list(parts.values()), axis=0)
    base = np.vstack([np.zeros(run.seconds.size), tops[:-1]])
    top = ROOM * worth_showing(tops[-1])[1]
    beyond = int(np.count_nonzero(tops[-1] > top))
    return Chart(
        title=f"{run.title}: rank 0",
        x=Quantity("cycle"),
        y=Quantity("time of a cycle", unit.sign),
        series=tuple(
            Series(name=name, look="area", x=edges(run), y=tops[level], base=base[level])
            for level, name in enumerate(parts)
        ),
        y_limits=(0.0, top),
        note=f"{beyond} of {run.seconds.size} lie beyond" if beyond else "",
        marks={},
        stacked=True,
        counted=True,
    )
