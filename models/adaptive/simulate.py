"""Checkpoint plans of runs with failures: their expected waste, and the optimal plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hindmost.errors import DataError
from hindmost.models.adaptive.checkpoint_rule import due


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

    def expected_s(self, mtbf_s: float, restart_s: float = 0.0) -> float:
        """Return the expected wall time: M e^(R / M) (e^(s / M) - 1), summed over segments."""
        each = mtbf_s * np.exp(restart_s / mtbf_s) * np.expm1(self.segments_s / mtbf_s)
        return float(each.sum())

    def expected_waste(self, mtbf_s: float, restart_s: float = 0.0) -> float:
        """Return E[T_wall] / T_solve - 1."""
        return self.expected_s(mtbf_s, restart_s) / self.compute_s - 1.0


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
    if list(after) != sorted(set(after)) or any(not 0 < cycle <= n for cycle in after):
        raise DataError(f"Checkpoints after {after}; these must ascend and lie in 1 to {n}.")
    ends = [*(cycle for cycle in after if cycle < n), n]
    clock = np.concatenate([[0.0], np.cumsum(cycles)])
    starts = [0, *ends[:-1]]
    segments = clock[ends] - clock[starts] + cost[np.asarray(ends) - 1]
    return CheckpointPlan(after=tuple(ends[:-1]), segments_s=segments, compute_s=float(clock[-1]))


def plan_by_rule(
    cycles_s: ArrayLike,
    predicted_s: ArrayLike,
    checkpoint_s: ArrayLike,
    tau_s: Callable[[float], float],
    *,
    rounding: str = "nearest",
) -> CheckpointPlan:
    """Return the plan that a rule makes during the run.

    Parameters
    ----------
    predicted_s : array, shape (cycle,), seconds
        Predictions before each cycle.
    tau_s : function
        Interval as a function of the time of a checkpoint.
    """
    cycles, predicted = np.asarray(cycles_s, float), np.asarray(predicted_s, float)
    cost = np.broadcast_to(np.asarray(checkpoint_s, float), cycles.shape)
    after, since_s = [], 0.0
    for k in range(1, cycles.size):
        since_s += float(cycles[k - 1])
        interval_s = tau_s(float(cost[k - 1]))
        if due(since_s, float(predicted[k]), interval_s, rounding=rounding):
            after.append(k)
            since_s = 0.0
    return plan(cycles, checkpoint_s, tuple(after))


def best_plan(
    cycles_s: ArrayLike, checkpoint_s: ArrayLike, mtbf_s: float, restart_s: float = 0.0
) -> CheckpointPlan:
    """Return the plan of least expected wall time, by dynamic programming over all plans."""
    cycles = np.asarray(cycles_s, float)
    n = cycles.size
    cost = np.broadcast_to(np.asarray(checkpoint_s, float), cycles.shape)
    clock = np.concatenate([[0.0], np.cumsum(cycles)])
    least, before = np.zeros(n + 1), np.zeros(n + 1, np.int64)
    scale = mtbf_s * np.exp(restart_s / mtbf_s)
    # least[end]: minimal expected time to reach a checkpoint after `end` cycles, over the position
    # of the checkpoint before it; a segment of length s takes M e^(R / M) (e^(s / M) - 1).
    for end in range(1, n + 1):
        with np.errstate(over="ignore"):
            length = clock[end] - clock[:end] + cost[end - 1]
            total = least[:end] + scale * np.expm1(length / mtbf_s)
        before[end] = int(np.argmin(total))
        least[end] = total[before[end]]
    # Back along the optimal predecessors.
    after, end = [], n
    while before[end] > 0:
        end = int(before[end])
        after.append(end)
    return plan(cycles, checkpoint_s, tuple(reversed(after)))
