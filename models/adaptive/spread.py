"""The spread of undisturbed cycles: a robust scale, its tail, and serial correlation."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque

WINDOW = 200
LEAST = 0.01
"""Smallest scale: no machine repeats a cycle better; smaller values result from few cycles."""


class DeviationSpread:
    """The last deviations of undisturbed cycles.

    Parameters
    ----------
    scale : float, optional
        Known standard deviation; by default estimated from the median absolute deviation.
    """

    __slots__ = ("_known", "_last", "_product", "_raw", "_recent", "_scale", "_sizes", "_square")

    def __init__(self, scale: float | None = None) -> None:
        self._known = scale
        self._raw = LEAST if scale is None else scale
        self._recent: deque[float] = deque()
        self._sizes: list[float] = []
        self._last = 0.0
        self._product = 0.0
        self._square = 1e-8
        self._scale: float | None = None

    def observe(self, off: float) -> None:
        """Observe a deviation."""
        size = abs(off)
        self._recent.append(size)
        insort(self._sizes, size)
        if len(self._recent) > WINDOW:
            del self._sizes[bisect_left(self._sizes, self._recent.popleft())]
        if self._known is None:
            self._raw = max(LEAST, 1.4826 * self._sizes[len(self._sizes) // 2])
        reach = 3.0 * self._raw
        clipped = min(reach, max(-reach, off))
        self._product += 0.03 * (clipped * self._last - self._product)
        self._square += 0.03 * (clipped * clipped - self._square)
        self._last = clipped
        self._scale = None

    @property
    def correlation(self) -> float:
        """Lag-1 correlation of the deviations, limited to 0 to 0.8."""
        return min(0.8, max(0.0, self._product / self._square))

    @property
    def scale(self) -> float:
        """Effective standard deviation of sums of deviations: larger if they are correlated."""
        scale = self._scale
        if scale is None:  # asked for several times in a cycle
            shared = self.correlation
            self._scale = scale = self._raw * math.sqrt((1.0 + shared) / (1.0 - shared))
        return scale

    def tail(self, share: float) -> float:
        """Return the quantile of the sizes of deviations; 0 for fewer than 20."""
        sizes = self._sizes
        if len(sizes) < 20:
            return 0.0
        return sizes[min(len(sizes) - 1, math.ceil(share * len(sizes)))]
