"""The activity stack of a run: how many ranks are in each phase at each moment of the solve."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.ranks.read import own_share
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.figures.times import in_order, stacked
from hindmost.analysis.runs.model_input import solve_rows
from hindmost.analysis.runs.read import of_how_many, title_of
from hindmost.analysis.show.chart import Chart, Quantity
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.profile import ProfileSum
from hindmost.text import unit_for

INTERVALS = 200
LOCAL, UNCLASSIFIED = "local", "unclassified"
PHASES = {
    "post": (EventKind.POST,),
    "halo": (EventKind.SEND, EventKind.RECEIVE),
    "wait": (EventKind.REDUCE, EventKind.COMPLETE),
}
"""The phase that the time in an event belongs to."""


def make_activity_profile(run: Run, choice: FigureChoice) -> Chart:
    """Make the stack of the shares of ranks in each phase, over the time of the solve.

    Raises
    ------
    UsageError
        The bodies of the run take no time.
    """
    if not (run.bodies and run.solve_time_s > 0.0):
        raise UsageError(f"{run.path}: its bodies take no time.")
    events = run.has("event_kind")
    names = (LOCAL, UNCLASSIFIED, *PHASES) if events else run.phases
    sums = {name: ProfileSum(run.columns, run.solve_time_s, INTERVALS) for name in names}
    for rows in run.blocks():
        parts, duration = run.variable("phase_duration", rows), run.variable("duration", rows)
        start = run.variable("start", rows)
        if not events:
            for at, name in enumerate(run.phases):
                sums[name].add(start, parts[:, :, at], duration)
            continue
        block = solve_rows(run, rows, run.own_work(parts))
        share = own_share(run, block, parts)
        own = np.ones(start.shape) if share is None else share
        sums[LOCAL].add_between(start, duration, block, own)
        sums[UNCLASSIFIED].add_between(start, duration, block, 1.0 - own)
        for name, kinds in PHASES.items():
            sums[name].add_inside(start, duration, block, kinds)
    profiles = {name: each.of_run for name, each in sums.items()}
    percent = {name: 100.0 * each.utilisation for name, each in profiles.items()}
    edges = next(iter(profiles.values())).edges
    unit = unit_for(edges)
    there = {name: each for name, each in percent.items() if each.any()}
    notes = [] if events else ["no event times: phases spread over their body"]
    if run.reduced:
        notes.insert(0, of_how_many(run))
    return Chart(
        title=title_of(run),
        x=Quantity("time of the solve", unit.sign),
        y=Quantity("ranks", "%"),
        series=stacked(in_order(there), unit.per_second * edges),
        y_limits=(0.0, 100.0),
        note="; ".join(notes),
        marks={},
        stacked=True,
    )
