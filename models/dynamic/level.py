"""A running level that spikes do not move: of measured over expected times, in logarithms."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

GAIN = 0.2
CLIP = 2.0
RUN = 3
LIGHT = 0.25
KEPT = 16
"""Chosen on drawn cycles (`hindmost.models.synthetic.cycles`), quiet, drifting and noisy: no median
of the last 5, 9 or 15 ratios did better on any of them, or as well on those with a step."""


class Level:
    """An exponential mean whose steps are clipped, and which jumps when three in a row lie apart.

    A ratio further off than ``CLIP`` times the usual deviation counts as if it were that far; three
    in a row on one side are a step, and the level is then their median. Disturbed cycles weigh a
    quarter.
    """

    __slots__ = ("_apart", "_count", "_deviation", "_recent", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self._count = 0
        self._deviation = 0.02
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
        if self._count == 1:
            self.value = place
            return
        off = place - self.value
        reach = CLIP * self._deviation
        size = abs(off)
        if size > reach and not disturbed:
            apart = self._apart
            if apart and (apart[-1] > self.value) != (off > 0.0):
                apart.clear()
            apart.append(place)
            if len(apart) >= RUN:
                self.value, self._count = median(apart), RUN
                apart.clear()
                return
        elif not disturbed:
            self._apart.clear()
        self._deviation = max(
            1e-4, self._deviation + 0.1 * (min(size, 3.0 * self._deviation) - self._deviation)
        )
        gain = max(GAIN, 1.0 / self._count)
        if disturbed:
            gain *= LIGHT
        self.value += gain * (off if size < reach else math.copysign(reach, off))

    def restart(self, keep: int) -> None:
        """Forget all but the last so many observations."""
        if self._count:
            last = list(self._recent)[-max(1, keep) :]
            self._recent = deque(last, KEPT)
            self.value, self._count = median(last), len(last)
            self._apart.clear()

    def shift(self, factor: float) -> None:
        """Take all that was observed to be so many times as much."""
        self.value += math.log(factor)
