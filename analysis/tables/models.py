"""The table of models: what each makes of the solve time."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from hindmost.analysis.fits import FittedGroup
from hindmost.analysis.tables.terminal import LEFT, RIGHT, new_table, percent, seconds

LEGEND = """\
error: of the model against the measured solve time. explains: through a mechanism that could be
wrong; identity: true of any run (bodies less what lies between them); bound: an upper limit.
All are held against the run that they are made from."""


def model_table(fitted: FittedGroup) -> Table:
    """Make the table of one configuration."""
    times = fitted.solve_times_s
    spread = f", {seconds(min(times))} to {seconds(max(times))}" if len(times) > 1 else ""
    title = (
        f"{fitted.group.title}: solve time {seconds(float(np.median(times)))} "
        f"({len(times)} run{'s' if len(times) > 1 else ''}{spread})"
    )
    columns = [("model", LEFT), ("kind", LEFT), ("predicted", RIGHT), ("error", RIGHT)]
    if len(times) > 1:
        columns.append(("of the runs", LEFT))
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
    for fitted_run in fitted.runs:
        for name, reason in fitted_run.fits.refused.items():
            table.add_row(name, "refused", "", "", reason)
    return table
