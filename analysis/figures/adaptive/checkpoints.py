"""Accumulated time and checkpoints: the paper's figure 4."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.adaptive.checkpoints import CheckpointStudy, study_checkpoints
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.figures.chart import Chart, Quantity, Series

ROOM = 1.05


def accumulated(run: AdaptiveRun, study: CheckpointStudy | None = None) -> Chart:
    """Make the chart of time over cycles, with the checkpoints of each rule as points on it.

    Parameters
    ----------
    study : CheckpointStudy, optional
        The paper's mean time between failures and the run's checkpoints if not given.
    """
    study = study_checkpoints(run) if study is None else study
    total = np.cumsum(run.seconds)
    done = run.numbers + 1.0
    series = [Series(name="accumulated time", look="line", x=done, y=total)]
    for planned in study.planned:
        after = np.asarray(planned.plan.after, np.int64)
        if after.size:
            series.append(
                Series(name=planned.name, look="points", x=done[after - 1], y=total[after - 1])
            )
    written = np.array([int(each["cycle"]) for each in run.checkpoints], np.int64)
    places = written - run.first_cycle - 1
    places = places[(places >= 0) & (places < total.size)]
    if places.size:
        series.append(
            Series(name="written in the run", look="points", x=done[places], y=total[places])
        )
    cost = float(np.median(study.checkpoint_s))
    return Chart(
        title=f"{run.title}: a failure every {study.mtbf_s:,.4g} s, a checkpoint of {cost:.3g} s"
        + (" (assumed)" if study.assumed else ""),
        x=Quantity("cycles done"),
        y=Quantity("accumulated time", "s"),
        series=tuple(series),
        y_limits=(0.0, ROOM * float(total[-1])),
        marks={},
        counted=True,
        legend_below=True,
    )
