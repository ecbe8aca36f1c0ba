"""Bodies of events whose walks are known from an earlier, independent implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import EventBlock

Edges = tuple[NDArray[np.int32], NDArray[np.int32]]
NONE, REDUCE, POST, COMPLETE, SEND, RECEIVE, FROM_ROOT, TO_ROOT, IN_ORDER = map(int, EventKind)

PATTERNS = {
    "blocking": [REDUCE, SEND, RECEIVE, REDUCE],
    "pipelined": [COMPLETE, RECEIVE, SEND, POST],
    "overlapping": [POST, SEND, RECEIVE, COMPLETE],
    "without a send": [RECEIVE, REDUCE, NONE, NONE],
    "two exchanges": [SEND, RECEIVE, SEND, RECEIVE],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Bodies, and who waits for whom in them.

    Attributes
    ----------
    block : EventBlock
    start, delay : float64 array, shape (iteration, rank), seconds
        On the common clock; what slow transfers took.
    latency : float64 array, shape (event, kind), seconds
    edges : Edges
    lag : int
    """

    block: EventBlock
    start: NDArray[np.float64]
    delay: NDArray[np.float64]
    latency: NDArray[np.float64]
    edges: Edges
    lag: int


def case(name: str, lag: int, seed: int, *, single: bool = False) -> Case:
    """Return bodies of a pattern on a ring of ranks, with cycles, and a body of fewer events.

    Parameters
    ----------
    single : bool
        Whether times are float32, as recordings are.
    """
    random = np.random.default_rng(seed)
    bodies, ranks, kinds = 17, 4, PATTERNS[name]
    kind = np.tile(np.array(kinds, np.uint8), (bodies, 1))
    kind[5, 2:] = NONE
    shape = (bodies, ranks, len(kinds))
    number: type[np.floating[Any]] = np.float32 if single else np.float64
    work: NDArray[np.floating[Any]] = random.random(shape).astype(number)
    duration: NDArray[np.floating[Any]] = number(0.2) * random.random(shape).astype(number)
    work[kind.repeat(ranks, axis=0).reshape(bodies, ranks, -1) == NONE] = 0.0
    duration[kind.repeat(ranks, axis=0).reshape(bodies, ranks, -1) == NONE] = 0.0
    rest = 0.3 * random.random((bodies, ranks))
    body = work.sum(axis=2, dtype=np.float64) + duration.sum(axis=2, dtype=np.float64) + rest
    ring = np.arange(ranks, dtype=np.int32), ((np.arange(ranks) + 1) % ranks).astype(np.int32)
    return Case(
        block=EventBlock(
            kind=kind,
            work=work,
            duration=duration,
            rest=rest,
            cycle_begins=np.arange(bodies) % 7 == 0,
        ),
        start=np.cumsum(body, axis=0) - body,
        delay=np.where(random.random((bodies, ranks)) < 0.3, 0.4, 0.0),
        latency=np.pad(
            0.05 * random.random((len(kinds), RECEIVE + 1)), ((0, 0), (0, IN_ORDER - RECEIVE))
        ),
        edges=ring,
        lag=lag,
    )
