"""What every rank does when in a simulated solve, as a recording would have it.

The simulator notes which term of each maximum was the largest (`hindmost.models.simulation.path`).
The moments at which ranks come to events and leave them follow from these notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import COMPLETE, OWN_TIME, POST, EventBlock, Neighbours
from hindmost.models.simulation.change import blocking_latency, without_progress
from hindmost.models.simulation.event_simulator import EventSimulator, Latencies
from hindmost.models.simulation.local_work import LocalWork
from hindmost.models.simulation.path import Waits
from hindmost.models.simulation.rerun import Prepared
from hindmost.models.simulation.scaleup import (
    Case,
    Placement,
    drawn_deviations,
    groups_on,
    own_work,
    simulated_rows,
)

Times = NDArray[np.float64]

MOST_VALUES = 1 << 24
"""Events of all ranks in a timeline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A solve that is ready to be walked through.

    Attributes
    ----------
    block : EventBlock
        Durations count for posts and sends only.
    stay : float64 array, shape (iteration, rank, event), seconds
    latency : float64 array, shape (event, kind), seconds
    between : float64 array, shape (cycle, rank), seconds
        From the end of the last rank in the cycle before to the begin of each rank in this one.
    after : float64 array, shape (rank,), seconds
    neighbours : Neighbours
    lag : int
    receipts_send, exchanges_meet : bool
        See `hindmost.models.simulation.event_simulator.EventSimulator`.
    """

    block: EventBlock
    stay: Times
    latency: Times
    between: Times
    after: Times
    neighbours: Neighbours
    lag: int
    receipts_send: bool
    exchanges_meet: bool


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


def replayed_script(ready: Prepared) -> Script:
    """Return a replay on its recorded ranks as a script.

    Raises
    ------
    UsageError
        Its cycles stand for more than one each.
    """
    program = ready.program
    if program.counts is not None:
        raise UsageError(
            "A solve with other iterations or another restart length is not simulated cycle by "
            "cycle, so it has no timeline: omit --iterations and --restart."
        )
    return Script(
        block=ready.block,
        stay=ready.stay,
        latency=ready.latency,
        between=program.between,
        after=program.after,
        neighbours=program.neighbours,
        lag=ready.lag,
        receipts_send=program.receipts_send,
        exchanges_meet=program.exchanges_meet,
    )


def scaled_script(
    work: LocalWork, placement: Placement, case: Case, seed: int = 0
) -> tuple[Script, NDArray[np.intp]]:
    """Return a solve on other ranks as a script, and the recorded bodies that it consists of."""
    program = work.program
    draws = (seed, 0)
    parts = simulated_rows(program, placement.ranks, len(work.laws))
    rows = np.concatenate(parts)
    drawn = drawn_deviations(placement, rows.size, work.laws, work.dependence, draws)
    own = own_work(work, rows, case, drawn, work.laws, draws)
    kinds = [program.block.kind[part] for part in parts]
    begins = np.zeros(rows.size, np.bool_)
    begins[np.cumsum([0, *(part.size for part in parts[:-1])])] = True
    pause = np.median(program.between, axis=1)
    later = float(np.median(pause[1:])) if pause.size > 1 else 0.0
    of_cycles = np.array([float(pause[0]), *[later] * (len(parts) - 1)])
    between = np.repeat(case.work * of_cycles[:, None], placement.ranks, axis=1)
    return Script(
        block=EventBlock(
            kind=np.concatenate(
                kinds if case.progress else [without_progress(each) for each in kinds]
            ),
            work=own[:, :, :-1],
            duration=np.zeros_like(own[:, :, :-1]),
            rest=own[:, :, -1],
            cycle_begins=begins,
            group=groups_on(program.block, rows, placement.ranks),
        ),
        stay=np.zeros_like(own[:, :, :-1]),
        latency=case.latency if case.progress else blocking_latency(case.latency),
        between=between,
        after=np.full(placement.ranks, float(np.median(program.after))),
        neighbours=Neighbours.of_edges(placement.ranks, *placement.edges),
        lag=case.lag,
        receipts_send=program.receipts_send,
        exchanges_meet=program.exchanges_meet,
    ), rows


def timeline_of(script: Script) -> Timeline:
    """Walk through a solve, and note when every rank does what.

    Raises
    ------
    UsageError
        Too many events.
    """
    block = script.block
    bodies, ranks, events = block.work.shape
    if block.work.size > MOST_VALUES:
        raise UsageError(
            f"{block.work.size:,} events of all ranks; a file of simulated ranks has at most "
            f"{MOST_VALUES:,}. Give fewer ranks."
        )
    simulator = EventSimulator(
        ranks,
        script.neighbours,
        Latencies(latency=script.latency, overhead=np.zeros_like(script.latency)),
        lag=script.lag,
        receipts_send=script.receipts_send,
        exchanges_meet=script.exchanges_meet,
        pending=max(int(np.isin(block.kind, (POST, COMPLETE)).sum()), 1),
    )
    start, end = np.empty((2, bodies, ranks))
    come, leave = np.empty((2, bodies, events, ranks))
    total_s = 0.0
    for rows, between in zip(block.cycles(), script.between, strict=True):
        simulator.meet()
        simulator.clock[:] = between
        waits = Waits.of_places((rows.stop - rows.start) * (events + 1), ranks)
        part, kept = block.part(rows), np.ascontiguousarray(script.stay[rows])
        ended = np.empty((rows.stop - rows.start, ranks))
        simulator.walk(
            part.kind,
            part.work,
            part.rest,
            duration=part.duration,
            stay=kept,
            ended=ended,
            waits=waits,
            absent=part.absent,
            group=part.group,
        )
        fill_moments(waits, part.kind, kept, between, come[rows], leave[rows])
        start[rows] = total_s + np.vstack([between, ended[:-1]])
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
    waits: Waits, kind: NDArray[np.uint8], stay: Times, begin: Times, come: Times, leave: Times
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
            if not ended:
                clock = clock + stay[body, :, event]
            leave[body, event] = clock
        end = body * (events + 1) + events
        moments[end] = clock = clock + waits.own[end]
