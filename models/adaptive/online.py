"""The paper's two models as predictors: online, from timers, and offline, from probes."""

from __future__ import annotations

from collections import deque
from math import exp, log
from typing import Protocol

from hindmost.errors import UsageError
from hindmost.models.adaptive.iterations import IterationForecast
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.work import Spent, Work

PULSES = 5
"""Pulses whose mean gives the pace of the next cycle."""
UNKNOWN = float("nan")
"""The prediction without any data."""


class CyclePredictor(Protocol):
    """Predicts the next cycle, and learns from observed ones."""

    @property
    def name(self) -> str:
        """The name in tables and run files."""

    def predict_s(self, work: Work) -> float:
        """Return the time of the next cycle in seconds; NaN if unknown."""

    def observe(self, spent: Spent, work: Work) -> None:
        """Observe the time of a cycle."""

    def restart(self, keep: int, factor: float) -> None:
        """Forget all but the last ``keep`` cycles; times since then have grown by ``factor``."""


class Online:
    """Time per cell over a window: T(k+1) = sum T / sum E * E(k+1) (section 2, online mode).

    Parameters
    ----------
    window : int or None
        Number of past cycles used; None for all.
    forgets : bool
        Whether the window restarts if the machine changes; the paper's does not.
    """

    __slots__ = ("_cells", "_forgets", "_past", "_seconds", "name", "window")

    def __init__(self, window: int | None = None, *, forgets: bool = False) -> None:
        if window is not None and window < 1:
            raise UsageError(f"A window of {window} cycles; it must be at least 1, or all.")
        self.name = "online-since" if forgets else f"online-{'all' if window is None else window}"
        self._forgets = forgets
        self.window = window
        self._past: deque[tuple[float, float]] = deque(maxlen=window or 64)
        self._seconds = self._cells = 0.0

    def predict_s(self, work: Work) -> float:
        """Return the mean time per cell times the cells of the next cycle."""
        return self._seconds / self._cells * work.cells if self._cells > 0.0 else UNKNOWN

    def observe(self, spent: Spent, work: Work) -> None:
        """Add a cycle to the window."""
        past = self._past
        if self.window is None:
            self._seconds += spent.seconds
            self._cells += work.cells
            past.append((spent.seconds, work.cells))
            return
        past.append((spent.seconds, work.cells))
        self._sum()

    def restart(self, keep: int, factor: float) -> None:
        """Restart the window with the last cycles, if this predictor forgets."""
        if not self._forgets:
            return
        last = list(self._past)[-max(1, keep) :]
        self._past.clear()
        self._past.extend(last)
        self._sum()

    def _sum(self) -> None:
        # Summed again: a running sum would keep the rounding error of a huge outlier.
        seconds = cells = 0.0
        for each_s, each in self._past:
            seconds += each_s
            cells += each
        self._seconds, self._cells = seconds, cells


class Offline:
    """The offline model as a predictor; it learns nothing from the times of the run.

    It knows the heat iterations of earlier cycles, and the pace of the machine by the pulses
    between cycles: the geometric mean of the last ones, because a pulse shows a moment only.
    """

    __slots__ = ("_iterations", "_paces", "model", "name")

    def __init__(self, model: OfflineModel) -> None:
        self.name = "offline"
        self.model = model
        self._paces: deque[float] = deque(maxlen=PULSES)
        self._iterations = IterationForecast(model.application.iterations)

    def predict_s(self, work: Work) -> float:
        """Return the model's time."""
        pace = exp(sum(self._paces) / len(self._paces)) if self._paces else None
        return self.model.cycle_s(work, self._iterations.predict(work.iterations), pace=pace)

    def observe(self, spent: Spent, work: Work) -> None:
        """Observe the number of iterations, and the pulse after the cycle."""
        self._iterations.take(spent, work)
        pace = None if spent.pulse_s is None else self.model.pace_of(spent.pulse_s)
        if pace is not None:
            self._paces.append(log(pace))

    def restart(self, keep: int, factor: float) -> None:
        """Do nothing: this model is the baseline that reveals the change (section 4)."""
