"""The latency trend: how long recorded solves take as messages get slower, from replays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindmost.analysis.runs.figures.compare_runs import ComparisonFigure, apart, common_title
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.palette import FILLS
from hindmost.analysis.whatif.options import changes_of
from hindmost.analysis.whatif.study import replay_run
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.text import unit_for

STEPS = (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Added latencies, as shares of the median body."""
ROOM = 1.08


def make_latency(runs: Sequence[Run]) -> Chart:
    """Make the chart of the solve time against the latency that is added to every message.

    Of each configuration, the run with the median solve time is replayed.

    Raises
    ------
    UsageError
        No run can be replayed, or more configurations than one figure can distinguish.
    """
    groups = group_runs(runs)
    if len(groups) > len(FILLS):
        raise UsageError(
            f"{len(groups)} configurations in one figure are too many; choose up to {len(FILLS)}."
        )
    names = apart(groups) if len(groups) > 1 else ["replayed"]
    chosen = [
        sorted(group.runs, key=lambda run: run.solve_time_s)[len(group.runs) // 2]
        for group in groups
    ]
    shared = max(float(run.summary["body_s"]["median"]) for run in chosen)
    more_us = 1e6 * shared * np.array(STEPS)
    changes = changes_of(latency=",".join(f"+{each:.4g}us" if each else "x1" for each in more_us))
    bands: list[Series] = []
    lines: list[Series] = []
    why = ""
    for name, run in zip(names, chosen, strict=True):
        try:
            replayed = replay_run(run, changes, None)
        except (DataError, UsageError) as error:
            why = why or str(error)
            continue
        predicted = np.array(
            [np.nan if each.predicted_s is None else each.predicted_s for each in replayed]
        )
        ends = np.array([each.interval or (np.nan, np.nan) for each in replayed])
        bands.append(
            Series(name=f"{name}: interval", look="band", x=more_us, y=ends[:, 1], base=ends[:, 0])
        )
        lines.append(Series(name=name, look="line", x=more_us, y=predicted))
    if not lines:
        raise UsageError(f"No run can be replayed with another latency. {why}")
    return scaled(bands, lines, common_title(runs))


def scaled(bands: Sequence[Series], lines: Sequence[Series], title: str) -> Chart:
    """Return the chart in units that suit; times of the series are seconds."""
    times = np.concatenate([each.y for each in (*bands, *lines)])
    unit = unit_for(times[np.isfinite(times)])
    series = tuple(
        Series(
            name=each.name,
            look=each.look,
            x=each.x,
            y=unit.per_second * each.y,
            base=None if each.base is None else unit.per_second * each.base,
        )
        for each in (*bands, *lines)
    )
    return Chart(
        title=title,
        x=Quantity("latency added to every message", "µs"),
        y=Quantity("time of the solve", unit.sign),
        series=series,
        y_limits=(0.0, ROOM * unit.per_second * float(np.nanmax(times))),
        marks={},
        legend_below=True,
    )


LATENCY_TREND = (
    ComparisonFigure(
        name="latency",
        summary="time of the solves against added latency, from replays",
        caption="Recorded solves, replayed with latency added to every message, up to half a "
        "median iteration. A pipelined solver stays flat until a reduction takes longer than the "
        "iteration that hides it.",
        make=make_latency,
    ),
)
