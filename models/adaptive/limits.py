"""Stopping before a time limit: a cycle starts only if it ends in time, at a given risk.

The risk comes from one-step-ahead ratios, measured over predicted, which give intervals as well.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.models.results import LEVEL, Prediction
from hindmost.text import probability, seconds

WINDOW = 400
PRIOR = 0.12
"""Assumed mean excess of log ratios over their median, without data."""
PRIOR_WEIGHT = 4.0
TAIL = 0.1
"""Share of the largest ratios, to which the tail beyond the sample is fitted."""


class Ratios:
    """The last ratios of measured over predicted times."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=WINDOW)  # logarithms

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

    def exceedance(self, ratio: float) -> float:
        """Return the probability that the next ratio exceeds this one."""
        if ratio <= 0.0:
            return 1.0
        if ratio == math.inf:
            return 0.0
        place, order = math.log(ratio), sorted(self._recent)
        n = len(order)
        if n and place < order[-1]:
            return (n - bisect_right(order, place) + 1) / (n + 1)
        begin, share, scale = tail(order)
        return min(share * math.exp(-max(0.0, place - begin) / scale), 1.0 / (n + 1))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDecision:
    """Whether there is time for a cycle; true in an ``if`` if there is.

    Attributes
    ----------
    start : bool
    left_s : float
        Time until the limit.
    needed_s : float
        Time of the next cycle at the remaining risk, of what precedes it, of the checkpoint after
        it, and the margin; infinite if no risk remains.
    risk : float
        Probability that this cycle overruns the limit; 1, the bound, if nothing is known.
    known : bool
        Whether there was a prediction.
    """

    start: bool
    left_s: float
    needed_s: float
    risk: float
    known: bool = True

    def __bool__(self) -> bool:
        return self.start

    def explain(self) -> str:
        """Say it in a sentence."""
        begin = f"{'Go on' if self.start else 'Stop'}: {seconds(self.left_s)} left;"
        if not self.known:
            return (
                f"{begin} the time of a cycle is not known yet, so one starts only with more than "
                f"{seconds(self.needed_s)} left."
            )
        risk = f"risk of an overrun {probability(self.risk)}"
        if self.needed_s == math.inf:
            return f"{begin} the accepted risk is used up ({risk} for the next cycle)."
        return (
            f"{begin} the next cycle with its checkpoint needs up to {seconds(self.needed_s)} "
            f"({risk})."
        )


FAR = 100.0
"""If so many predicted cycles fit before the limit, the next one is no risk."""


class RiskBudget:
    """Keeps the risk of an overrun over the whole run within a given bound.

    Parameters
    ----------
    risk : float
        Accepted probability that the run overruns, in all its cycles together.

    Notes
    -----
    The risk of a cycle is the probability that its ratio of measured to predicted time exceeds the
    ratio of remaining to predicted time, estimated from the one-step-ahead ratios so far
    (`Ratios.exceedance`). A cycle starts while the sum of these risks stays within the bound, so
    that the probability of any overrun is at most the bound. Nearly all risk is spent on the last
    cycle or two. With time for `FAR` cycles a cycle has no risk: only a machine that hangs takes so
    long, and past cycles do not predict that.
    """

    def __init__(self, risk: float = 0.01) -> None:
        if not 0.0 < risk < 1.0:
            raise UsageError(f"A risk of {risk:g}; it must lie between 0 and 1, as 0.01.")
        self.risk, self.spent = risk, 0.0

    def decide(
        self,
        *,
        left_s: float,
        predicted_s: float,
        ratios: Ratios,
        reserved_s: float = 0.0,
        unknown_s: float = 0.0,
    ) -> LimitDecision:
        """Decide on a cycle before it starts; if it may start, its risk is spent.

        Parameters
        ----------
        left_s : float
            Time until the limit.
        predicted_s : float
            Of the cycle; if unknown (NaN), it may start if more than ``unknown_s`` remains.
        ratios : Ratios
            One-step-ahead ratios of all cycles so far.
        reserved_s : float
            Time of what precedes and follows the cycle, and what is kept free at the end.
        unknown_s : float
            Assumed time of a cycle without a prediction; 0 lets it start while any time remains.
        """
        free_s = left_s - reserved_s
        if not math.isfinite(predicted_s):
            return LimitDecision(
                start=free_s > unknown_s,
                left_s=left_s,
                needed_s=reserved_s + unknown_s,
                risk=1.0,
                known=False,
            )
        risk = 1.0
        if free_s > FAR * predicted_s:
            risk = 0.0
        elif free_s > 0.0:
            risk = ratios.exceedance(free_s / predicted_s)
        rest = self.risk - self.spent
        start = risk <= rest
        if start:
            self.spent += risk
        upper = ratios.quantile(rest) if rest > 0.0 else math.inf
        return LimitDecision(
            start=start, left_s=left_s, needed_s=upper * predicted_s + reserved_s, risk=risk
        )
