"""The table of models: what each makes of the solve time."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from hindmost.analysis.fits import FittedGroup
from hindmost.analysis.tables.terminal import LEFT, RIGHT, new_table, percent, seconds

CHARACTER = ("ranks_alike", "ranks_alike_in_work", "nodes", "slow_groups")
SUBJECT = {
    "ranks_alike": "bodies",
    "ranks_alike_in_work": "work",
    "nodes": "nodes",
    "slow_groups": "in time",
}


def character(fitted: FittedGroup) -> list[str]:
    """Say in a line each what kind of run the median one is; what it does not allow is left out."""
    run = fitted.median_run
    return [
        f"{SUBJECT[name]}: {run.character[name]['text']}"
        for name in CHARACTER
        if "text" in run.character[name]
    ]


LEGEND = """\
error: of the model against the measured solve time. explains: through a mechanism that could be
wrong; identity: true of any run, the solve time less what lies between bodies; bound: an upper
limit on the expected time of the bodies. All are held against the run that they are made from; only
max-plus counts what lies between bodies."""


def model_table(fitted: FittedGroup) -> Table:
    """Make the table of one configuration."""
    times = fitted.solve_times_s
    spread = f", {seconds(min(times))} to {seconds(max(times))}" if len(times) > 1 else ""
    title = (
        f"{fitted.group.title}\nsolve time {seconds(float(np.median(times)))} "
        f"({len(times)} run{'s' if len(times) > 1 else ''}{spread})"
    )
    columns = [("model", LEFT), ("kind", LEFT), ("predicted", RIGHT), ("error", RIGHT)]
    if len(times) > 1:
        columns.append(("range over runs", LEFT))
    table = new_table(title, columns)
    for summary in fitted.summaries():
        cells = [
            summary.name,
            summary.kind,
            seconds(summary.predicted_s),
            percent(summary.error_percent),
        ]
        if len(times) > 1:
            cells.append(f"{percent(summary.lowest_percent)} to {percent(summary.highest_percent)}")
        table.add_row(*cells)
    return table


def refusals(fitted: FittedGroup) -> list[str]:
    """Return a line for every model that the times of some run do not allow."""
    reasons: dict[tuple[str, str], int] = {}
    for run in fitted.runs:
        for refused in run.refused.items():
            reasons[refused] = reasons.get(refused, 0) + 1
    return [
        f"{name}: not fitted to {count} of {len(fitted.runs)} runs. {reason}"
        for (name, reason), count in reasons.items()
    ]
