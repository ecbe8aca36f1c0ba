"""A running level that spikes do not move: of measured over expected times, in logarithms."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

GAIN, LEAST_GAIN, MOST_GAIN = 0.2, 0.08, 0.8
"""At the begin, and between what bounds it adapts."""
ADAPTS = 0.1
"""How fast the gain follows the product of neighbouring deviations."""
TREND, LASTS = 0.03, 0.98
"""Share of a step of the level that goes into the trend, and what is left of a trend a cycle on."""
CLIP = 2.0
RUN = 3
LIGHT = 0.25
KEPT = 16
"""Chosen on drawn ratios, steady, drifting, correlated, wandering, with spikes and with a step
(seeds below 1000): a fixed gain lags behind a drift, and medians of the last 5, 9 or 15 do too."""


class Level:
    """An exponential mean with a slow trend, whose steps are clipped and whose gain adapts.

    A ratio further off than ``CLIP`` times the usual deviation counts as if it were that far; three
    in a row on one side are a step, and the level is then their median. Deviations of a level that
    follows well are not correlated: where neighbours agree the level lags and its gain grows, where
    they alternate it follows noise and the gain falls. Disturbed cycles weigh a quarter, unless
    most are: then the mark says nothing.

    Parameters
    ----------
    calm : bool
        Whether the gain stays as it is and there is no trend: for a baseline, which is to follow
        neither a slow change nor noise that lasts.
    """

    __slots__ = (
        "_apart",
        "_before",
        "_calm",
        "_count",
        "_deviation",
        "_disturbed",
        "_gain",
        "_place",
        "_recent",
        "_trend",
        "value",
    )

    def __init__(self, *, calm: bool = False) -> None:
        self._calm = calm
        self.value = 0.0
        """What the next ratio is taken to be, a logarithm."""
        self._place = self._trend = 0.0
        self._gain, self._before = GAIN, 0.0
        self._count = 0
        self._deviation = 0.02
        self._disturbed = 0.0
        self._apart: list[float] = []
        self._recent: deque[float] = deque(maxlen=KEPT)

    @property
    def known(self) -> bool:
        """Whether anything was observed."""
        return self._count > 0

    def observe(self, ratio: float, disturbed: bool = False) -> None:
        """Take measured over expected, above 0."""
        place = math.log(ratio)
        self._recent.append(place)
        self._count += 1
        self._disturbed += max(0.05, 1.0 / self._count) * (disturbed - self._disturbed)
        light = disturbed and self._disturbed < 0.5
        if self._count == 1:
            self._begin(place, 1)
            return
        off = place - self.value
        reach = CLIP * self._deviation
        size = abs(off)
        if not light and self._stepped(place, off, reach):
            return
        self._deviation = max(
            1e-4, self._deviation + 0.1 * (min(size, 3.0 * self._deviation) - self._deviation)
        )
        clipped = off if size < reach else math.copysign(reach, off)
        if not (light or self._calm):
            variance = 0.5 * math.pi * self._deviation**2  # of normal deviates of that mean size
            grown = self._gain * math.exp(ADAPTS * clipped * self._before / variance)
            self._gain = min(MOST_GAIN, max(LEAST_GAIN, grown))
            self._before = clipped
        step = max(self._gain, 1.0 / self._count) * clipped
        if light:
            step *= LIGHT
        self._place += self._trend + step
        self._trend *= LASTS
        if self._count > RUN and not self._calm:
            self._trend += TREND * step
        self.value = self._place + LASTS * self._trend

    def restart(self, keep: int) -> None:
        """Forget all but the last so many observations."""
        if self._count:
            last = list(self._recent)[-max(1, keep) :]
            self._recent = deque(last, KEPT)
            self._begin(median(last), len(last))
            self._gain = GAIN

    def shift(self, factor: float) -> None:
        """Take all that was observed to be so many times as much."""
        self._place += math.log(factor)
        self.value += math.log(factor)

    def _stepped(self, place: float, off: float, reach: float) -> bool:
        """Jump where so many in a row lie apart on one side."""
        apart = self._apart
        if abs(off) <= reach:
            apart.clear()
            return False
        if apart and (apart[-1] > self.value) != (off > 0.0):
            apart.clear()
        apart.append(place)
        if len(apart) < RUN:
            return False
        self._begin(median(apart), RUN)
        return True

    def _begin(self, place: float, count: int) -> None:
        self.value = self._place = place
        self._trend = self._before = 0.0
        self._count = count
        self._apart.clear()
