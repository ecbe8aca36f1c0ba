"""Recorded solves that are made up: all patterns of events, and bodies that end in a reduction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import (
    COMPLETE,
    NONE,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    EventBlock,
    whole_bodies,
)
from hindmost.models.simulation.program import Program, recorded_program

PATTERNS = {
    "blocking": [REDUCE, SEND, RECEIVE, REDUCE],
    "pipelined": [COMPLETE, RECEIVE, SEND, POST],
    "overlapping": [POST, SEND, RECEIVE, COMPLETE],
    "without a send": [RECEIVE, REDUCE, NONE, NONE],
    "two exchanges": [SEND, RECEIVE, SEND, RECEIVE],
}
"""Events of an iteration."""

Times = NDArray[np.float64]
NOBODY = np.empty(0, np.int32)


def synthetic(
    name: str,
    *,
    cycles: int = 4,
    length: int = 30,
    ranks: int = 3,
    latency_s: float = 0.05,
    stay_s: float = 0.0,
) -> Program:
    """Return a solve that kept to the recursion, as its ranks would have recorded it.

    Parameters
    ----------
    stay_s : float
        Mean time by which each rank stays in each event longer.
    """
    random = np.random.default_rng(len(name))
    kinds = PATTERNS[name]
    bodies = cycles * length
    shape = (bodies, ranks, len(kinds))
    kind = np.tile(np.array(kinds, np.uint8), (bodies, 1))
    if stay_s:
        kind[5, 2:] = NONE
    block = EventBlock(
        kind=kind,
        work=random.uniform(0.1, 1.0, shape),
        duration=np.full(shape, 0.01),
        rest=random.uniform(0.1, 0.2, (bodies, ranks)),
        cycle_begins=np.arange(bodies) % length == 0,
    )
    ring = np.arange(ranks, dtype=np.int32), ((np.arange(ranks) + 1) % ranks).astype(np.int32)
    start, duration = np.empty((bodies, ranks)), np.empty(shape)
    clock = np.zeros(ranks)
    pending: list[float] = []
    sent = np.zeros(ranks)
    for body in range(bodies):
        if block.cycle_begins[body]:
            clock[:] = clock.max() + random.uniform(0.5, 0.6, ranks)
            pending = []
        start[body] = clock
        for event, what in enumerate(kind[body]):
            if what == NONE:
                duration[body, :, event] = block.work[body, :, event] = 0.0
                continue
            come = clock + block.work[body, :, event]
            if what == RECEIVE and SEND not in kinds:
                sent[:] = come
            clock = after_event(what, come, pending, sent, latency_s)
            if stay_s and what not in (SEND, POST):
                clock = clock + random.exponential(stay_s, ranks)
            duration[body, :, event] = clock - come
        clock = clock + block.rest[body]
    recorded = replace(block, duration=duration)
    return recorded_program(
        start, recorded, np.arange(bodies) % length, np.full(ranks, 0.25), *ring
    )


def after_event(
    what: int,
    come: Times,
    pending: list[float],
    sent: Times,
    latency_s: float,
) -> Times:
    """Return when ranks leave an event, by the definition."""
    if what == REDUCE:
        return np.full(come.size, come.max() + latency_s)
    if what == COMPLETE:
        done = pending.pop(0) + latency_s if pending else -np.inf
        return np.maximum(come, done)
    if what == RECEIVE:
        return np.maximum(come, np.roll(sent, 1) + latency_s)
    leave = come + 0.01
    if what == SEND:
        sent[:] = leave
    else:
        pending.append(float(leave.max()))
    return leave


def blocking(work: Times, latency_s: float) -> Program:
    """Return bodies that end with a reduction."""
    bodies, ranks = work.shape
    end = np.cumsum(work.max(axis=1) + latency_s)
    start = np.repeat(np.concatenate([[0.0], end[:-1]])[:, None], ranks, axis=1)
    block = whole_bodies(work, 0, np.arange(bodies) == 0)
    block = replace(block, duration=(end[:, None] - start - work)[:, :, None])
    return recorded_program(
        start, block, np.arange(bodies, dtype=np.int32), np.zeros(ranks), NOBODY, NOBODY
    )
