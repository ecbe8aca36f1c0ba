"""Forecast of the heat solver's iterations."""

from __future__ import annotations

import math

from hindmost.models.adaptive.work import Spent, Work

GAIN = 0.6
TREND = 0.06


class IterationForecast:
    """A level with a slow trend (double exponential smoothing), because counts drift.

    Parameters
    ----------
    usual : float
        Iterations of a typical cycle of the application: the forecast of a first cycle if nothing
        else is known.
    """

    __slots__ = ("_known", "_level", "_trend", "_usual")

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
        self._level = ahead + GAIN * off
        self._trend += TREND * off

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
