"""Measured and predicted times over cycles: the paper's figures 2, 3 and 5."""

from __future__ import annotations

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
DISTURBED = {
    "online-all": "online, all cycles",
    "online-1": "online, last cycle",
    "offline": "offline",
    "shape-level": "shape times level",
}


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

    The paper's online model never forgets, whatever the test for interference finds; ``shape times
    level`` begins anew then.

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
    times = {"measured": run.seconds}
    for name, words in DISTURBED.items():
        if name in run.predictors:
            times[words] = run.prediction(name)
    return times_over_cycles(run, times, title=run.title, fill=NEIGHBOUR)
