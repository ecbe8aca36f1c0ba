"""Shape times level: what each phase should take, times a robust level of what it does take.

It betters the paper's online model in three ways: phases have a cost of their own, so that cycles
with adaption stand apart from those without; what heat takes follows its iterations; and one
disturbed cycle does not move the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp

from hindmost.models.dynamic.iterations import IterationForecast
from hindmost.models.dynamic.level import Level
from hindmost.models.dynamic.offline import OfflineModel
from hindmost.models.dynamic.online import UNKNOWN
from hindmost.models.dynamic.work import PHASES, Spent, Work, iterations_done

Shape = Callable[[Work, float], tuple[float, ...]]
"""What each phase of a cycle should take, in the order of `PHASES`, in any unit of its own."""

HYDRO, ADAPTION = PHASES.index("hydro"), PHASES.index("adaption")
SOME_S = 1e-9
"""Stands for a phase that took no time at all: a logarithm must exist."""


def learnt_shape(work: Work, iterations: float) -> tuple[float, ...]:
    """Return the shape without probes: a cost per cell, step, iteration and message each."""
    cells, steps = work.cells, work.steps
    if work.adapts:
        return cells * steps, steps + iterations, cells * iterations, steps + iterations, cells, 1.0
    return cells * steps, steps + iterations, cells * iterations, steps + iterations, 0.0, 0.0


class ShapeLevel:
    """Sums over phases the shape of the next cycle times the level of measured over shape.

    Parameters
    ----------
    model : OfflineModel, optional
        Gives the shape; without it a phase costs so much per cell and step, per cell and iteration
        or per message, which the level learns.

    Notes
    -----
    Where only the whole of a cycle is known, cycles with adaption have one level and those without
    another, over the sum of the shape (without probes: cells times steps).
    """

    __slots__ = ("_iterations", "_levels", "_model", "_phases", "_shape", "_whole", "name")

    def __init__(self, model: OfflineModel | None = None, *, name: str = "shape-level") -> None:
        self.name = name
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
        """Return whether a cycle like this one was observed: with adaption, or without."""
        if self._phases:
            return self._levels[ADAPTION if work.adapts else HYDRO].known
        return self._whole[work.adapts].known

    def expected_s(self, work: Work, iterations: float) -> float:
        """Return what a cycle with so many iterations would take at the present level."""
        parts = self.expected_phases_s(work, iterations)
        return sum(parts) if parts else UNKNOWN

    def expected_phases_s(self, work: Work, iterations: float) -> tuple[float, ...]:
        """Return that phase by phase; the whole alone where phases are not known, or nothing."""
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
            else:  # not seen yet: as fast as hydro, where the shape is in seconds
                found.append(part * pace)
        other = levels[-1]
        if other.known:
            found[0] += work.steps * exp(other.value)
        return tuple(found)

    def observe(self, spent: Spent, work: Work) -> None:
        """Take what the cycle took, phase by phase where that is known."""
        iterations = iterations_done(spent, work)
        self._iterations.take(spent, work)
        shape = self._shape(work, iterations)
        disturbed = spent.disturbed
        if not spent.phases_s:
            basis = self._basis(work, shape)
            if basis > 0.0:
                self._whole[work.adapts].observe(max(SOME_S, spent.seconds) / basis, disturbed)
            return
        self._phases = True
        for part, took, level in zip(shape, spent.phases_s, self._levels, strict=False):
            if part > 0.0:
                level.observe((took if took > SOME_S else SOME_S) / part, disturbed)
        rest = spent.seconds - sum(spent.phases_s)
        if rest > 1e-3 * spent.seconds and work.steps:
            self._levels[-1].observe(rest / work.steps, disturbed)

    def renew(self, cycles: Sequence[tuple[Spent, Work]]) -> None:
        """Take cycles after which nothing before them counts, for the phases that they had."""
        for spent, work in cycles:
            self.observe(spent, work)
        for phase, level in zip((*PHASES, "other"), self._levels, strict=True):
            if phase not in ("adaption", "balance") or all(work.adapts for _, work in cycles):
                level.restart(len(cycles))
        for adapts, level in enumerate(self._whole):
            if all(work.adapts == bool(adapts) for _, work in cycles):
                level.restart(len(cycles))

    def restart(self, keep: int, factor: float) -> None:
        """Begin the levels anew with the last cycles; rare phases are scaled by the factor."""
        for level, phase in zip(self._levels, (*PHASES, "other"), strict=True):
            if phase in ("adaption", "balance"):
                level.shift(factor)
            else:
                level.restart(keep)
        for level in self._whole:
            level.shift(factor)

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
