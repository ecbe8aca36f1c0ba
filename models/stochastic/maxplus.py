"""The max-plus recursion: local work, and who has to wait for whom.

In a blocking iteration all ranks wait for the last one: t <- max_p(t_p + w_p) + L. With pipelined
reductions of lag d a rank begins body k + 1 once it has ended body k and reduction k - d is
complete, that is when every rank has ended body k - d and the latency L has passed; where the
matrix needs halos, it also waits for the bodies k of its neighbours. At the end of a restart cycle
all ranks meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled
from hindmost.models.results import Kind, Prediction
from hindmost.models.stochastic.times import SolveTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPlus:
    """The time of a solve by the recursion, on the work that was recorded.

    Attributes
    ----------
    bodies_s : float
        Time of all bodies by the recursion.
    between_s : float
        Measured time outside bodies.
    latency_s, latency_low_s, latency_high_s : float
        Of the reductions of one body: the median over bodies of the least waiting of any rank,
        and the 90 % interval of that median.
    sensitivity : float
        Seconds of the solve for a second of latency.
    with_halo : bool
        Whether neighbours wait for each other.
    """

    name: str
    bodies_s: float
    between_s: float
    latency_s: float
    latency_low_s: float
    latency_high_s: float
    sensitivity: float
    with_halo: bool
    kind: Kind = Kind.EXPLAINS

    def predict(self) -> Prediction:
        """Return the recursion's time and what lies between bodies."""
        seconds = self.bodies_s + self.between_s
        return Prediction(
            seconds=seconds,
            low_s=seconds - self.sensitivity * (self.latency_s - self.latency_low_s),
            high_s=seconds + self.sensitivity * (self.latency_high_s - self.latency_s),
        )

    def explain(self) -> str:
        """Say it in a sentence."""
        whom = "neighbours and reductions" if self.with_halo else "reductions only"
        return f"Ranks wait for {whom}; a body's reductions take {self.latency_s * 1e6:.1f} us."

    def parameters(self) -> dict[str, Any]:
        """Return the latency and the time between bodies."""
        return {"latency_s": self.latency_s, "between_s": self.between_s}


def fit_max_plus(times: SolveTimes) -> MaxPlus:
    """Run the recursion with halos."""
    return run_recursion("max-plus", times, with_halo=True)


def fit_max_plus_no_halo(times: SolveTimes) -> MaxPlus:
    """Run the recursion as if no rank needed a halo."""
    return run_recursion("max-plus-no-halo", times, with_halo=False)


def run_recursion(name: str, times: SolveTimes, *, with_halo: bool) -> MaxPlus:
    """Estimate the latency and run the recursion."""
    low, latency, high = median_with_interval((times.durations - times.work).min(axis=1))

    def elapsed(latency_s: float) -> float:
        return max_plus_time(
            times.work,
            latency_s,
            lag=times.lag,
            cycle_starts=np.flatnonzero(times.position == 0),
            edge_source=times.edge_source[: None if with_halo else 0],
            edge_target=times.edge_target[: None if with_halo else 0],
        )

    bodies_s = elapsed(latency)
    step = max(1e-3 * float(times.work.mean()), 1e-12)
    return MaxPlus(
        name=name,
        bodies_s=bodies_s,
        between_s=times.between_s,
        latency_s=latency,
        latency_low_s=low,
        latency_high_s=high,
        sensitivity=(elapsed(latency + step) - bodies_s) / step,
        with_halo=with_halo,
    )


def median_with_interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the median between the ends of its 90 % interval, from order statistics."""
    ordered = np.sort(np.maximum(values, 0.0))
    half = 0.5 * 1.645 * np.sqrt(ordered.size)
    last = ordered.size - 1
    low = int(np.clip(np.floor(0.5 * last - half), 0, last))
    high = int(np.clip(np.ceil(0.5 * last + half), 0, last))
    return float(ordered[low]), float(np.median(ordered)), float(ordered[high])


def max_plus_time(
    work: NDArray[np.float64],
    latency_s: float,
    *,
    lag: int,
    cycle_starts: NDArray[np.intp],
    edge_source: NDArray[np.int32],
    edge_target: NDArray[np.int32],
) -> float:
    """Run the max-plus recursion over a matrix of work.

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
    if lag == 0:
        # All ranks meet after every body: halos add nothing.
        return float(work.max(axis=1).sum() + latency_s * work.shape[0])
    order = np.argsort(edge_target, kind="stable")
    first = np.searchsorted(edge_target[order], np.arange(work.shape[1] + 1))
    borders = np.append(cycle_starts, work.shape[0]).astype(np.int64)
    source = edge_source[order].astype(np.int64)
    return float(compiled(pipelined_time)(work, latency_s, lag, borders, first, source))


def pipelined_time(
    work: NDArray[np.float64],
    latency: float,
    lag: int,
    borders: NDArray[np.int64],
    first: NDArray[np.int64],
    source: NDArray[np.int64],
) -> float:
    """Run the recursion cycle by cycle; neighbours of rank p are source[first[p]:first[p + 1]]."""
    ranks = work.shape[1]
    total = 0.0
    ended = np.empty(ranks)
    before = np.empty(ranks)
    for cycle in range(len(borders) - 1):
        ended[:] = 0.0
        complete = np.zeros(lag + 1)  # when the last reductions were complete, in a ring
        for body in range(borders[cycle], borders[cycle + 1]):
            since = body - borders[cycle]
            needed = complete[(since - 1 - lag) % (lag + 1)] if since > lag else 0.0
            before[:] = ended
            last = 0.0
            for rank in range(ranks):
                begin = max(before[rank], needed)
                for edge in range(first[rank], first[rank + 1]):
                    begin = max(begin, before[source[edge]])
                ended[rank] = begin + work[body, rank]
                last = max(last, ended[rank])
            complete[since % (lag + 1)] = last + latency
        total += complete[(borders[cycle + 1] - borders[cycle] - 1) % (lag + 1)]
    return total
