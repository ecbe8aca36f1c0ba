"""The predictors by name: the paper's two models, online from timers and offline from probes.

The third is hindmost's own, shape times level: the expected time of each phase, times a robust
level of the measured ones. It improves on the paper's online model in three ways: each phase has
its own cost, which separates cycles with adaption from those without; the time of heat follows its
iterations; and one disturbed cycle does not change the level.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from math import exp
from statistics import median

from hindmost.errors import UsageError
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.work import PHASES, Spent, Work, iterations_done
from hindmost.models.simulation.blocks import RESOLUTION_S
from hindmost.text import choose

Shape = Callable[[Work, float], tuple[float, ...]]
"""The expected time of each phase, in the order of `PHASES`; each phase may have its own unit."""

HYDRO, ADAPTION = PHASES.index("hydro"), PHASES.index("adaption")
GAIN, CLIP = 0.2, 2.0
"""Of a level: the weight of a cycle, and the mean deviations at which one is clipped."""
KEPT = 16
ITERATION_GAIN, ITERATION_TREND = 0.6, 0.06


class CyclePredictor(ABC):
    """Predicts the next cycle, and learns from observed ones.

    Attributes
    ----------
    name : str
        In tables and run files.
    """

    name: str

    @abstractmethod
    def predict_s(self, work: Work) -> float:
        """Return the time of the next cycle in seconds; NaN if unknown."""

    @abstractmethod
    def observe(self, spent: Spent, work: Work) -> None:
        """Observe the time of a cycle."""

    def restart(self, keep: int) -> None:  # noqa: B027
        """Forget all but the last ``keep`` cycles; the paper's predictors never do."""


class Online(CyclePredictor):
    """Time per cell over a window: T(k+1) = sum T / sum E * E(k+1) (section 2, online mode).

    Parameters
    ----------
    window : int or None
        Number of past cycles used; None for all.
    """

    def __init__(self, window: int | None = None) -> None:
        self.name = f"online-{'all' if window is None else window}"
        self.window = window
        self._past: deque[tuple[float, float]] = deque(maxlen=window)
        self._seconds = self._cells = 0.0

    def predict_s(self, work: Work) -> float:
        """Return the mean time per cell times the cells of the next cycle."""
        return self._seconds / self._cells * work.cells if self._cells > 0.0 else math.nan

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


def learnt_shape(work: Work, iterations: float) -> tuple[float, ...]:
    """Return the shape without probes: costs proportional to cells, steps, iterations, messages."""
    cells, steps = work.cells, work.steps
    if work.adapts:
        return cells * steps, steps + iterations, cells * iterations, steps + iterations, cells, 1.0
    return cells * steps, steps + iterations, cells * iterations, steps + iterations, 0.0, 0.0


class Level:
    """An exponential mean of log(measured / expected), whose steps are clipped.

    A deviation is clipped at ``CLIP`` times the mean deviation, so that a disturbed cycle hardly
    moves the level.
    """

    def __init__(self) -> None:
        self.value = 0.0
        """The predicted logarithm of the next ratio."""
        self._count = 0
        self._deviation = 0.02
        self._recent: deque[float] = deque(maxlen=KEPT)

    @property
    def known(self) -> bool:
        """Whether anything was observed."""
        return self._count > 0

    def observe(self, ratio: float) -> None:
        """Observe measured over expected, above 0."""
        place = math.log(ratio)
        self._recent.append(place)
        self._count += 1
        if self._count == 1:
            self.value = place
            return
        off = place - self.value
        reach = CLIP * self._deviation
        self.value += max(GAIN, 1.0 / self._count) * min(reach, max(-reach, off))
        spread = min(abs(off), 3.0 * self._deviation) - self._deviation
        self._deviation = max(1e-4, self._deviation + 0.1 * spread)

    def restart(self, keep: int) -> None:
        """Forget all but the last ``keep`` observations."""
        if self._count:
            last = list(self._recent)[-max(1, keep) :]
            self._recent = deque(last, KEPT)
            self.value, self._count = median(last), len(last)


class IterationForecast:
    """A level with a slow trend (double exponential smoothing), because counts drift.

    Parameters
    ----------
    usual : float
        Iterations of a typical cycle of the application: the forecast of a first cycle if nothing
        else is known.
    """

    def __init__(self, usual: float = 0.0) -> None:
        self._known = False
        self._level = self._trend = 0.0
        self._usual = usual

    def take(self, spent: Spent, work: Work) -> None:
        """Observe a cycle, if its iterations were counted and it had a system to solve."""
        if spent.iterations is not None and (spent.iterations > 0.0 or work.iterations > 0.0):
            self.observe(spent.iterations)

    def observe(self, iterations: float) -> None:
        """Observe the iterations of a cycle."""
        if not self._known:
            self._level, self._known = iterations, True
            return
        ahead = self._level + self._trend
        off = iterations - ahead
        self._level = ahead + ITERATION_GAIN * off
        self._trend += ITERATION_TREND * off

    def predict(self, expected: float) -> float:
        """Return the iterations of the next cycle; ``expected`` before any observation.

        A cycle without a solve (``expected`` is 0) needs none. If ``expected`` is unknown (NaN), a
        first cycle needs those of a typical one.
        """
        if expected <= 0.0:
            return expected
        if not self._known:
            return self._usual if math.isnan(expected) else expected
        return max(0.0, self._level + self._trend)


class ShapeLevel(CyclePredictor):
    """Predicts the sum over phases of shape times level, the level of measured over shape.

    Parameters
    ----------
    model : OfflineModel, optional
        Gives the shape. Without it, costs are proportional to cells and steps, cells and
        iterations, or messages, and the level learns their scale.

    Notes
    -----
    If only whole cycles are timed, cycles with and without adaption have separate levels, relative
    to the sum of the shape (without probes: cells times steps).
    """

    def __init__(self, model: OfflineModel | None = None) -> None:
        self.name = "shape-level"
        self._model = model
        self._shape: Shape = learnt_shape if model is None else model.phases_s
        self._levels = tuple(Level() for _ in (*PHASES, "other"))
        self._whole = (Level(), Level())  # without and with adaption
        usual = 0.0 if model is None else model.application.iterations
        self._iterations = IterationForecast(usual)
        self._phases = False

    def predict_s(self, work: Work) -> float:
        """Return the time of the next cycle."""
        return self.expected_s(work, self._iterations.predict(work.iterations))

    def knows(self, work: Work) -> bool:
        """Return whether a cycle of this kind, with or without adaption, was observed."""
        if self._phases:
            return self._levels[ADAPTION if work.adapts else HYDRO].known
        return self._whole[work.adapts].known

    def expected_s(self, work: Work, iterations: float) -> float:
        """Return the time of a cycle with these iterations at the current level."""
        parts = self.expected_phases_s(work, iterations)
        return sum(parts) if parts else math.nan

    def expected_phases_s(self, work: Work, iterations: float) -> tuple[float, ...]:
        """Return that time by phase; only the whole if phases are unknown, empty if all is."""
        if not self._phases:
            whole = self._whole_s(work, iterations)
            return () if whole is None else (whole,)
        shape = self._shape(work, iterations)
        levels = self._levels
        pace = exp(levels[0].value) if self._model is not None else 0.0
        found = []
        for part, level in zip(shape, levels, strict=False):
            if part <= 0.0:
                found.append(0.0)
            elif level.known:
                found.append(part * exp(level.value))
            else:  # not observed yet: assume the level of hydro if the shape is in seconds
                found.append(part * pace)
        other = levels[-1]
        if other.known:
            found[0] += work.steps * exp(other.value)
        return tuple(found)

    def observe(self, spent: Spent, work: Work) -> None:
        """Observe a cycle, by phase if phases were timed."""
        iterations = iterations_done(spent, work)
        self._iterations.take(spent, work)
        shape = self._shape(work, iterations)
        if not spent.phases_s:
            basis = self._basis(work, shape)
            if basis > 0.0:
                self._whole[work.adapts].observe(max(RESOLUTION_S, spent.seconds) / basis)
            return
        self._phases = True
        for part, took, level in zip(shape, spent.phases_s, self._levels, strict=False):
            if part > 0.0:
                level.observe((took if took > RESOLUTION_S else RESOLUTION_S) / part)
        rest = spent.seconds - sum(spent.phases_s)
        if rest > 1e-3 * spent.seconds and work.steps:
            self._levels[-1].observe(rest / work.steps)

    def restart(self, keep: int) -> None:
        """Restart the levels with the last cycles."""
        for level in (*self._levels, *self._whole):
            level.restart(keep)

    def _basis(self, work: Work, shape: tuple[float, ...]) -> float:
        return work.cells * work.steps if self._model is None else sum(shape)

    def _whole_s(self, work: Work, iterations: float) -> float | None:
        plain, adapting = self._whole
        level = adapting if work.adapts else plain
        if not level.known:
            level = plain if work.adapts else adapting
        basis = self._basis(work, self._shape(work, iterations))
        if not level.known:
            return basis if self._model is not None else None
        return basis * exp(level.value)


class Offline(CyclePredictor):
    """The offline model as a predictor; it learns nothing from the times of the run.

    It knows the heat iterations of earlier cycles, and the pace of the machine by the pulses
    between cycles: the geometric mean of the last ones, because a pulse shows a moment only.
    """

    def __init__(self, model: OfflineModel | None) -> None:
        if model is None:
            raise UsageError(
                "The predictor 'offline' needs a machine: probe it with `hindmost probe` and pass "
                "the machine file, or choose another predictor."
            )
        self.name = "offline"
        self.model = model
        self._paces: deque[float] = deque(maxlen=5)
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
            self._paces.append(math.log(pace))


PREDICTORS: dict[str, Callable[[OfflineModel | None], CyclePredictor]] = {
    "online-all": lambda model: Online(),
    "online-1": lambda model: Online(1),
    "offline": Offline,
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
