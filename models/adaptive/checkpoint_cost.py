"""The time of a checkpoint of an adaptive mesh."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

from hindmost.errors import UsageError
from hindmost.models.adaptive.machine import Machine


class CheckpointCost:
    """The time of a checkpoint against cells: latency + cells * bytes / bandwidth.

    Parameters
    ----------
    latency_s, per_cell_s : float, optional
        Known in advance, from a machine's probe or another run; observed checkpoints scale them.

    Notes
    -----
    The model is delta(N) = d0 + N bytes_per_cell / bandwidth. The ratio of the known terms is
    kept, or d0 = 0 is assumed, and the median of the observed times sets the scale.
    """

    def __init__(self, latency_s: float | None = None, per_cell_s: float | None = None) -> None:
        known = (latency_s or 0.0, per_cell_s or 0.0)
        self._shape, self._scale = (known, 1.0) if any(known) else ((0.0, 1.0), math.nan)
        self._scales: deque[float] = deque(maxlen=32)

    @classmethod
    def of_machine(cls, machine: Machine, bytes_per_cell: float) -> CheckpointCost:
        """Return the cost on a probed machine; unknown if checkpoints were not probed."""
        rate = machine.checkpoint_bytes_per_s
        return cls(machine.checkpoint_latency_s, bytes_per_cell / rate if rate else None)

    def observe(self, seconds: float, cells: float) -> None:
        """Observe a checkpoint that was written."""
        if not (math.isfinite(seconds) and seconds >= 0.0):
            raise UsageError(f"A checkpoint took {seconds:g} s; it must be a finite time.")
        self._scales.append(seconds / self._shape_s(max(1.0, cells)))
        self._scale = median(self._scales)

    def predict_s(self, cells: float, *, default_s: float = 0.0) -> float:
        """Return the time of a checkpoint of these cells; the default if nothing is known."""
        return default_s if math.isnan(self._scale) else self._scale * self._shape_s(cells)

    def _shape_s(self, cells: float) -> float:
        return self._shape[0] + cells * self._shape[1]
