"""The max-plus model: local work, and who has to wait for whom.

The work of every rank is taken as recorded; all waiting is left out and computed anew by the exact
recursion (`hindmost.models.stochastic.replay`). What an event costs beside the waiting for others
is estimated on the first half of a solve; the second half then judges the model.

Where a recording has no events the bodies themselves are taken for them. Blocking: all ranks wait
for the last one after every body, t <- max_p(t_p + w_p) + L. With pipelined reductions of lag d a
rank begins body k + 1 once it has ended body k and reduction k - d is complete, that is when every
rank has ended body k - d and the latency L has passed; where the matrix needs halos, it also waits
for the bodies k of its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.results import Kind, Prediction
from hindmost.models.stochastic.latency import EventCosts, estimate_costs
from hindmost.models.stochastic.moments import Z90
from hindmost.models.stochastic.replay import Latencies, Replay, whole_bodies
from hindmost.models.stochastic.times import SolveTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPlus:
    """The time of a solve by the recursion, on the work that was recorded.

    Attributes
    ----------
    bodies_s : float
        Time of all bodies by the recursion.
    restarts_s : float
        Restarts, each taken to last as those of the first half do on average.
    lead_s : float
        Measured time before the first body and after the last.
    latency_s : float
        What the events of a body cost beside the waiting for others, the mean of the first half.
    deviation_s : float
        Standard deviation of the bodies' time that comes from taking it for the second half.
    later_s, later_measured_s : float
        The second half of the solve by the model, which knows the latency and the restarts of the
        first half only, and as measured.
    by_event : bool
        Whether ranks were walked through the events of their bodies, or from body to body.
    with_halo : bool
        Whether neighbours wait for each other.
    """

    name: str
    bodies_s: float
    restarts_s: float
    lead_s: float
    latency_s: float
    deviation_s: float
    later_s: float
    later_measured_s: float
    by_event: bool
    with_halo: bool
    kind: Kind = Kind.EXPLAINS

    @property
    def later_error_percent(self) -> float:
        """Error on the second half, in percent of it."""
        return 100.0 * (self.later_s / self.later_measured_s - 1.0)

    def predict(self) -> Prediction:
        """Return the recursion's time with what lies between bodies.

        The interval holds the uncertainty of the latency only: the work is that of this very run.
        """
        seconds = self.bodies_s + self.restarts_s + self.lead_s
        half = Z90 * self.deviation_s
        return Prediction(seconds=seconds, low_s=seconds - half, high_s=seconds + half)

    def explain(self) -> str:
        """Say it in a sentence."""
        whom = "neighbours and reductions" if self.with_halo else "reductions only"
        where = "at every event" if self.by_event else "between bodies"
        return (
            f"Ranks wait for {whom} {where}; beside waiting these cost {self.latency_s * 1e6:.1f} "
            f"us a body. Learnt on the first half, it misses the second by "
            f"{self.later_error_percent:+.1f} %."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the terms of the sum, the latency, and the judgement on the second half."""
        return {
            "bodies_s": self.bodies_s,
            "restarts_s": self.restarts_s,
            "lead_s": self.lead_s,
            "latency_s": self.latency_s,
            "by_event": self.by_event,
            "second_half_s": self.later_s,
            "second_half_measured_s": self.later_measured_s,
            "second_half_error_percent": self.later_error_percent,
        }


def fit_max_plus(times: SolveTimes) -> MaxPlus:
    """Run the recursion with halos; see `fit_both`."""
    return fit_both(times)[0]


def fit_both(times: SolveTimes) -> tuple[MaxPlus, MaxPlus]:
    """Run the recursion with halos, and as if no rank needed one, in one pass over the solve."""
    half = first_of_second_half(times)
    costs = estimate_costs(times, half)
    step = max(costs.deviation_s, 1e-3 * costs.a_body_s)
    names = {"max-plus": True, "max-plus-no-halo": False}
    if times.edge_source.size == 0:
        names = {"max-plus": False}  # there is nothing to leave out
    variants = [(costs.slower_by(slower), halo) for halo in names.values() for slower in (0, step)]
    walks, measured_s = walk_through(times, variants, half)
    models = [
        describe(name, times, costs, walk, (slower.later_s - walk.later_s) / step if step else 0.0)
        for name, walk, slower in zip(names, walks[::2], walks[1::2], strict=True)
    ]
    told = [
        replace(model, later_measured_s=model.later_measured_s + measured_s) for model in models
    ]
    return told[0], replace(told[-1], name="max-plus-no-halo", with_halo=False)


def describe(
    name: str, times: SolveTimes, costs: EventCosts, walk: Walk, sensitivity: float
) -> MaxPlus:
    """Add to a walk what lies between its bodies; the measured bodies are left to the caller.

    Parameters
    ----------
    sensitivity : float
        Seconds of the second half for a second that a body's events cost more.
    """
    half = first_of_second_half(times)
    count = max(times.iterations - half, 1)
    before = int(np.count_nonzero(times.cycle_begins[1 : half + 1]))
    earlier, later = times.restarts[:before], times.restarts[before:]
    restart_s = float((earlier if earlier.size else later).mean()) if times.restarts.size else 0.0
    return MaxPlus(
        name=name,
        bodies_s=walk.bodies_s,
        restarts_s=times.restarts.size * restart_s,
        lead_s=times.between_s - float(times.restarts.sum()),
        latency_s=costs.a_body_s,
        deviation_s=sensitivity * costs.deviation_s * (1.0 / half + 1.0 / count) ** 0.5,
        later_s=walk.later_s + later.size * restart_s,
        later_measured_s=float(later.sum()),
        by_event=times.events is not None,
        with_halo=True,
    )


def first_of_second_half(times: SolveTimes) -> int:
    """Return the first body of the second half, where a cycle begins if there are several."""
    half = times.iterations // 2
    later = np.flatnonzero(times.cycle_begins[half:])
    return max(half + int(later[0]) if later.size else half, 1)


@dataclass(frozen=True, slots=True)
class Walk:
    """What the recursion gives for all bodies, and for those of the second half, in seconds."""

    bodies_s: float
    later_s: float


def walk_through(
    times: SolveTimes, variants: Sequence[tuple[Latencies, bool]], half: int
) -> tuple[list[Walk], float]:
    """Walk through a solve in several variants at once.

    Parameters
    ----------
    variants : sequence of (Latencies, bool)
        What events cost, and whether halos are waited for.
    half : int
        First body of the second half.

    Returns
    -------
    list of Walk
    float
        The time of the bodies of the second half as measured, in seconds.
    """
    replays = [new_replay(times, latencies, with_halo=halo) for latencies, halo in variants]
    until_half = [0.0] * len(replays)
    measured = np.zeros(times.ranks)
    for rows in times.blocks():
        block = times.event_block(rows)
        here = half - rows.start
        measured += times.durations_in(rows)[max(here, 0) :].sum(axis=0)
        if 0 <= here < len(block.kind):
            for replay in replays:
                replay.advance(block.part(slice(0, here)))
            until_half = [replay.elapsed_s for replay in replays]
            block = block.part(slice(here, None))
        for replay in replays:
            replay.advance(block)
    walks = [
        Walk(replay.elapsed_s, replay.elapsed_s - before)
        for replay, before in zip(replays, until_half, strict=True)
    ]
    return walks, float(measured.max())


def new_replay(times: SolveTimes, latencies: Latencies, *, with_halo: bool) -> Replay:
    """Return a replay that stands at the begin of a solve."""
    edges = slice(None) if with_halo else slice(0)
    return Replay(
        times.ranks,
        latencies,
        times.edge_source[edges],
        times.edge_target[edges],
        lag=0 if times.events else times.lag,
        pending_s=float(latencies.latency.max(initial=0.0)) if times.events is None else 0.0,
    )


def max_plus_time(
    work: NDArray[np.float64],
    latency_s: float,
    *,
    lag: int,
    cycle_starts: NDArray[np.intp],
    edge_source: NDArray[np.int32],
    edge_target: NDArray[np.int32],
) -> float:
    """Walk from body to body over a matrix of work.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
    latency_s : float
        Of a reduction, in seconds.
    lag : int
        0 for blocking reductions.
    cycle_starts : int array, shape (cycle,)
        Iterations before which all ranks meet; the first is 0.
    edge_source, edge_target : int32 array, shape (edge,)
        The target waits for the source's halo; empty for none.

    Returns
    -------
    float
        The time of all bodies, in seconds.
    """
    begins = np.zeros(len(work), np.bool_)
    begins[cycle_starts] = True
    block = whole_bodies(work, lag, begins)
    latencies = Latencies.of_reductions(block.kind.shape[1], latency_s)
    replay = Replay(
        work.shape[1], latencies, edge_source, edge_target, lag=lag, pending_s=latency_s
    )
    replay.advance(block)
    return replay.elapsed_s
