"""Measured and predicted times over cycles: the paper's figures 2, 3 and 5."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.adaptive.replays import replayed
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.figures.adaptive.lines import times_over_cycles
from hindmost.analysis.figures.chart import Chart
from hindmost.errors import UsageError

SHOWN = {
    "online-all": "online, all cycles",
    "offline": "offline",
    "shape-level": "shape times level",
}
"""Predictors that are drawn, and how they are called in figures."""
NEIGHBOUR = "neighbour runs"
FIGURE_5 = ("online-all", "online-1")


def predicted_times(run: AdaptiveRun) -> Chart:
    """Make the chart of measured times and what was said before (figures 2 and 3).

    Raises
    ------
    UsageError
        Nothing was predicted.
    """
    said = {words: run.prediction(name) for name, words in SHOWN.items() if name in run.predictors}
    if not said:
        raise UsageError(f"{run.run.path} holds no predictions of its cycles.")
    return times_over_cycles(
        run,
        {"measured": run.seconds, **said},
        title=run.title,
        fill=NEIGHBOUR if run.neighbour.any() else "",
    )


def interference(run: AdaptiveRun) -> Chart:
    """Make the chart of a run that was disturbed on purpose (figure 5).

    The paper's online model never forgets, so it is run anew over the recorded cycles without the
    test for interference; ``shape times level`` is as it was in the run, with it.

    Raises
    ------
    UsageError
        No neighbour was made to run.
    """
    if not run.disturbed_on_purpose:
        raise UsageError(
            f"{run.run.path}: no neighbour was made to run; `hindmost run adaptive --interfere` "
            "does that."
        )
    panel = replayed(run, names=FIGURE_5, restarts=False)
    said = dict(zip(FIGURE_5, panel.predicted.T, strict=True))
    times = {
        "measured": run.seconds,
        "online, all cycles": np.asarray(said["online-all"]),
        "online, last cycle": np.asarray(said["online-1"]),
    }
    for name in ("offline", "shape-level"):
        if name in run.predictors:
            times[SHOWN[name]] = run.prediction(name)
    return times_over_cycles(run, times, title=run.title, fill=NEIGHBOUR)
