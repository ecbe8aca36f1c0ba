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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.results import Kind, Prediction
from hindmost.models.stochastic.latency import estimate_costs
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
    """Run the recursion with halos."""
    return run_recursion("max-plus", times, with_halo=True)


def fit_max_plus_no_halo(times: SolveTimes) -> MaxPlus:
    """Run the recursion as if no rank needed a halo."""
    return run_recursion("max-plus-no-halo", times, with_halo=False)


def run_recursion(name: str, times: SolveTimes, *, with_halo: bool) -> MaxPlus:
    """Estimate what events cost on the first half and walk through the whole solve."""
    half = first_of_second_half(times)
    costs = estimate_costs(times, half)
    bodies_s, later_s = walk_through(times, costs.latencies, half, with_halo=with_halo)
    step = max(costs.deviation_s, 1e-3 * costs.a_body_s)
    _, slower_s = walk_through(times, costs.slower_by(step), half, with_halo=with_halo)
    sensitivity = (slower_s - later_s) / step if step > 0.0 else 0.0
    count = max(times.iterations - half, 1)
    before = int(np.count_nonzero(times.cycle_begins[1 : half + 1]))
    earlier, later = times.restarts[:before], times.restarts[before:]
    restart_s = float((earlier if earlier.size else later).mean()) if times.restarts.size else 0.0
    measured = sum(
        times.durations[rows][max(half - rows.start, 0) :].sum(axis=0) for rows in times.blocks()
    )
    return MaxPlus(
        name=name,
        bodies_s=bodies_s,
        restarts_s=times.restarts.size * restart_s,
        lead_s=times.between_s - float(times.restarts.sum()),
        latency_s=costs.a_body_s,
        deviation_s=sensitivity * costs.deviation_s * (1.0 / half + 1.0 / count) ** 0.5,
        later_s=later_s + later.size * restart_s,
        later_measured_s=float(np.max(measured)) + float(later.sum()),
        by_event=times.events is not None,
        with_halo=with_halo,
    )


def first_of_second_half(times: SolveTimes) -> int:
    """Return the first body of the second half, where a cycle begins if there are several."""
    half = times.iterations // 2
    later = np.flatnonzero(times.cycle_begins[half:])
    return max(half + int(later[0]) if later.size else half, 1)


def walk_through(
    times: SolveTimes, latencies: Latencies, half: int, *, with_halo: bool = True
) -> tuple[float, float]:
    """Return the time of all bodies, and of those of the second half, in seconds."""
    edges = slice(None) if with_halo else slice(0)
    replay = Replay(
        times.ranks,
        latencies,
        times.edge_source[edges],
        times.edge_target[edges],
        lag=0 if times.events else times.lag,
        pending_s=float(latencies.latency.max(initial=0.0)) if times.events is None else 0.0,
    )
    until_half = 0.0
    for rows in times.blocks():
        block = times.event_block(rows)
        here = half - rows.start
        if 0 <= here < len(block.kind):
            replay.advance(block.part(slice(0, here)))
            until_half = replay.elapsed_s
            block = block.part(slice(here, None))
        replay.advance(block)
    return replay.elapsed_s, replay.elapsed_s - until_half


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
