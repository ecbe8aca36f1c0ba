"""What every rank does when in a simulated solve, as a recording would have it.

The simulator notes which term of each maximum was the largest (`hindmost.models.simulation.path`).
The moments at which ranks come to events and leave them follow from these notes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import OWN_TIME
from hindmost.models.simulation.local_work import LocalWork
from hindmost.models.simulation.path import Waits
from hindmost.models.simulation.rerun import Script, cycles_of
from hindmost.models.simulation.scaleup import (
    Case,
    Placement,
    drawn_deviations,
    own_work,
    script_on,
    simulated_rows,
)

Times = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """When ranks begin bodies, come to events, leave them, and end.

    Attributes
    ----------
    kind : uint8 array, shape (iteration, event)
    start, end : float64 array, shape (iteration, rank), seconds
        Since the begin of the solve.
    work, inside : float64 array, shape (iteration, rank, event), seconds
        Own work before an event, and time in it.
    group : int array, shape (iteration, rank, event), or None
        See `EventBlock`.
    cycle_begins : bool array, shape (iteration,)
    after : float64 array, shape (rank,), seconds
    """

    kind: NDArray[np.uint8]
    start: Times
    end: Times
    work: Times
    inside: Times
    group: NDArray[np.integer[Any]] | None
    cycle_begins: NDArray[np.bool_]
    after: Times


def scaled_script(
    work: LocalWork, placement: Placement, case: Case, seed: int = 0
) -> tuple[Script, NDArray[np.intp]]:
    """Return a solve on other ranks as a script, and the recorded bodies that it consists of."""
    program, draws = work.program, (seed, 0)
    parts = simulated_rows(program, placement.ranks, len(work.laws))
    rows = np.concatenate(parts)
    drawn = drawn_deviations(placement, rows.size, work.laws, work.dependence, draws)
    own = own_work(work, rows, case, drawn, work.laws, draws)
    pause = np.median(program.between, axis=1)
    later = float(np.median(pause[1:])) if pause.size > 1 else 0.0
    of_cycles = np.array([float(pause[0]), *[later] * (len(parts) - 1)])
    script = replace(
        script_on(work, placement, case, own, parts),
        between=np.repeat(case.work * of_cycles[:, None], placement.ranks, axis=1),
        after=np.full(placement.ranks, float(np.median(program.after))),
    )
    return script, rows


def timeline_of(script: Script) -> Timeline:
    """Walk through a solve, and note when every rank does what.

    Raises
    ------
    UsageError
        Its cycles stand for more than one each.
    """
    if script.counts is not None:
        raise UsageError(
            "A solve with other iterations is not simulated cycle by cycle, so it has no timeline: "
            "omit --iterations."
        )
    block = script.block
    bodies, ranks, events = block.work.shape
    start, end = np.empty((2, bodies, ranks))
    come, leave = np.empty((2, bodies, events, ranks))
    total_s = 0.0
    for cycle, between in zip(cycles_of(script, noted=True), script.between, strict=True):
        rows, waits, ended = cycle.rows, cycle.waits, cycle.ended
        assert waits is not None  # they were asked for
        assert ended is not None
        begin = between - between.min()
        fill_moments(waits, block.kind[rows], cycle.stay, begin, come[rows], leave[rows])
        total_s += float(between.min())
        start[rows] = total_s + np.vstack([begin, ended[:-1]])
        end[rows] = total_s + ended
        come[rows] += total_s
        leave[rows] += total_s
        total_s += float(ended.max())
    before = np.concatenate([start[:, None], leave[:, :-1]], axis=1)
    own = np.where(OWN_TIME[block.kind][:, None, :], block.duration, 0.0)
    there = block.recorded[:, None, :]
    return Timeline(
        kind=np.where(block.recorded, block.kind, 0).astype(np.uint8),
        start=start,
        end=end,
        work=np.where(there, (come - before).transpose(0, 2, 1) - own, 0.0),
        inside=np.where(there, (leave - come).transpose(0, 2, 1) + own, 0.0),
        group=block.group,
        cycle_begins=block.cycle_begins | (np.arange(bodies) == 0),
        after=script.after,
    )


def fill_moments(
    waits: Waits,
    kind: NDArray[np.uint8],
    stay: Times | None,
    begin: Times,
    come: Times,
    leave: Times,
) -> None:
    """Fill in when ranks came to the events of a cycle and left them, from the notes of its walk.

    Parameters
    ----------
    begin : float64 array, shape (rank,), seconds
    come, leave : float64 array, shape (iteration, event, rank), seconds
        Since the begin of the cycle. Where a body has ended, both are the time of its last event.
    """
    bodies, events = kind.shape
    clock = begin.copy()
    moments = np.empty((bodies * (events + 1), clock.size))
    for body in range(bodies):
        ended = False
        for event in range(events):
            ended = ended or not kind[body, event]
            place = body * (events + 1) + event
            moments[place] = clock
            if not ended:
                # t_p + w_p; then max over what was waited for, its cost, and what else kept it.
                moments[place] = clock + waits.own[place]
                waited = waits.waited[place]
                since = np.where(waits.met[place], place, waits.since[place])
                other = moments[since, np.maximum(waited, 0)]
                clock = np.where(waited >= 0, other, moments[place]) + waits.cost[place]
            come[body, event] = moments[place]
            if not ended and stay is not None:
                clock = clock + stay[body, :, event]
            leave[body, event] = clock
        end = body * (events + 1) + events
        moments[end] = clock = clock + waits.own[end]
