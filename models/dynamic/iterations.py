"""How many iterations the heat solver will need: from how many it needed."""

from __future__ import annotations

GAIN = 0.6
TREND = 0.06


class IterationForecast:
    """A level with a slow trend (double exponential smoothing): counts drift as the data spread."""

    __slots__ = ("_known", "_level", "_trend")

    def __init__(self) -> None:
        self._known = False
        self._level = self._trend = 0.0

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

        A cycle that is to solve nothing (``expected`` is 0) needs none.
        """
        if not self._known or expected <= 0.0:
            return expected
        return max(0.0, self._level + self._trend)
