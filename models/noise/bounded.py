"""Max-plus where only some ranks keep their records: exact, or between two bounds.

The recursion is linear in max-plus algebra, so more work on a rank, or one more rank, never ends a
body earlier. Let w_max be the most own work of any rank before an event, known of all ranks:

- one rank that does w_max before every event and waits for itself is never earlier than any rank of
  the run: an upper bound;
- the ranks that were kept, by themselves, are never later than the run: a lower bound. Where all
  reductions are blocking, one more rank without neighbours that does, from reduction to reduction,
  the most that any rank did is not later either.

Without halos and with blocking reductions the last rank alone is the run, so the time is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.events import EventKind
from hindmost.models.noise.all_ranks import AllRanks
from hindmost.models.noise.event_costs import EventCosts, estimate_costs, given_costs
from hindmost.models.noise.maxplus import (
    MaxPlus,
    first_of_second_half,
    judge,
    stretches,
    walk_through,
)
from hindmost.models.noise.replay import Replay
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.models.simulation.blocks import EventBlock, whole_bodies
from hindmost.text import percent, seconds

WIDEST = 0.05
"""Distance of the bounds, relative to the lower one, up to which a model is given: the middle is
then off by at most half of it."""
NONE = np.empty(0, np.int32)
ITSELF = np.zeros(1, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMaxPlus:
    """The time of a solve by the recursion, between two bounds.

    Attributes
    ----------
    lower, upper : MaxPlus
    kept_ranks, ranks : int
        Ranks whose records the lower bound follows, of all.
    """

    lower: MaxPlus
    upper: MaxPlus
    kept_ranks: int
    ranks: int
    kind: ModelKind = ModelKind.EXPLAINS

    @property
    def name(self) -> str:
        """The name of both."""
        return self.lower.name

    def predict(self) -> Prediction:
        """Return the middle of the bounds, and an interval that covers those of both."""
        both = [each.predict() for each in (self.lower, self.upper)]
        return Prediction(
            seconds=float(np.mean([each.seconds for each in both])),
            low_s=min(each.low_s for each in both),
            high_s=max(each.high_s for each in both),
        )

    def explain(self) -> str:
        """Return what the model assumes, in sentences."""
        return (
            f"Of {self.ranks} ranks, {self.kept_ranks} have full records: the bodies take at least "
            f"{seconds(self.lower.bodies_s)} by their work, and at most "
            f"{seconds(self.upper.bodies_s)} by the most work of any rank before each event. "
            f"{self.lower.explain()}"
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the lower bound, and the bodies by both."""
        return {
            **self.lower.parameters(),
            "bodies_s": float(np.mean([self.lower.bodies_s, self.upper.bodies_s])),
            "bodies_bounds_s": [self.lower.bodies_s, self.upper.bodies_s],
            "kept_ranks": self.kept_ranks,
        }


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk through a solve: a replay, and the events that it is given."""

    replay: Replay
    block_of: Callable[[slice], EventBlock]


def fit_bounded(
    times: SolveTimes, latency_s: float | None = None, *, widest: float = WIDEST
) -> tuple[list[MaxPlus | BoundedMaxPlus], dict[str, str]]:
    """Run the recursion for a solve of which some ranks have columns.

    Parameters
    ----------
    latency_s : float, optional
        Of a reduction, from a measurement of the network.
    widest : float
        Distance of the bounds, relative to the lower one, up to which a model is given.

    Returns
    -------
    list of MaxPlus or BoundedMaxPlus
        With halos and without, where the bounds are close enough.
    dict of str to str
        The others by name, with the reason.

    Raises
    ------
    DataError
        The solve has events, but what they were on all ranks is unknown.
    """
    every = times.all_ranks
    if every is None or (times.events is not None and every.events is None):
        raise DataError(
            "Max-plus needs the work of all ranks before every event. The ranks of this run did "
            "not have the same events in every body, so this work could not be reduced."
        )
    half = first_of_second_half(times)
    costs = estimate_costs(times, half) if latency_s is None else given_costs(times, latency_s)
    walks = walks_of(times, every, costs)
    borders = stretches(half, times.cycle_begins, lagging=times.lag > 0)
    walked, measured = walk_through(
        times,
        [walk.replay for walk in walks.values()],
        borders,
        [walk.block_of for walk in walks.values()],
    )
    learn = latency_s is None
    judged = {
        of: judge(times, half, borders, elapsed, measured, learn=learn)
        for of, elapsed in zip(walks, walked, strict=True)
    }
    models: list[MaxPlus | BoundedMaxPlus] = []
    refused = {}
    for halo, name in ((True, "max-plus"), (False, "max-plus-no-halo")):
        found = [
            MaxPlus(
                name=name,
                **judged[bound, with_halo],
                latency_s=costs.a_body_s,
                by_event=times.events is not None,
                with_halo=halo and every.halos,
            )
            for bound, with_halo in walks
            if with_halo == (halo and ("lower", True) in walks)
        ]
        lower, upper = found[0], found[-1]
        apart = upper.bodies_s / lower.bodies_s - 1.0 if lower.bodies_s > 0.0 else np.inf
        if len(found) == 1:
            models.append(lower)
        elif apart <= widest:
            models.append(
                BoundedMaxPlus(
                    lower=lower, upper=upper, kept_ranks=times.columns, ranks=times.ranks
                )
            )
        else:
            refused[name] = too_far_apart(lower, upper, times)
    return models, refused


def too_far_apart(lower: MaxPlus, upper: MaxPlus, times: SolveTimes) -> str:
    """Return why the bounds say too little."""
    return (
        f"By the {times.columns} of {times.ranks} ranks with full records the bodies take at least "
        f"{seconds(lower.bodies_s)}, by the most work of any rank before each event at most "
        f"{seconds(upper.bodies_s)}. These bounds differ by more than {percent(WIDEST, None)}: the "
        "model needs the work of every rank in every body."
    )


def walks_of(times: SolveTimes, every: AllRanks, costs: EventCosts) -> dict[tuple[str, bool], Walk]:
    """Return the walks by their bound, the lower ones first, and whether they have halos.

    Without an entry with halos the time is the same with and without them; without an upper bound
    the lower one is exact.
    """
    blocking = times.lag == 0
    if times.events is not None:
        kinds = times.events.kind
        blocking = not np.isin(kinds, (EventKind.POST, EventKind.COMPLETE)).any()
        receives = every.halos and bool((kinds == EventKind.RECEIVE).any())
    else:
        receives = every.halos and not blocking
    slowest = partial(segments, times, every)
    together = partial(between_meetings, times, every)
    with_one_more = partial(kept_and_one, times, every)
    walks: dict[tuple[str, bool], Walk] = {}

    def add(
        bound: str,
        halo: bool,
        ranks: int,
        block_of: Callable[[slice], EventBlock],
        edges: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> None:
        pending_s = float(costs.latencies.latency.max(initial=0.0)) if times.events is None else 0.0
        replay = Replay(
            ranks,
            costs.latencies,
            *edges,
            lag=0 if times.events else times.lag,
            pending_s=pending_s,
        )
        walks[bound, halo] = Walk(replay, block_of)

    kept_edges = times.edge_source, times.edge_target
    if blocking:
        add("lower", False, 1, together, (NONE, NONE))
        if receives:
            add("lower", True, times.columns + 1, with_one_more, kept_edges)
            add("upper", True, 1, slowest, (ITSELF, ITSELF))
    else:
        add("lower", False, times.columns, times.event_block, (NONE, NONE))
        add("upper", False, 1, slowest, (NONE, NONE))
        if receives:
            add("lower", True, times.columns, times.event_block, kept_edges)
            add("upper", True, 1, slowest, (ITSELF, ITSELF))
    return walks


def segments(times: SolveTimes, every: AllRanks, rows: slice) -> EventBlock:
    """Return one rank with the most work of any rank before every event of some bodies."""
    if times.events is None or every.events is None:
        work = every.bodies.work_most[rows, None]
        return whole_bodies(work, times.lag, times.cycle_begins[rows])
    return one_rank(times, rows, every.events.segment[rows], every.events.rest[rows])


def between_meetings(times: SolveTimes, every: AllRanks, rows: slice) -> EventBlock:
    """Return one rank with the most work of any rank from one blocking reduction to the next."""
    if times.events is None or every.events is None:
        return segments(times, every, rows)
    return one_rank(times, rows, every.events.stretch[rows], every.events.tail[rows])


def one_rank(
    times: SolveTimes,
    rows: slice,
    work: NDArray[np.floating[Any]],
    rest: NDArray[np.floating[Any]],
) -> EventBlock:
    """Return the events of one rank, whose work contains the time in posts and sends."""
    if times.events is None:
        raise DataError("There are no events.")
    before = np.asarray(work, np.float64)[:, None, :]
    return EventBlock(
        kind=times.events.kind[rows],
        work=before,
        duration=np.zeros_like(before),
        rest=np.asarray(rest, np.float64)[:, None],
        cycle_begins=times.cycle_begins[rows],
    )


def kept_and_one(times: SolveTimes, every: AllRanks, rows: slice) -> EventBlock:
    """Return the kept ranks, and one more that only has the most work between reductions."""
    kept, one = times.event_block(rows), between_meetings(times, every, rows)
    return EventBlock(
        kind=kept.kind,
        work=np.concatenate([kept.work, one.work], axis=1),
        duration=np.concatenate([kept.duration, one.duration], axis=1),
        rest=np.concatenate([kept.rest, one.rest], axis=1),
        cycle_begins=kept.cycle_begins,
        absent=None
        if kept.absent is None
        else np.concatenate([kept.absent, np.zeros_like(kept.absent[:, :1])], axis=1),
    )
