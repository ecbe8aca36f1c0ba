"""The activity stack of a run: how many ranks are in each phase at each moment of the solve."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.ranks.read import INTERVALS, own_share
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.figures.times import in_order, stacked
from hindmost.analysis.runs.read import of_how_many, title_of
from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.analysis.show.chart import Chart, Quantity
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.profile import Profile, ProfileSum
from hindmost.text import unit_for

LOCAL, UNCLASSIFIED = "local", "unclassified"
PHASES = {
    "post": (EventKind.POST,),
    "halo": (EventKind.SEND, EventKind.RECEIVE),
    "wait": (
        EventKind.REDUCE,
        EventKind.COMPLETE,
        EventKind.FROM_ROOT,
        EventKind.TO_ROOT,
        EventKind.IN_ORDER,
    ),
}
"""The phase that the time in an event belongs to."""


def make_activity_profile(run: Run, choice: FigureChoice) -> Chart:
    """Make the stack of the shares of ranks in each phase, over the time of the solve.

    Raises
    ------
    UsageError
        The bodies of the run take no time.
    """
    profiles = tallied(run, activity_profiles())
    percent = {name: 100.0 * each.utilisation for name, each in profiles.items()}
    edges = next(iter(profiles.values())).edges
    unit = unit_for(edges)
    there = {name: each for name, each in percent.items() if each.any()}
    notes = [] if run.has("event_kind") else ["no event times: phases spread over their iteration"]
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


def activity_profiles() -> Wanted[dict[str, Profile]]:
    """Return what the stack reads of a run, to be read together with other results."""
    return Wanted(ActivityTally, checked=False)


class ActivityTally:
    """How many ranks are in each phase over the solve, block by block."""

    def __init__(self, run: Run) -> None:
        if not (run.bodies and run.solve_time_s > 0.0):
            raise UsageError(f"{run.path}: its iterations take no time.")
        self._run, self._events = run, run.has("event_kind")
        ranks, whole_s = run.columns, run.solve_time_s
        names = (LOCAL, UNCLASSIFIED, *PHASES) if self._events else run.phases
        self._sums = {name: ProfileSum(ranks, whole_s, INTERVALS) for name in names}

    def add(self, block: Block) -> None:
        """Take the next bodies."""
        start, duration, sums = block.start, block.duration, self._sums
        if not self._events:
            for at, name in enumerate(self._run.phases):
                sums[name].add(start, block.phases[:, :, at], duration)
            return
        events = block.events
        share = own_share(self._run, events, block.phases)
        own = np.ones(start.shape) if share is None else share
        sums[LOCAL].add_events(start, duration, events, between=own)
        sums[UNCLASSIFIED].add_events(start, duration, events, between=1.0 - own)
        for name, kinds in PHASES.items():
            sums[name].add_events(start, duration, events, inside=kinds)

    def result(self) -> dict[str, Profile]:
        """Return the profile of every phase over the solve."""
        return {name: each.of_run for name, each in self._sums.items()}
