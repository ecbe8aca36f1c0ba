"""The charts of a run that goes on, from its frames: those of every page, over its iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.figures.distributions import in_order, stacked
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.heat_map import Callout, HeatMap
from hindmost.harness.runfile.feed import FeedHead, bin_edges_ns
from hindmost.text import counted, unit_for

MAX_COLUMNS = 300
"""Of a chart that is sent again with every frame."""
Frames = Sequence[dict[str, Any]]


def steps_of(
    frames: Frames,
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
    """Group frames that begin in the same iteration: a long one lasts for several frames.

    Returns
    -------
    first, begin, end : int array, shape (group,)
        The first frame of each group, and between which iterations it lies.
    """
    reached = np.array([each["iteration"] for each in frames], np.int64)
    begins = np.append(0, reached[:-1])
    first = np.flatnonzero(np.diff(begins, prepend=-1))
    last = np.append(first[1:], reached.size) - 1
    return first, begins[first], np.maximum(reached[last], begins[first] + 1)


def rank_map(head: FeedHead, frames: Frames, callouts: tuple[Callout, ...] = ()) -> HeatMap:
    """Return the share of the metric of the last frame by iteration and rank, of others nothing."""
    metric = frames[-1]["metric"] if frames else 0
    heat, begins, ends = np.zeros((1, head.columns)), np.zeros(1, np.int64), np.ones(1, np.int64)
    if frames:
        heat = np.array([each["heat"] for each in frames], np.float64) / 1000.0
        heat[[each["metric"] != metric for each in frames]] = 0.0
        first, begins, ends = steps_of(frames)
        heat = np.maximum.reduceat(heat, first)
    step = -(-int(ends[-1]) // MAX_COLUMNS)
    bodies = np.arange(0, int(ends[-1]), step)
    low = np.searchsorted(ends, bodies, side="right")
    high = np.searchsorted(begins, bodies + step, side="left")
    columns = np.array([heat[at:to].max(axis=0) for at, to in zip(low, high, strict=True)])
    # Ranks that share a column of the feed have its largest share.
    of_ranks = np.arange(head.ranks) * head.columns // head.ranks
    return HeatMap(
        title=head.workload,
        what=f"{head.metrics[metric]}, share of the time",
        selection=f"each column: the largest of {counted(step, 'iteration')}" if step > 1 else "",
        times=columns[:, of_ranks],
        bodies=bodies,
        ranks=head.ranks,
        bodies_a_column=1,
        ranks_a_row=1,
        in_percent=True,
        callouts=callouts,
    )


def phase_chart(head: FeedHead, frames: Frames) -> Chart:
    """Return the share of each phase in the time of all ranks."""
    spent, window, ends = np.zeros((1, len(head.phases))), np.ones(1), np.ones(1)
    if frames:
        first, _, reached = steps_of(frames)
        every = -(-first.size // MAX_COLUMNS)
        starts, last = (
            first[::every],
            np.append(np.arange(every, first.size, every), first.size) - 1,
        )
        spent = np.add.reduceat(np.array([each["phase_ns"] for each in frames], float), starts)
        window = np.add.reduceat(np.array([each["window_ns"] for each in frames], float), starts)
        ends = reached[last].astype(np.float64)
    percent = 100.0 * spent / np.maximum(window, 1.0)[:, None]
    return Chart(
        title=head.workload,
        x=Quantity("iteration"),
        y=Quantity("share of the time of all ranks", "%"),
        series=stacked(
            in_order(dict(zip(head.phases, percent.T, strict=True))), np.append(0.0, ends)
        ),
        y_limits=(0.0, 100.0),
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
        logarithmic=(True, True),
    )
