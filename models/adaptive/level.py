"""A running level of log(measured / expected) that is robust against outliers."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

GAIN, LEAST_GAIN, MOST_GAIN = 0.2, 0.08, 0.8
"""Gain at the start, and its bounds."""
ADAPTS = 0.1
"""Rate at which the gain follows the product of neighbouring deviations."""
TREND, LASTS = 0.03, 0.98
"""Share of a step of the level that enters the trend, and the trend's decay per cycle."""
CLIP = 2.0
RUN = 3
LIGHT = 0.25
KEPT = 16
"""All chosen on simulated ratios: steady, drifting, correlated, wandering, with spikes and with a
step (seeds below 1000). A fixed gain lags behind a drift, as do medians of the last 5, 9 or 15."""


class Level:
    """An exponential mean with a slow trend, whose steps are clipped and whose gain adapts.

    A deviation is clipped at ``CLIP`` times the mean deviation. Three clipped ones in a row on one
    side are a step: the level becomes their median. The deviations from a good level are not
    correlated. If neighbours have equal signs, the level lags and its gain grows; if signs
    alternate, it follows noise and the gain falls. Disturbed cycles have a quarter of the weight,
    unless most cycles are disturbed.

    Parameters
    ----------
    calm : bool
        Fixed gain and no trend: for a baseline, which should follow neither a slow change nor
        lasting noise.
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
        """The predicted logarithm of the next ratio."""
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
        """Observe measured over expected, above 0."""
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
        # A clipped step towards the ratio; the gain follows the correlation of such steps.
        clipped = off if size < reach else math.copysign(reach, off)
        if not (light or self._calm):
            variance = 0.5 * math.pi * self._deviation**2  # of a normal law with it
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
        """Forget all but the last ``keep`` observations."""
        if self._count:
            last = list(self._recent)[-max(1, keep) :]
            self._recent = deque(last, KEPT)
            self._begin(median(last), len(last))
            self._gain = GAIN

    def shift(self, factor: float) -> None:
        """Scale all observations by a factor."""
        self._place += math.log(factor)
        self.value += math.log(factor)

    def _stepped(self, place: float, off: float, reach: float) -> bool:
        """Jump if ``RUN`` observations in a row are far off on one side."""
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
