"""Max-plus where only some ranks keep their records.

Where all ranks meet at blocking reductions, and nowhere else, the rank with the most own work from
one meeting to the next is the run: its work, known of all ranks, gives the time exactly. Halos and
pipelined reductions need the work of every rank in every body.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from hindmost.errors import DataError
from hindmost.models.events import EventKind
from hindmost.models.noise.all_ranks import AllRanks
from hindmost.models.noise.event_costs import estimate_costs, given_costs
from hindmost.models.noise.maxplus import (
    MaxPlus,
    first_of_second_half,
    judge,
    stretches,
    walk_through,
)
from hindmost.models.noise.replay import Replay
from hindmost.models.noise.times import SolveTimes
from hindmost.models.simulation.blocks import EventBlock, whole_bodies

NEEDS_ALL = (
    "With halos or pipelined reductions it needs the work of every rank in every iteration, but "
    "only some ranks have full records. Run without --keep."
)


def fit_last_rank(
    times: SolveTimes, latency_s: float | None = None
) -> tuple[list[MaxPlus], dict[str, str]]:
    """Run the recursion for a solve of which some ranks have columns.

    Parameters
    ----------
    latency_s : float, optional
        Of a reduction, from a measurement of the network.

    Returns
    -------
    list of MaxPlus
        Without halos, and with them if there are none.
    dict of str to str
        The others by name, with the reason.

    Raises
    ------
    DataError
        Reductions are pipelined, or what the events were on all ranks is unknown.
    """
    every = times.all_ranks
    if every is None or (times.events is not None and every.events is None):
        raise DataError(
            "Max-plus needs the work of all ranks before every event. The ranks of this run did "
            "not have the same events in every iteration, so this work could not be reduced."
        )
    kinds = None if times.events is None else times.events.kind
    if times.lag or (
        kinds is not None and np.isin(kinds, (EventKind.POST, EventKind.COMPLETE)).any()
    ):
        raise DataError(NEEDS_ALL)
    halos = every.halos and kinds is not None and bool((kinds == EventKind.RECEIVE).any())
    half = first_of_second_half(times)
    costs = estimate_costs(times, half) if latency_s is None else given_costs(times, latency_s)
    nobody = np.empty(0, np.int32)
    replay = Replay(
        1,
        costs.latencies,
        nobody,
        nobody,
        lag=0,
        pending_s=0.0 if times.events else float(costs.latencies.latency.max(initial=0.0)),
    )
    borders = stretches(half, times.cycle_begins)
    meetings = partial(between_meetings, times, every)
    (elapsed,), measured = walk_through(times, [replay], borders, [meetings])
    judged = judge(times, half, borders, elapsed, measured, learn=latency_s is None)
    models = [
        MaxPlus(
            name=name,
            **judged,
            latency_s=costs.a_body_s,
            by_event=times.events is not None,
            with_halo=False,
        )
        for name in (() if halos else ("max-plus",)) + ("max-plus-no-halo",)
    ]
    return models, {"max-plus": NEEDS_ALL} if halos else {}


def between_meetings(times: SolveTimes, every: AllRanks, rows: slice) -> EventBlock:
    """Return one rank with the most work of any rank from one blocking reduction to the next."""
    if times.events is None or every.events is None:
        work = every.bodies.work_most[rows, None]
        return whole_bodies(work, times.lag, times.cycle_begins[rows])
    before = np.asarray(every.events.stretch[rows], np.float64)[:, None, :]
    return EventBlock(
        kind=times.events.kind[rows],
        work=before,
        duration=np.zeros_like(before),
        rest=np.asarray(every.events.tail[rows], np.float64)[:, None],
        cycle_begins=times.cycle_begins[rows],
    )
