"""The events of a body: where in it the rank depends on others, and its own work between them.

Three numbers tell how ranks that do different work hold each other up: when a rank gets to an
event, how long it is kept there, and whom it needs. The first two are found here, of every body.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.state import PHASES as MPI_PHASES
from hindmost.harness.runfile.bodies import RankEvents
from hindmost.models.events import EventKind

NS = 1e-9
MOST_EVENTS = 24
"""In a body; where there are more, the events of the run are not kept."""

RECEIVES = ("Wait", "Test", "Recv", "Sendrecv", "Probe", "Iprobe", "Neighbor")
"""How the names of calls begin that, in an exchange of halos, need the neighbour."""

MERGED = (EventKind.SEND, EventKind.RECEIVE)
"""Of these, calls in a row are one event; every reduction and every wait for one is its own."""


def events_of_bodies(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    calls: NDArray[np.void],
    call_names: tuple[str, ...],
) -> RankEvents | None:
    """Find the events of every body.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    calls : structured array, shape (call,)
        MPI intervals in the order of time.
    call_names : tuple of str
        Of MPI calls, by their number in the records.

    Returns
    -------
    RankEvents or None
        None if a body has more events than are kept.
    """
    body = np.searchsorted(begin, calls["begin_ns"], side="right") - 1
    inside = (body >= 0) & (calls["begin_ns"] < end[np.maximum(body, 0)])
    inside &= calls["phase"] != MPI_PHASES.index("other")
    body, calls = body[inside], calls[inside]
    kind = kinds_of_calls(calls, call_names)
    # An event begins at a call that the one before it in the same body does not go on with.
    first = np.ones(body.size, np.bool_)
    first[1:] = (body[1:] != body[:-1]) | (kind[1:] != kind[:-1]) | ~np.isin(kind[1:], MERGED)
    event = np.cumsum(first) - 1
    body_of, kind_of = body[first], kind[first]
    spent = np.bincount(event, weights=calls["end_ns"] - calls["begin_ns"])
    last = np.append(first[1:], True) if first.size else first
    ends = calls["end_ns"][last]
    # Own work lies between the end of an event, or the begin of the body, and the next event; what
    # lies between the calls of one event is own work before it.
    number = np.arange(body_of.size) - np.searchsorted(body_of, body_of)
    count = int(number.max(initial=-1)) + 1
    if count > MOST_EVENTS:
        return None
    since = np.append(0, ends[:-1]) if ends.size else ends
    since = np.where(number == 0, begin[body_of], since)
    work = (ends - since) - spent
    shape = (begin.size, count)
    kinds, works, durations = np.zeros(shape, np.uint8), np.zeros(shape), np.zeros(shape)
    kinds[body_of, number] = kind_of
    works[body_of, number] = work * NS
    durations[body_of, number] = spent * NS
    return RankEvents(
        kind=kinds, work=works.astype(np.float32), duration=durations.astype(np.float32)
    )


def kinds_of_calls(calls: NDArray[np.void], call_names: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return the kind of event that each MPI call is part of, by its name and its phase."""
    names = [name.removeprefix("MPI_") for name in call_names]
    waits = np.array([name.startswith("Wait") for name in names])
    receives = np.array([name.startswith(RECEIVES) for name in names])
    number = -1 - calls["what"]
    phase = calls["phase"]
    return np.select(
        [
            (phase == MPI_PHASES.index("halo")) & receives[number],
            phase == MPI_PHASES.index("halo"),
            phase == MPI_PHASES.index("post"),
            waits[number],
        ],
        [EventKind.RECEIVE, EventKind.SEND, EventKind.POST, EventKind.COMPLETE],
        EventKind.REDUCE,
    ).astype(np.uint8)
