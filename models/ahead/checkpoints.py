"""Checkpoints: the interval between them, when one is due, and plans of whole runs.

delta is the time of a checkpoint, M the mean time between failures, tau the time computed between
two checkpoints, all in seconds. The time of a restart does not change which tau is best. Times
between failures are exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hindmost.errors import DataError


def young_s(checkpoint_s: float, mtbf_s: float) -> float:
    """Return tau = sqrt(2 delta M): the paper's equation (1)."""
    return math.sqrt(2.0 * checkpoint_s * mtbf_s)


def optimum_s(checkpoint_s: float, mtbf_s: float) -> float:
    """Return the tau of least waste: tau / M = 1 + W(-exp(-1 - delta / M)), W Lambert's.

    It solves exp((tau + delta) / M) (1 - tau / M) = 1. Newton's method is used because this runs in
    every cycle.
    """
    delta = checkpoint_s / mtbf_s
    if delta == 0.0:
        return 0.0
    y = math.exp(-1.0 - delta)  # y = 1 - tau / M solves y = exp(y - 1 - delta)
    for _ in range(60):
        image = math.exp(y - 1.0 - delta)
        step = (y - image) / (1.0 - image)
        y -= step
        if abs(step) <= 1e-15:
            break
    return mtbf_s * (1.0 - y)


def waste(tau_s: float, checkpoint_s: float, mtbf_s: float) -> float:
    """Return E[T_wall] / T_solve - 1 with checkpoints at this interval."""
    return mtbf_s * math.expm1((tau_s + checkpoint_s) / mtbf_s) / tau_s - 1.0


def due(since_s: float, next_s: float, tau_s: float, *, down: bool = False) -> bool:
    """Return whether to write a checkpoint before the next cycle.

    It is due if now is at least as close to tau as the end of the next cycle,
    abs(t - tau) <= abs(t + p - tau).

    Parameters
    ----------
    since_s : float
        Computed since the last checkpoint.
    next_s : float
        Predicted time of the next cycle.
    tau_s : float
        Interval between checkpoints.
    down : bool
        The paper's rule: due if the next cycle would exceed tau (section 4, figure 4); its
        intervals are half a cycle too short on average.
    """
    if down:
        return bool(since_s > 0.0 and since_s + next_s > tau_s)
    return bool(since_s > 0.0 and abs(since_s - tau_s) <= abs(since_s + next_s - tau_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDecision:
    """Whether a checkpoint is due, and why; true in an ``if`` if it is.

    Attributes
    ----------
    due : bool
    tau_s, since_s, next_s, checkpoint_s : float
        Interval between checkpoints, time computed since the last one, predicted time of the next
        cycle, and time of a checkpoint.
    """

    due: bool
    tau_s: float
    since_s: float
    next_s: float
    checkpoint_s: float

    def __bool__(self) -> bool:
        return self.due

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"{'Checkpoint now' if self.due else 'No checkpoint yet'}: {self.since_s:.3g} s "
            f"computed since the last one (interval {self.tau_s:.3g} s); the next cycle takes "
            f"{self.next_s:.3g} s, a checkpoint {self.checkpoint_s:.3g} s."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """The checkpoints of a run.

    Attributes
    ----------
    after : tuple of int
        Number of cycles done before each checkpoint.
    segments_s : float64 array, shape (segment,), seconds
        Time that a failure can waste at most: the computation and the checkpoint at its end. The
        last segment ends with the run, which is saved as well.
    compute_s : float
        Time of all cycles.
    """

    after: tuple[int, ...]
    segments_s: NDArray[np.float64]
    compute_s: float

    def expected_s(self, mtbf_s: float) -> float:
        """Return the expected wall time: M (e^(s / M) - 1), summed over segments."""
        return float(np.sum(mtbf_s * np.expm1(self.segments_s / mtbf_s)))

    def expected_waste(self, mtbf_s: float) -> float:
        """Return E[T_wall] / T_solve - 1."""
        return self.expected_s(mtbf_s) / self.compute_s - 1.0


def plan(cycles_s: ArrayLike, checkpoint_s: ArrayLike, after: tuple[int, ...]) -> CheckpointPlan:
    """Return the plan with checkpoints after these cycles, and one at the end.

    Parameters
    ----------
    cycles_s : array, shape (cycle,), seconds
    checkpoint_s : float or array, shape (cycle,), seconds
        Time of a checkpoint after each cycle.
    after : tuple of int
        Ascending, from 1.
    """
    cycles = np.asarray(cycles_s, float)
    cost = np.broadcast_to(np.asarray(checkpoint_s, float), cycles.shape)
    n = cycles.size
    if n == 0 or not (np.isfinite(cycles).all() and (cycles > 0).all()):
        raise DataError("There must be cycles, with finite times above 0.")
    ends = [*(cycle for cycle in after if cycle < n), n]
    clock = np.concatenate([[0.0], np.cumsum(cycles)])
    starts = [0, *ends[:-1]]
    segments = clock[ends] - clock[starts] + cost[np.asarray(ends) - 1]
    return CheckpointPlan(after=tuple(ends[:-1]), segments_s=segments, compute_s=float(clock[-1]))


def plan_by_rule(
    cycles_s: ArrayLike,
    predicted_s: ArrayLike,
    checkpoint_s: ArrayLike,
    mtbf_s: float,
    interval_s: Callable[[float, float], float] = optimum_s,
    *,
    down: bool = False,
) -> CheckpointPlan:
    """Return the plan that a rule makes during the run.

    Parameters
    ----------
    predicted_s : array, shape (cycle,), seconds
        Predictions before each cycle.
    interval_s : function
        Interval between checkpoints, given the time of a checkpoint and `mtbf_s`.
    down : bool
        See `due`.
    """
    cycles, predicted = np.asarray(cycles_s, float), np.asarray(predicted_s, float)
    cost = np.broadcast_to(np.asarray(checkpoint_s, float), cycles.shape)
    after, since_s = [], 0.0
    for k in range(1, cycles.size):
        since_s += float(cycles[k - 1])
        tau_s = interval_s(float(cost[k - 1]), mtbf_s)
        if due(since_s, float(predicted[k]), tau_s, down=down):
            after.append(k)
            since_s = 0.0
    return plan(cycles, checkpoint_s, tuple(after))


def best_plan(cycles_s: ArrayLike, checkpoint_s: ArrayLike, mtbf_s: float) -> CheckpointPlan:
    """Return the plan of least expected wall time, by dynamic programming over all plans."""
    cycles = np.asarray(cycles_s, float)
    n = cycles.size
    cost = np.broadcast_to(np.asarray(checkpoint_s, float), cycles.shape)
    clock = np.concatenate([[0.0], np.cumsum(cycles)])
    least, before = np.zeros(n + 1), np.zeros(n + 1, np.int64)
    # least[end]: minimal expected time to reach a checkpoint after `end` cycles, over the position
    # of the checkpoint before it; a segment of length s takes M (e^(s / M) - 1).
    for end in range(1, n + 1):
        with np.errstate(over="ignore"):
            length = clock[end] - clock[:end] + cost[end - 1]
            total = least[:end] + mtbf_s * np.expm1(length / mtbf_s)
        before[end] = int(np.argmin(total))
        least[end] = total[before[end]]
    # Back along the optimal predecessors.
    after, end = [], n
    while before[end] > 0:
        end = int(before[end])
        after.append(end)
    return plan(cycles, checkpoint_s, tuple(reversed(after)))


MIN_BYTES = 1 << 20
"""Less is a log."""
CHECKPOINT_SHARE = 0.5
"""A write of at least this share of the largest is a checkpoint; others are output."""
RESERVE = 1.1
"""The last one may take longer than all before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSeen:
    """A write of an iteration.

    Attributes
    ----------
    ended_s : float
        When the iteration ended.
    extra_s : float
        How much longer the iteration was.
    """

    ended_s: float
    written_bytes: int
    extra_s: float


class CheckpointsSeen:
    """The checkpoints among the iterations so far.

    Attributes
    ----------
    writes : tuple of CheckpointSeen
        The last ones, at most 100.
    """

    def __init__(self) -> None:
        self.writes: tuple[CheckpointSeen, ...] = ()

    def observe(
        self, written_bytes: int, measured_s: float, level_s: float, *, ended_s: float
    ) -> None:
        """Observe an iteration.

        Parameters
        ----------
        written_bytes : int
            In it, to file systems.
        measured_s, level_s : float
            Its time, and that of iterations like it which write nothing.
        ended_s : float
            When it ended.
        """
        if written_bytes < MIN_BYTES:
            return
        most = max((write.written_bytes for write in self.writes), default=0)
        if written_bytes < CHECKPOINT_SHARE * most:
            return
        seen = CheckpointSeen(
            ended_s=ended_s,
            written_bytes=written_bytes,
            extra_s=max(0.0, measured_s - level_s),
        )
        least = CHECKPOINT_SHARE * max(most, written_bytes)
        kept = [write for write in self.writes if write.written_bytes >= least]
        self.writes = (*kept[-99:], seen)

    @property
    def bound_s(self) -> float:
        """What the next one takes at most, in seconds; 0 if there was none."""
        return RESERVE * max((write.extra_s for write in self.writes), default=0.0)
