"""Intervals of the next iteration's time, from past ratios of measured over predicted times."""

from __future__ import annotations

import math
from collections import deque

from hindmost.models.inference import LEVEL
from hindmost.models.results import Prediction

PRIOR = 0.12
"""Assumed mean excess of log ratios over their median, without data."""
PRIOR_WEIGHT = 4.0
TAIL = 0.1
"""Share of the largest ratios, to which the tail beyond the sample is fitted."""


class Ratios:
    """The last ratios of measured over predicted times."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=400)  # logarithms

    def __len__(self) -> int:
        return len(self._recent)

    def observe(self, ratio: float) -> None:
        """Observe measured over predicted, above 0; others are ignored."""
        if 0.0 < ratio < math.inf:
            self._recent.append(math.log(ratio))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval in which the next ratio lies with this probability.

        A conformal interval: if n past ratios are exchangeable with the next one, the next is below
        the k-th smallest with probability k / (n + 1). If n is too small, the fitted tail is used.
        """
        beyond, mirrored = 0.5 * (1.0 - level), sorted(-place for place in self._recent)
        return 1.0 / bound(mirrored, beyond), self.quantile(beyond)

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
        return bound(sorted(self._recent), risk)


def bound(order: list[float], risk: float) -> float:
    """Return the ratio that is exceeded with this risk, given ascending logarithms of ratios."""
    n = len(order)
    rank = math.floor(risk * (n + 1))  # the number of largest ratios that may be exceeded
    if rank >= 1:
        return math.exp(order[n - rank])
    begin, share, scale = tail(order)
    beyond = begin + scale * math.log(max(1.0, share / risk))
    return math.exp(max([beyond, *order[-1:]]))


def tail(order: list[float]) -> tuple[float, float, float]:
    """Fit an exponential tail, beyond the sample, to the largest logarithms of ratios.

    Returns
    -------
    float, float, float
        Begin of the tail, share of ratios in it, and mean excess over its begin. A prior
        excess, which reaches to the prediction at least, weighs four observations.
    """
    n = len(order)
    if not n:
        return 0.0, 1.0, PRIOR
    count = max(1, math.ceil(TAIL * n))
    begin = order[n - count]
    excess = sum(place - begin for place in order[n - count :])
    scale = max(1e-6, (excess + PRIOR_WEIGHT * max(PRIOR, -begin)) / (count + PRIOR_WEIGHT))
    return begin, min(1.0, (count + 1) / (n + 1)), scale
