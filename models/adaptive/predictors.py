"""The predictors by name: the paper's two models, online from timers and offline from probes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from math import exp, log
from typing import Protocol

from hindmost.errors import UsageError
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.shape_level import UNKNOWN, IterationForecast, ShapeLevel
from hindmost.models.adaptive.work import Spent, Work
from hindmost.text import choose

PULSES = 5
"""Pulses whose mean gives the pace of the next cycle."""


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
    """

    __slots__ = ("_cells", "_past", "_seconds", "name", "window")

    def __init__(self, window: int | None = None) -> None:
        if window is not None and window < 1:
            raise UsageError(f"A window of {window} cycles; it must be at least 1, or all.")
        self.name = f"online-{'all' if window is None else window}"
        self.window = window
        self._past: deque[tuple[float, float]] = deque(maxlen=window)
        self._seconds = self._cells = 0.0

    def predict_s(self, work: Work) -> float:
        """Return the mean time per cell times the cells of the next cycle."""
        return self._seconds / self._cells * work.cells if self._cells > 0.0 else UNKNOWN

    def observe(self, spent: Spent, work: Work) -> None:
        """Add a cycle to the window."""
        if self.window is None:
            self._seconds += spent.seconds
            self._cells += work.cells
            return
        self._past.append((spent.seconds, work.cells))
        # Summed again: a running sum would keep the rounding error of a huge outlier.
        self._seconds = sum(each_s for each_s, _ in self._past)
        self._cells = sum(each for _, each in self._past)

    def restart(self, keep: int, factor: float) -> None:
        """Do nothing: the paper's window does not restart if the machine changes."""


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


Maker = Callable[[OfflineModel | None], CyclePredictor]


def make_offline(model: OfflineModel | None) -> CyclePredictor:
    """Return the offline predictor, which needs its model."""
    if model is None:
        raise UsageError(
            "The predictor 'offline' needs a machine: probe it with `hindmost probe` and pass the "
            "machine file, or choose another predictor."
        )
    return Offline(model)


PREDICTORS: dict[str, Maker] = {
    "online-all": lambda model: Online(),
    "online-1": lambda model: Online(1),
    "offline": make_offline,
    "shape-level": ShapeLevel,
}
"""The factories of predictors; ``online-N`` exists for any N. The paper's are online-all, online-1
and offline."""


def make(name: str, model: OfflineModel | None = None) -> CyclePredictor:
    """Return a new predictor.

    Parameters
    ----------
    name : str
        One of `PREDICTORS`, or ``online-N`` for a window of N cycles.
    model : OfflineModel, optional
        Of a probed machine.

    Raises
    ------
    UsageError
        The name is unknown, or the predictor needs a model.
    """
    if name in PREDICTORS:
        return PREDICTORS[name](model)
    window = re.fullmatch(r"online-(\d+)", name)
    if window and int(window[1]) > 0:
        return Online(int(window[1]))
    raise UsageError(f"Unknown predictor '{name}'; {choose([*PREDICTORS, 'online-N'])}.")


def all_names(model: OfflineModel | None) -> tuple[str, ...]:
    """Return the available predictors: all, but ``offline`` only with a model."""
    return tuple(name for name in PREDICTORS if name != "offline" or model is not None)
