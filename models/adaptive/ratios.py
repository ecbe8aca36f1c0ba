"""One-step-ahead ratios, measured over predicted: intervals, and the risk beyond a bound."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque

from hindmost.models.results import LEVEL, Prediction

WINDOW = 400
PRIOR = 0.12
"""Assumed mean excess of log ratios over their median, without data."""
PRIOR_WEIGHT = 4.0
TAIL = 0.1
"""Share of the largest ratios, to which the tail beyond the sample is fitted."""


class Ratios:
    """The last ratios of measured over predicted times.

    Parameters
    ----------
    window : int
        Number of ratios kept.
    prior : float
        Expected mean excess of log ratios, with the weight of four observations.
    """

    __slots__ = ("_order", "_prior", "_recent", "_window")

    def __init__(self, window: int = WINDOW, prior: float = PRIOR) -> None:
        self._window, self._prior = window, prior
        self._recent: deque[float] = deque()
        self._order: list[float] = []

    def __len__(self) -> int:
        return len(self._order)

    def observe(self, ratio: float) -> None:
        """Observe measured over predicted, above 0; others are ignored."""
        if not 0.0 < ratio < math.inf:
            return
        place = math.log(ratio)
        self._recent.append(place)
        insort(self._order, place)
        if len(self._recent) > self._window:
            del self._order[bisect_left(self._order, self._recent.popleft())]

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval in which the next ratio lies with this probability.

        A conformal interval: if n past ratios are exchangeable with the next one, the next is below
        the k-th smallest with probability k / (n + 1). If n is too small, the fitted tail is used.
        """
        beyond = 0.5 * (1.0 - level)
        return 1.0 / self._bound(beyond, lower=True), self._bound(beyond, lower=False)

    def predict(self, seconds: float, level: float = LEVEL) -> Prediction:
        """Return a predicted time with its interval from these ratios.

        Parameters
        ----------
        seconds : float
            NaN if unknown.
        level : float
        """
        low, high = 0.0, math.inf
        if math.isfinite(seconds):
            low, high = (ratio * seconds for ratio in self.interval(level))
        return Prediction(seconds=seconds, low_s=low, high_s=high, level=level)

    def quantile(self, risk: float) -> float:
        """Return the ratio that the next one exceeds with at most this probability."""
        return self._bound(risk, lower=False)

    def exceedance(self, ratio: float) -> float:
        """Return the probability that the next ratio exceeds this one."""
        if ratio <= 0.0:
            return 1.0
        if ratio == math.inf:
            return 0.0
        place, order = math.log(ratio), self._order
        n = len(order)
        count = max(1, math.ceil(TAIL * n))
        begin = order[n - count] if n else 0.0
        if n and place < order[-1]:
            return (n - bisect_right(order, place) + 1) / (n + 1)
        # Beyond the sample: an exponential tail of log ratios, fitted to the largest ones.
        share = min(1.0, (count + 1) / (n + 1)) if n else 1.0
        beyond = share * math.exp(-max(0.0, place - begin) / self._scale(begin, count))
        return min(beyond, 1.0 / (n + 1))

    def _bound(self, risk: float, *, lower: bool) -> float:
        """Return the upper bound of the ratios, or of their inverses."""
        order = self._order
        n = len(order)
        rank = math.floor(risk * (n + 1))  # the number of largest ratios that may be exceeded
        if rank >= 1:
            return math.exp(-order[rank - 1] if lower else order[n - rank])
        count = max(1, math.ceil(TAIL * n))
        begin = 0.0
        if n:
            begin = -order[count - 1] if lower else order[n - count]
        share = min(1.0, (count + 1) / (n + 1)) if n else 1.0
        scale = self._scale(begin, count, lower=lower)
        beyond = begin + scale * math.log(max(1.0, share / risk))
        if n:
            beyond = max(beyond, -order[0] if lower else order[-1])
        return math.exp(beyond)

    def _scale(self, begin: float, count: int, *, lower: bool = False) -> float:
        """Return the mean excess over the begin of the tail; the prior weighs four observations."""
        order = self._order
        n = len(order)
        excess = 0.0
        if n:
            tail = order[:count] if lower else order[n - count :]
            excess = sum(abs(place - begin) for place in tail)
        weight = PRIOR_WEIGHT if n else 1.0
        seen = count if n else 0
        return max(1e-6, (excess + weight * self._prior) / (seen + weight))
