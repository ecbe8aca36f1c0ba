"""Solves with known waits and events, and what a reduced run keeps of a complete one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.noise.all_ranks import AllRanks
from hindmost.models.noise.times import Events, SolveTimes
from hindmost.models.ranks.body_extremes import extremes_of_bodies, extremes_of_events
from hindmost.models.ranks.keeping import BodiesOfRanks, keep
from hindmost.models.ranks.selection import Selection


def solve_with_halos(
    work: NDArray[np.float64],
    edges: tuple[NDArray[np.int32], NDArray[np.int32]],
    *,
    transfer_s: float,
    latency_s: float,
    restart: int,
) -> SolveTimes:
    """Let ranks exchange halos and meet at a blocking reduction in every body.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank, 3), seconds
        Before a rank sends its halo, before it receives, and before the reduction.
    edges : pair of int32 arrays of shape (edge,)
        Sources and targets of halos.
    transfer_s : float
        Until a halo arrives after it was sent.
    latency_s : float
        Of the reduction.
    restart : int
        Bodies of a cycle.
    """
    bodies, ranks, _ = work.shape
    source, target = edges
    sent = work[:, :, 0]
    come = sent + work[:, :, 1]
    received = come.copy()
    for one, other in zip(source, target, strict=True):
        np.maximum(received[:, other], sent[:, one] + transfer_s, out=received[:, other])
    arrived = received + work[:, :, 2]
    end = arrived.max(axis=1, keepdims=True) + latency_s
    durations = np.repeat(end, ranks, axis=1)
    inside = np.stack([np.zeros_like(sent), received - come, end - arrived], axis=2)
    kinds = np.array([EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE], np.uint8)
    return SolveTimes(
        durations=durations,
        work=work.sum(axis=2),
        fill=np.zeros(bodies, bool),
        position=(np.arange(bodies) % restart).astype(np.int32),
        between_s=0.0,
        edge_source=source,
        edge_target=target,
        synchronisation="blocking",
        lag=0,
        solve_time_s=float(durations[:, 0].sum()),
        events=Events(kind=np.tile(kinds, (bodies, 1)), work=work, duration=inside),
    )


def reduced_solve(times: SolveTimes, share: float) -> tuple[SolveTimes, Selection]:
    """Keep the bodies of a share of the ranks, and the sums and extremes of all.

    Returns
    -------
    SolveTimes
    Selection
        Which ranks were kept, why, and the groups of all ranks.
    """
    durations, work = times.durations_in(slice(None)), times.work_in(slice(None))
    ranks = times.columns
    bodies = BodiesOfRanks(
        parts={"local": work},
        not_work={"wait": np.maximum(durations - work, 0.0)},
        transfer=None,
        counts={},
        ids=np.arange(ranks, dtype=np.int64),
        node_of=np.zeros(ranks, np.int64),
        nodes=1,
    )
    chosen, _ = keep(bodies, share)
    return with_columns(times, np.flatnonzero(chosen.kept)), chosen


def with_columns(times: SolveTimes, kept: NDArray[np.int64]) -> SolveTimes:
    """Return a solve with the columns of some ranks, and what is reduced of all."""
    durations, work = times.durations_in(slice(None)), times.work_in(slice(None))
    events = extremes = None
    if times.events is not None:
        extremes = extremes_of_events(times.event_block(slice(0, times.iterations)))
        events = Events(
            kind=times.events.kind,
            work=times.events.work[:][:, kept],
            duration=times.events.duration[:][:, kept],
        )
    column = np.full(times.columns, -1, np.int32)
    column[kept] = np.arange(kept.size, dtype=np.int32)
    source, target = column[times.edge_source], column[times.edge_target]
    both = (source >= 0) & (target >= 0)
    every = AllRanks(
        ranks=times.columns,
        kept=kept,
        total_s=durations.sum(axis=0),
        bodies=extremes_of_bodies(durations, work, times.fill),
        halos=times.edge_source.size > 0,
        events=extremes,
    )
    return replace(
        times,
        durations=durations[:, kept],
        work=work[:, kept],
        edge_source=source[both],
        edge_target=target[both],
        events=events,
        all_ranks=every,
    )
