"""What events cost beside the waiting for others: the least that any rank spends in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.stochastic.replay import KINDS, Latencies
from hindmost.models.stochastic.times import SolveTimes

WAITS = (EventKind.REDUCE, EventKind.COMPLETE, EventKind.RECEIVE)
"""Events in which a rank may have to wait; the others are its own work."""
CAP = 0.99
"""Quantile of the costs beyond which they count no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCosts:
    """What the events of a body cost, estimated on some bodies.

    Attributes
    ----------
    latencies : Latencies
        By place in the body and kind: the mean over bodies of the least time of any rank.
    a_body_s : float
        All events of a body together, the mean over bodies.
    """

    latencies: Latencies
    a_body_s: float


def estimate_costs(times: SolveTimes, bodies: int) -> EventCosts:
    """Estimate what events cost on the first bodies of a solve."""
    if times.events is None:
        least = np.concatenate(
            [
                (times.durations_in(rows) - times.work_in(rows)).min(axis=1)
                for rows in first_rows(times, bodies)
            ]
        )
        costs = capped(least)
        latencies = Latencies.of_reductions(1 if times.lag == 0 else 4, float(costs.mean()))
        return EventCosts(latencies=latencies, a_body_s=float(costs.mean()))
    kind = times.events.kind[:bodies]
    duration = times.events.duration
    spent = np.concatenate([duration[rows].min(axis=1) for rows in first_rows(times, bodies)])
    latency = np.zeros((kind.shape[1], KINDS))
    for what in WAITS:
        for event in range(kind.shape[1]):
            alike = spent[kind[:, event] == what, event]
            if alike.size:
                latency[event, what] = capped(alike).mean()
    costs = capped(np.where(np.isin(kind, WAITS), spent, 0.0).sum(axis=1))
    return EventCosts(
        latencies=Latencies(latency=latency, overhead=latency.copy()),
        a_body_s=float(costs.mean()),
    )


def first_rows(times: SolveTimes, bodies: int) -> list[slice]:
    """Return the blocks of the first bodies."""
    return [
        slice(rows.start, min(rows.stop, bodies)) for rows in times.blocks() if rows.start < bodies
    ]


def capped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return costs of which the largest one in a hundred count as that quantile.

    The mean is what sums are made of, and costs are skewed, so a median would be too little. But a
    rank that loses its core inside MPI is no cost of the event, and may outweigh all others.
    """
    values = np.maximum(values, 0.0)
    return np.minimum(values, np.quantile(values, CAP, method="higher"))
