"""The charts of a run that goes on, from its frames: those of every page, over its iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hindmost.analysis.runs.figures.times import in_order, stacked
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.heat_map import Callout, HeatMap
from hindmost.harness.runfile.feed import FeedHead, bin_edges_ns
from hindmost.text import counted, unit_for

MAX_COLUMNS = 300
"""Of a chart that is sent again with every frame."""
Frames = Sequence[dict[str, Any]]


def rank_map(head: FeedHead, frames: Frames, callouts: tuple[Callout, ...] = ()) -> HeatMap:
    """Return the share of the metric of the last frame by iteration and rank, of others nothing."""
    metric = frames[-1]["metric"] if frames else 0
    heat = np.zeros((1, head.columns))
    begins, ends = np.zeros(1), np.ones(1)
    if frames:
        heat = np.array([each["heat"] for each in frames], np.float64) / 1000.0
        heat[[each["metric"] != metric for each in frames]] = 0.0
        ends = np.maximum([each["iteration"] for each in frames], 1)
        begins = np.append(0, ends[:-1])
    step = -(-int(ends[-1]) // MAX_COLUMNS)
    bodies = np.arange(0, int(ends[-1]), step)
    first = np.searchsorted(ends, bodies, side="right")
    after = np.maximum(np.searchsorted(begins, bodies + step, side="left"), first + 1)
    columns = [heat[low:high].max(axis=0) for low, high in zip(first, after, strict=True)]
    return HeatMap(
        title=head.workload,
        what=f"{head.metrics[metric]}, share of the time",
        selection=f"each column: the largest of {counted(step, 'iteration')}" if step > 1 else "",
        times=np.array(columns),
        bodies=bodies,
        ranks=head.ranks,
        bodies_a_column=1,
        ranks_a_row=-(-head.ranks // head.columns),
        in_percent=True,
        callouts=callouts,
    )


def phase_chart(head: FeedHead, frames: Frames) -> Chart:
    """Return the share of each phase in the time of all ranks."""
    spent, window, ends = np.zeros((1, len(head.phases))), np.ones(1), np.ones(1)
    if frames:
        starts = np.arange(0, len(frames), -(-len(frames) // MAX_COLUMNS))
        spent = np.add.reduceat(np.array([each["phase_ns"] for each in frames], float), starts)
        window = np.add.reduceat(np.array([each["window_ns"] for each in frames], float), starts)
        lasts = np.append(starts[1:], len(frames)) - 1
        ends = np.array([max(frames[at]["iteration"], 1) for at in lasts], float)
    percent = 100.0 * spent / np.maximum(window, 1.0)[:, None]
    return Chart(
        title=head.workload,
        x=Quantity("iteration"),
        y=Quantity("share of the time of all ranks", "%"),
        series=stacked(
            in_order(dict(zip(head.phases, percent.T, strict=True))), np.append(0.0, ends)
        ),
        y_limits=(0.0, 100.0),
        marks={},
        stacked=True,
    )


def time_chart(head: FeedHead, frames: Frames) -> Chart:
    """Return the iteration times of all ranks in the last frame; counts as logarithms."""
    counts, edges_ns = np.zeros(1), bin_edges_ns(0, 1)
    if frames and frames[-1]["bins"]:
        counts = np.array(frames[-1]["bins"], np.float64)
        edges_ns = bin_edges_ns(frames[-1]["first_bin"], counts.size)
    edges = 1e-9 * np.array(edges_ns)
    unit = unit_for(edges)
    low = 0.5  # below a count of 1: one slow iteration is seen
    series = Series(
        name="iterations of ranks",
        look="area",
        x=unit.per_second * edges,
        y=np.where(counts > 0.0, counts, low),
        base=np.full(counts.size, low),
    )
    return Chart(
        title=head.workload,
        x=Quantity("time of an iteration", unit.sign),
        y=Quantity("iterations of ranks"),
        series=(series,),
        y_limits=(low, 2.0 * max(float(counts.max()), 1.0)),
        marks={},
        logarithmic=(True, True),
    )
