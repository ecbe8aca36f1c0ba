"""The max-plus model: local work, and who has to wait for whom.

The work of every rank is as recorded; all waiting is removed and computed anew by the exact
recursion (`hindmost.models.simulation.event_simulator`). What reductions cost, apart from waiting
for others, is estimated on the first half of a solve: the least time of any rank in MPI. The second
half then judges the model.

If a recording has no events, whole bodies (iterations) replace them. Blocking: all ranks wait for
the last one after every body, t <- max_p(t_p + w_p) + L. With pipelined reductions of lag d a rank
starts body k + 1 once it has finished body k and reduction k - d is complete, that is when every
rank has finished body k - d and the latency L has passed; if the matrix needs halos, it also waits
for the bodies k of its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.models.simulation.blocks import NEGLIGIBLE, EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator, reductions_alike
from hindmost.text import seconds, signed_percent

STRETCHES = 24
"""Number of stretches of the first half, to estimate what the recursion misses and its scatter."""
FEWEST_STRETCHES = 6
FEWEST_CYCLES = 3
"""Cycles of the first half of a pipelined solve: with fewer it is too short for an interval."""
QUANTILE, SKEWED_QUANTILE = 0.95, 0.975
"""Of Student's law, for 90 % of the solves. What a pipelined solve misses is a latency at the end
of each cycle, which is skewed: sums of few such terms need more (chosen on simulated solves)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPlus:
    """The time of a solve by the recursion, with the recorded work.

    Attributes
    ----------
    bodies_s : float
        Time of all bodies by the recursion.
    missed_s : float
        What the recursion misses of all bodies, estimated on the first half.
    restarts_s : float
        Restarts, each as long as the mean restart of the first half.
    lead_s : float
        Measured time before the first body and after the last.
    latency_s : float
        Cost of the events of a body apart from waiting for others, the mean of the first half.
    half_width_s : float
        Of a 90 % interval, from the scatter of the missed time in stretches of the first half.
    later_s, later_measured_s : float
        The second half of the solve: by the model fitted to the first half, and as measured.
    by_event : bool
        Whether the recursion goes from event to event, or from body to body.
    with_halo : bool
        Whether neighbours wait for each other.
    """

    name: str
    bodies_s: float
    missed_s: float
    restarts_s: float
    lead_s: float
    latency_s: float
    half_width_s: float
    later_s: float
    later_measured_s: float
    by_event: bool
    with_halo: bool
    kind: ModelKind = ModelKind.EXPLAINS

    @property
    def later_error_percent(self) -> float | None:
        """Error on the second half, in percent of it; None if there is no second half."""
        if self.later_measured_s <= 0.0:
            return None
        return 100.0 * (self.later_s / self.later_measured_s - 1.0)

    def predict(self) -> Prediction:
        """Return the time of the recursion, of what it misses, and of what lies between bodies.

        The work is that of this run, so the interval covers only what the model does not explain.
        """
        seconds = self.bodies_s + self.missed_s + self.restarts_s + self.lead_s
        half = self.half_width_s
        return Prediction.around(seconds, half)

    def explain(self) -> str:
        """Return what the model assumes, in a sentence."""
        whom = "neighbours and reductions" if self.with_halo else "reductions only"
        where = "at every event" if self.by_event else "between iterations"
        error = self.later_error_percent
        judged = (
            " Fitted to the first half, its error on the second is "
            f"{signed_percent(error / 100.0)}."
            if error is not None
            else ""
        )
        missed = (
            f" {seconds(self.missed_s)} more, as of slow messages, are estimated on the first half."
            if self.missed_s > NEGLIGIBLE * self.bodies_s
            else ""
        )
        short = "" if self.half_width_s > 0.0 else " The solve is too short for an interval."
        return (
            f"Ranks wait for {whom} {where}; these cost a rank at least "
            f"{seconds(self.latency_s)} per iteration.{missed}{judged}{short}"
        )

    def parameters(self) -> dict[str, Any]:
        """Return the terms of the sum, the latency, and the judgement on the second half."""
        return {
            "bodies_s": self.bodies_s,
            "missed_s": self.missed_s,
            "restarts_s": self.restarts_s,
            "lead_s": self.lead_s,
            "latency_s": self.latency_s,
            "by_event": self.by_event,
            "second_half_s": self.later_s,
            "second_half_measured_s": self.later_measured_s,
            "second_half_error_percent": self.later_error_percent,
        }


class Replay:
    """A solve that is walked through block by block; `elapsed_s` tells the time so far.

    Parameters
    ----------
    latency : float64 array, shape (event, kind), seconds
        What events cost.
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    lag : int
        Posted reductions that a completion leaves pending.
    pending_s : float
        Time of reductions that are pending at the end of a cycle, in seconds.
    """

    def __init__(
        self,
        ranks: int,
        latency: NDArray[np.float64],
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        *,
        lag: int = 0,
        pending_s: float = 0.0,
    ) -> None:
        neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
        self._simulator = EventSimulator(ranks, neighbours, latency, lag=lag)
        self._pending_s = pending_s
        self._cycles_before_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Time of all bodies so far, in seconds."""
        last = float(self._simulator.clock.max())
        posted = self._simulator.last_post_s
        if posted is not None:
            last = max(last, posted + self._pending_s)
        return self._cycles_before_s + last

    def advance(self, block: EventBlock) -> None:
        """Walk through the next bodies.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        for rows in block.cycles():
            if block.cycle_begins[rows.start]:
                self._cycles_before_s = self.elapsed_s
                self._simulator.meet()
            self._simulator.walk(block.part(rows), own_time=True)


def fit_both(times: SolveTimes) -> tuple[MaxPlus, MaxPlus]:
    """Run the recursion with and without halos, in one pass over the solve."""
    half = first_of_second_half(times)
    reductions, events = reductions_of_body(times)
    a_body_s = least_wait_s(times, half)
    latency = reductions_alike(events, a_body_s / max(reductions, 1.0))
    # Without neighbours there is no halo to leave out.
    halos = (True, False) if times.edge_source.size else (True,)
    replays = [new_replay(times, latency, with_halo=halo) for halo in halos]
    borders = stretches(half, times.cycle_begins, lagging=times.lag > 0)
    walked, measured = walk_through(times, replays, borders)
    models = [
        MaxPlus(
            name="max-plus" if halo else "max-plus-no-halo",
            **judge(times, half, borders, elapsed, measured),
            latency_s=a_body_s,
            by_event=times.events is not None,
            with_halo=halo,
        )
        for halo, elapsed in zip(halos, walked, strict=True)
    ]
    return models[0], replace(models[-1], name="max-plus-no-halo", with_halo=False)


def reductions_of_body(times: SolveTimes) -> tuple[float, int]:
    """Return the reductions of a body on average, and the events of the longest."""
    if times.events is None:
        return 1.0, 1 if times.lag == 0 else 4
    kind = times.events.kind
    waited = np.isin(kind, (EventKind.REDUCE, EventKind.COMPLETE))
    return float(waited.sum() / len(kind)), kind.shape[1]


def least_wait_s(times: SolveTimes, bodies: int) -> float:
    """Return the least time without own work of any rank in the first bodies, on average."""
    least = [
        (times.durations_in(rows) - times.work_in(rows)).min(axis=1)
        for rows in times.blocks()
        if rows.start < bodies
    ]
    return float(np.maximum(np.concatenate(least)[:bodies], 0.0).mean())


def judge(
    times: SolveTimes,
    half: int,
    borders: NDArray[np.intp],
    elapsed: NDArray[np.float64],
    measured: NDArray[np.float64],
) -> dict[str, Any]:
    """Fit the recursion to the first half, and compare its prediction with the second.

    Parameters
    ----------
    borders : int array, shape (border,)
        Bodies between stretches, 0 and the number of bodies included.
    elapsed, measured : float64 array, shape (border,), seconds
        Since the first body, without restarts.
    """
    bodies = np.diff(borders)
    first = borders[1:] <= half
    missed = (np.diff(measured) - np.diff(elapsed)) / bodies
    lagging = times.lag > 0
    fewest = FEWEST_CYCLES if lagging else FEWEST_STRETCHES
    rate = float(missed[first].mean()) if first.sum() >= fewest else 0.0
    at_half = int(np.searchsorted(borders, half))
    later_bodies = times.iterations - half
    before = int(np.count_nonzero(times.cycle_begins[1 : half + 1]))
    earlier, later = times.restarts[:before], times.restarts[before:]
    restart_s = float((earlier if earlier.size else later).mean()) if times.restarts.size else 0.0
    return {
        "bodies_s": float(elapsed[-1]),
        "missed_s": rate * times.iterations,
        "restarts_s": times.restarts.size * restart_s,
        "lead_s": times.between_s - float(times.restarts.sum()),
        "half_width_s": half_width(
            missed[first] * bodies[first], later_bodies / half, lagging=lagging
        ),
        "later_s": float(elapsed[-1] - elapsed[at_half])
        + rate * later_bodies
        + later.size * restart_s,
        "later_measured_s": float(measured[-1] - measured[at_half]) + float(later.sum()),
    }


def half_width(missed: NDArray[np.float64], ratio: float, *, lagging: bool = False) -> float:
    """Return the half width of the 90 % interval of a whole solve, in seconds.

    With n stretches of deviation s in the first half, ratio r n in the second, and the mean of the
    first taken for all, the sum over all misses its prediction by a variance of n s^2 r (1 + r).

    Parameters
    ----------
    missed : float64 array, shape (stretch,), seconds
        What the recursion misses in stretches of the first half.
    ratio : float
        Bodies of the second half over those of the first.
    lagging : bool
        Whether reductions lag behind, so that stretches are cycles and what they miss is skewed.
    """
    from scipy import special  # not waited for by commands that fit nothing

    count = missed.size
    if count < (FEWEST_CYCLES if lagging else FEWEST_STRETCHES):
        return 0.0
    factor = count * ratio * (1.0 + ratio)
    quantile = SKEWED_QUANTILE if lagging else QUANTILE
    return float(special.stdtrit(count - 1, quantile) * missed.std(ddof=1) * np.sqrt(factor))


def stretches(
    half: int, cycle_begins: NDArray[np.bool_], *, lagging: bool = False
) -> NDArray[np.intp]:
    """Return the borders of similar stretches of the first half, and the number of all bodies.

    Stretches are whole cycles if there are enough, since the error varies within a cycle. With a
    lag most of it comes at the ends of cycles, so a stretch that ends within one says nothing: a
    solve of a few cycles is then one stretch per cycle, and one of fewer has no interval.
    """
    cycles = np.append(np.flatnonzero(cycle_begins[:half]), half)
    restarts = cycles.size > 2  # more than the begin of the solve, and its half
    if cycles.size > FEWEST_STRETCHES or (lagging and restarts):
        count = min(STRETCHES, cycles.size - 1)
        first = cycles[np.linspace(0, cycles.size - 1, count + 1).astype(np.intp)]
    else:
        count = max(min(STRETCHES, half // 5), 1)
        first = np.linspace(0, half, count + 1).astype(np.intp)
    return np.asarray(np.unique(np.append(first, cycle_begins.size)), np.intp)


def first_of_second_half(times: SolveTimes) -> int:
    """Return the first body of the second half; it begins a cycle if there are several."""
    half = times.iterations // 2
    later = np.flatnonzero(times.cycle_begins[half:])
    return max(half + int(later[0]) if later.size else half, 1)


def walk_through(
    times: SolveTimes,
    replays: Sequence[Replay],
    borders: NDArray[np.intp],
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Walk through a solve with several replays at once.

    Parameters
    ----------
    borders : int array, shape (border,)
        Bodies before which the time is noted, from 0 to their number.

    Returns
    -------
    list of float64 arrays, shape (border,), seconds
        Of every replay.
    float64 array, shape (border,), seconds
        As measured.
    """
    elapsed = [np.zeros(borders.size) for _ in replays]
    measured = np.zeros(borders.size)
    spent = np.zeros(times.columns)
    for rows in times.blocks():
        durations = times.durations_in(rows)
        block = times.event_block(rows)
        inside = borders[(borders > rows.start) & (borders < rows.stop)] - rows.start
        edges = [0, *inside.tolist(), len(durations)]
        for first, last in pairwise(edges):
            spent += durations[first:last].sum(axis=0)
            at = int(np.searchsorted(borders, rows.start + last))
            reached = at < borders.size and borders[at] == rows.start + last
            for replay, noted in zip(replays, elapsed, strict=True):
                replay.advance(block.part(slice(first, last)))
                if reached:
                    noted[at] = replay.elapsed_s
            if reached:
                measured[at] = spent.max()
    return elapsed, measured


def new_replay(times: SolveTimes, latency: NDArray[np.float64], *, with_halo: bool) -> Replay:
    """Return a replay that stands at the begin of a solve."""
    edges = slice(None) if with_halo else slice(0)
    return Replay(
        times.columns,
        latency,
        times.edge_source[edges],
        times.edge_target[edges],
        lag=0 if times.events else times.lag,
        pending_s=float(latency.max(initial=0.0)) if times.events is None else 0.0,
    )
