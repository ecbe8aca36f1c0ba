"""How many iterations the heat solver will need: from how many it needed."""

from __future__ import annotations

import math

from hindmost.models.dynamic.work import Spent, Work

GAIN = 0.6
TREND = 0.06


class IterationForecast:
    """A level with a slow trend (double exponential smoothing): counts drift as the data spread.

    Parameters
    ----------
    usual : float
        Of a usual cycle of the application: what a first cycle is taken to need of which nothing
        else is known.
    """

    __slots__ = ("_known", "_level", "_trend", "_usual")

    def __init__(self, usual: float = 0.0) -> None:
        self._known = False
        self._level = self._trend = 0.0
        self._usual = usual

    def take(self, spent: Spent, work: Work) -> None:
        """Take a cycle, if its iterations were counted and it had something to solve."""
        if spent.iterations is not None and (spent.iterations > 0.0 or work.iterations > 0.0):
            self.observe(spent.iterations)

    def observe(self, iterations: float) -> None:
        """Take what a cycle needed."""
        if not self._known:
            self._level, self._known = iterations, True
            return
        ahead = self._level + self._trend
        off = iterations - ahead
        self._level = ahead + GAIN * off
        self._trend += TREND * off

    def predict(self, expected: float) -> float:
        """Return what the next cycle needs; ``expected`` before anything was observed.

        A cycle that is to solve nothing (``expected`` is 0) needs none. Where nothing is expected
        either (NaN), a first cycle is as the usual one.
        """
        if expected <= 0.0:
            return expected
        if not self._known:
            return self._usual if math.isnan(expected) else expected
        return max(0.0, self._level + self._trend)
