"""The decision to checkpoint now or after the next cycle, and the cost of a checkpoint."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import median

from hindmost.errors import UsageError
from hindmost.models.adaptive.checkpoints import INTERVALS
from hindmost.models.adaptive.machine import Machine
from hindmost.text import choose

ROUNDINGS = ("nearest", "down")


def due(since_s: float, next_s: float, tau_s: float, *, rounding: str = "nearest") -> bool:
    """Return whether to write a checkpoint before the next cycle.

    Parameters
    ----------
    since_s : float
        Computed since the last checkpoint.
    next_s : float
        Predicted time of the next cycle.
    tau_s : float
        Interval between checkpoints.
    rounding : {"nearest", "down"}
        ``nearest``: due if now is at least as close to tau as the end of the next cycle,
        abs(t - tau) <= abs(t + p - tau). ``down``, the paper's: due if the next cycle would exceed
        tau (section 4, figure 4); its intervals are half a cycle too short on average.
    """
    if rounding == "nearest":
        return bool(since_s > 0.0 and abs(since_s - tau_s) <= abs(since_s + next_s - tau_s))
    if rounding == "down":
        return bool(since_s > 0.0 and since_s + next_s > tau_s)
    raise UsageError(f"Unknown rounding '{rounding}'; {choose(ROUNDINGS)}.")


class CheckpointCost:
    """The time of a checkpoint against cells: latency + cells * bytes / bandwidth.

    Parameters
    ----------
    latency_s, per_cell_s : float, optional
        Known in advance, from a machine's probe or another run; observed checkpoints scale them.

    Notes
    -----
    The model is delta(N) = d0 + N bytes_per_cell / bandwidth. Checkpoints of similar numbers of
    cells do not determine both terms. Then the ratio of the known terms is kept, or d0 = 0 is
    assumed, and the median of the observed times sets the scale.
    """

    def __init__(self, latency_s: float | None = None, per_cell_s: float | None = None) -> None:
        self._latency_s, self._per_cell_s = latency_s or 0.0, per_cell_s or 0.0
        self._known = self._latency_s + self._per_cell_s > 0.0
        self._first = (self._latency_s, self._per_cell_s)
        self._seen: deque[tuple[float, float]] = deque(maxlen=32)

    @classmethod
    def of_machine(cls, machine: Machine, bytes_per_cell: float) -> CheckpointCost:
        """Return the cost on a probed machine; unknown if checkpoints were not probed."""
        rate = machine.checkpoint_bytes_per_s
        return cls(machine.checkpoint_latency_s, bytes_per_cell / rate if rate else None)

    def observe(self, seconds: float, cells: float) -> None:
        """Observe a checkpoint that was written."""
        if not (math.isfinite(seconds) and seconds >= 0.0):
            raise UsageError(f"A checkpoint took {seconds:g} s; it must be a finite time.")
        self._seen.append((cells, seconds))
        sizes = sorted(size for size, _ in self._seen)
        if len(sizes) >= 4 and sizes[-1] > 1.2 * sizes[0]:
            self._fit()
        elif self._known:
            first = self._first
            scale = median(took / (first[0] + size * first[1]) for size, took in self._seen)
            self._latency_s, self._per_cell_s = first[0] * scale, first[1] * scale
        else:
            self._latency_s = 0.0
            self._per_cell_s = median(took / max(1.0, size) for size, took in self._seen)

    def predict_s(self, cells: float, *, default_s: float = 0.0) -> float:
        """Return the time of a checkpoint of these cells; the default if nothing is known."""
        return self._of(cells) if self._known or self._seen else default_s

    def _of(self, cells: float) -> float:
        return self._latency_s + cells * self._per_cell_s

    def _fit(self) -> None:
        # Theil-Sen estimator: one slow write does not change the median of slopes.
        seen = list(self._seen)
        slopes = [
            (after - before) / (more - less)
            for k, (less, before) in enumerate(seen)
            for more, after in seen[k + 1 :]
            if more != less
        ]
        slope = max(0.0, median(slopes))
        self._per_cell_s = slope
        self._latency_s = max(0.0, median(took - slope * size for size, took in seen))


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


def decide(
    *,
    since_s: float,
    next_s: float,
    checkpoint_s: float,
    mtbf_s: float,
    restart_s: float = 0.0,
    interval: str = "optimum",
    rounding: str = "nearest",
) -> CheckpointDecision:
    """Decide before a cycle, with the current time of a checkpoint.

    Raises
    ------
    UsageError
        Unknown interval or rounding, or an invalid time.
    """
    if interval not in INTERVALS:
        raise UsageError(f"Unknown interval '{interval}'; {choose(INTERVALS)}.")
    tau_s = INTERVALS[interval](checkpoint_s, mtbf_s, restart_s)
    return CheckpointDecision(
        due=math.isfinite(next_s) and due(since_s, next_s, tau_s, rounding=rounding),
        tau_s=tau_s,
        since_s=since_s,
        next_s=next_s,
        checkpoint_s=checkpoint_s,
    )
