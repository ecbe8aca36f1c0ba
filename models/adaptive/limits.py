"""Stopping before a time limit: a cycle starts only if it ends in time, at a given risk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.models.adaptive.ratios import Ratios
from hindmost.text import probability, seconds


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


class TimeLimit:
    """Keeps the risk of an overrun over the whole run within a given bound.

    Parameters
    ----------
    limit_s : float
        Measured from the start of the run.
    risk : float
        Accepted probability that the run overruns, in all its cycles together.
    margin_s : float
        Time to keep free for the end of the job.

    Notes
    -----
    The risk of a cycle is the probability that its ratio of measured to predicted time exceeds the
    ratio of remaining to predicted time, estimated from the one-step-ahead ratios so far
    (`Ratios.exceedance`). A cycle starts while the sum of these risks stays within the bound, so
    that the probability of any overrun is at most the bound. Nearly all risk is spent on the last
    cycle or two. With time for `FAR` cycles a cycle has no risk: only a machine that hangs takes so
    long, and past cycles do not predict that.
    """

    def __init__(self, limit_s: float, *, risk: float = 0.01, margin_s: float = 0.0) -> None:
        if not (math.isfinite(limit_s) and limit_s > 0.0):
            raise UsageError(f"A time limit of {limit_s:g} s; it must be a finite time above 0.")
        if not 0.0 < risk < 1.0:
            raise UsageError(f"A risk of {risk:g}; it must lie between 0 and 1, as 0.01.")
        self.limit_s, self.risk, self.margin_s = float(limit_s), risk, margin_s
        self.spent = 0.0

    def decide(
        self,
        *,
        elapsed_s: float,
        predicted_s: float,
        ratios: Ratios,
        checkpoint_s: float = 0.0,
        before_s: float = 0.0,
        unknown_s: float = 0.0,
    ) -> LimitDecision:
        """Decide on a cycle before it starts; if it may start, its risk is spent.

        Parameters
        ----------
        elapsed_s : float
            Time since the start of the run.
        predicted_s : float
            Of the cycle; if unknown (NaN), it may start if more than ``unknown_s`` remains.
        ratios : Ratios
            One-step-ahead ratios of all cycles so far.
        checkpoint_s : float
            Time of the checkpoint that follows it.
        before_s : float
            Time of what precedes it, as a checkpoint that is due.
        unknown_s : float
            Assumed time of a cycle without a prediction; 0 lets it start while any time remains.
        """
        left_s = self.limit_s - float(elapsed_s)  # a numpy number would make numpy booleans
        beside_s = float(before_s) + float(checkpoint_s) + self.margin_s
        free_s = left_s - beside_s
        if not math.isfinite(predicted_s):
            return LimitDecision(
                start=free_s > float(unknown_s),
                left_s=left_s,
                needed_s=beside_s + float(unknown_s),
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
            start=start, left_s=left_s, needed_s=upper * predicted_s + beside_s, risk=risk
        )
