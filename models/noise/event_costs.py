"""What events cost apart from waiting for others: the least time of any rank in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.events import EventKind
from hindmost.models.noise.times import Events, SolveTimes
from hindmost.models.simulation.blocks import KINDS, WAITING
from hindmost.models.simulation.event_simulator import Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCosts:
    """What the events of a body cost, estimated on some bodies.

    Attributes
    ----------
    latencies : Latencies
        By place in the body and kind: the mean over bodies of the least time of any rank.
    a_body_s : float
        Sum over the events of a body, the mean over bodies.
    """

    latencies: Latencies
    a_body_s: float


def estimate_costs(times: SolveTimes, bodies: int) -> EventCosts:
    """Estimate what events cost on the first bodies of a solve."""
    if times.events is None:
        costs = np.maximum(least_waits(times, bodies), 0.0)
        latencies = Latencies.of_reductions(1 if times.lag == 0 else 4, float(costs.mean()))
        return EventCosts(latencies=latencies, a_body_s=float(costs.mean()))
    kind = times.events.kind[:bodies]
    spent = np.maximum(least_times(times, times.events, bodies), 0.0)
    latency = np.zeros((kind.shape[1], KINDS))
    for what in WAITING:
        for event in range(kind.shape[1]):
            alike = spent[kind[:, event] == what, event]
            if alike.size:
                latency[event, what] = alike.mean()
    costs = np.where(np.isin(kind, WAITING), spent, 0.0).sum(axis=1)
    return EventCosts(
        latencies=Latencies(latency=latency, overhead=latency.copy()),
        a_body_s=float(costs.mean()),
    )


def least_waits(times: SolveTimes, bodies: int) -> NDArray[np.float64]:
    """Return the least time without own work of any rank in the first bodies: (iteration,), s."""
    return np.concatenate(
        [
            (times.durations_in(rows) - times.work_in(rows)).min(axis=1)
            for rows in first_rows(times, bodies)
        ]
    )


def least_times(times: SolveTimes, events: Events, bodies: int) -> NDArray[np.float64]:
    """Return the least time of any rank in events of the first bodies: (iteration, event), s."""
    duration = events.duration
    return np.concatenate([duration[rows].min(axis=1) for rows in first_rows(times, bodies)])


def given_costs(times: SolveTimes, latency_s: float) -> EventCosts:
    """Use a measured latency of reductions; halos cost nothing more.

    Raises
    ------
    UsageError
        A negative latency.
    """
    if not 0.0 <= latency_s < np.inf:
        raise UsageError(f"A latency of {latency_s} s; it must be a time of at least 0.")
    if times.events is None:
        events, reductions = (1 if times.lag == 0 else 4), 1.0
    else:
        kind = times.events.kind
        events = kind.shape[1]
        reductions = np.isin(kind, (EventKind.REDUCE, EventKind.COMPLETE)).sum() / len(kind)
    return EventCosts(
        latencies=Latencies.of_reductions(events, latency_s), a_body_s=float(reductions * latency_s)
    )


def first_rows(times: SolveTimes, bodies: int) -> list[slice]:
    """Return the blocks of the first bodies."""
    return [
        slice(rows.start, min(rows.stop, bodies)) for rows in times.blocks() if rows.start < bodies
    ]
