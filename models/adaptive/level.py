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
        self._count = count = self._count + 1
        self._disturbed += max(0.05, 1.0 / count) * (disturbed - self._disturbed)
        light = disturbed and self._disturbed < 0.5
        if count == 1:
            self._begin(place, 1)
            return
        off = place - self.value
        deviation = self._deviation
        reach = CLIP * deviation
        size = abs(off)
        if not light:
            if size > reach:
                if self._stepped(place, off):
                    return
            elif self._apart:
                self._apart.clear()
        deviation += 0.1 * (min(size, 3.0 * deviation) - deviation)
        self._deviation = deviation = max(1e-4, deviation)
        # A clipped step towards the ratio; the gain follows the correlation of such steps.
        clipped = off if size < reach else math.copysign(reach, off)
        gain, calm = self._gain, self._calm
        if not (light or calm):
            variance = 0.5 * math.pi * deviation**2  # of a normal law with it
            gain *= math.exp(ADAPTS * clipped * self._before / variance)
            self._gain = gain = min(MOST_GAIN, max(LEAST_GAIN, gain))
            self._before = clipped
        step = max(gain, 1.0 / count) * clipped
        if light:
            step *= LIGHT
        trend = self._trend
        self._place = level = self._place + (trend + step)
        trend *= LASTS
        if count > RUN and not calm:
            trend += TREND * step
        self._trend = trend
        self.value = level + LASTS * trend

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

    def _stepped(self, place: float, off: float) -> bool:
        """Jump if ``RUN`` observations in a row are far off on one side; this one is far off."""
        apart = self._apart
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
