"""Recorded solves that are made up: all patterns of events, and bodies that end in a reduction."""

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
)
from hindmost.models.simulation.length import SolveShape
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


def played(
    kind: NDArray[np.uint8],
    work: Times,
    *,
    rest: Times | None = None,
    begins: NDArray[np.bool_] | None = None,
    gaps: Times | None = None,
    stays: Times | None = None,
    latency_s: float = 0.0,
    own_s: float = 0.0,
    after_s: float = 0.0,
    edges: tuple[NDArray[np.int32], NDArray[np.int32]] = (NOBODY, NOBODY),
    shape: SolveShape | None = None,
    injected: Times | None = None,
) -> Program:
    """Return a solve that kept to the recursion, as its ranks would have recorded it.

    Parameters
    ----------
    kind : uint8 array, shape (iteration, event)
    work : float64 array, shape (iteration, rank, event), seconds
    rest : float64 array, shape (iteration, rank), seconds
    begins : bool array, shape (iteration,)
        Of cycles; by default the first iteration alone.
    gaps : float64 array, shape (cycle, rank), seconds
        Before each cycle.
    stays : float64 array, shape (iteration, rank, event), seconds
        By how much ranks stay in events longer.
    own_s : float
        What sending and posting take a rank.
    """
    bodies, ranks = work.shape[:2]
    begins = np.arange(bodies) == 0 if begins is None else begins
    gaps = np.zeros((int(begins.sum()), ranks)) if gaps is None else gaps
    rest = np.zeros((bodies, ranks)) if rest is None else rest
    start, duration = np.empty((bodies, ranks)), np.zeros(work.shape)
    clock, sent = np.zeros((2, ranks))
    pending: list[float] = []
    cycle, place = -1, np.zeros(bodies, np.int32)
    for body in range(bodies):
        if begins[body]:
            cycle, pending = cycle + 1, []
            clock = clock.max() + gaps[cycle]
        place[body] = 0 if begins[body] else place[body - 1] + 1
        start[body] = clock
        for event, what in enumerate(kind[body]):
            if what == NONE:
                continue
            come = clock + work[body, :, event]
            if what == RECEIVE and SEND not in kind:
                sent[:] = come
            clock = after_event(what, come, pending, sent, latency_s, own_s)
            if stays is not None and what not in (SEND, POST):
                clock = clock + stays[body, :, event]
            duration[body, :, event] = clock - come
        clock = clock + rest[body]
    block = EventBlock(kind=kind, work=work, duration=duration, rest=rest, cycle_begins=begins)
    after = np.full(ranks, after_s)
    return recorded_program(start, block, place, after, *edges, shape=shape, injected=injected)


def synthetic(
    name: str,
    *,
    cycles: int = 4,
    length: int = 30,
    ranks: int = 3,
    latency_s: float = 0.05,
    stay_s: float = 0.0,
) -> Program:
    """Return a solve of random work, on ranks in a ring.

    Parameters
    ----------
    stay_s : float
        Mean time by which each rank stays in each event longer.
    """
    random = np.random.default_rng(len(name))
    bodies = cycles * length
    kind = np.tile(np.array(PATTERNS[name], np.uint8), (bodies, 1))
    if stay_s:
        kind[5, 2:] = NONE
    shape = (bodies, ranks, kind.shape[1])
    work = np.where(kind[:, None, :] == NONE, 0.0, random.uniform(0.1, 1.0, shape))
    ring = np.arange(ranks, dtype=np.int32), ((np.arange(ranks) + 1) % ranks).astype(np.int32)
    return played(
        kind,
        work,
        rest=random.uniform(0.1, 0.2, (bodies, ranks)),
        begins=np.arange(bodies) % length == 0,
        gaps=random.uniform(0.5, 0.6, (cycles, ranks)),
        stays=random.exponential(stay_s, shape) if stay_s else None,
        latency_s=latency_s,
        own_s=0.01,
        after_s=0.25,
        edges=ring,
    )


def after_event(
    what: int,
    come: Times,
    pending: list[float],
    sent: Times,
    latency_s: float,
    own_s: float,
) -> Times:
    """Return when ranks leave an event, by the definition."""
    if what == REDUCE:
        return np.full(come.size, come.max() + latency_s)
    if what == COMPLETE:
        done = pending.pop(0) + latency_s if pending else -np.inf
        return np.maximum(come, done)
    if what == RECEIVE:
        return np.maximum(come, np.roll(sent, 1) + latency_s)
    leave = come + own_s
    if what == SEND:
        sent[:] = leave
    else:
        pending.append(float(leave.max()))
    return leave


def blocking(work: Times, latency_s: float) -> Program:
    """Return bodies that end with a reduction."""
    return played(np.full((len(work), 1), REDUCE, np.uint8), work[:, :, None], latency_s=latency_s)
