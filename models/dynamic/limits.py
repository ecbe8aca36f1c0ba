"""Stopping before a time limit: start a cycle only if it will end in time, at a stated risk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.models.dynamic.ratios import Ratios
from hindmost.text import probability, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDecision:
    """Whether there is time for a cycle; true in an ``if`` when there is.

    Attributes
    ----------
    start : bool
    left_s : float
        Until the limit.
    needed_s : float
        The next cycle at the risk that is left to take, what comes before it, the checkpoint after
        it, and the margin; infinite where no risk is left to take.
    risk : float
        That this cycle, once started, overruns the limit; 1, the bound, where nothing is known.
    known : bool
        Whether there was a prediction to decide by.
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
        begin = f"{'Go on' if self.start else 'Stop'}: {seconds(self.left_s)} are left, and"
        if not self.known:
            return (
                f"{begin} what a cycle takes is not known yet; one starts only if more than "
                f"{seconds(self.needed_s)} are left."
            )
        risk = f"risk of an overrun {probability(self.risk)}"
        if self.needed_s == math.inf:
            return f"{begin} no risk is left to take for the next cycle ({risk})."
        return (
            f"{begin} the next cycle with its checkpoint needs up to {seconds(self.needed_s)} "
            f"({risk})."
        )


FAR = 100.0
"""Predicted cycles that fit before the limit, from which on none is a risk."""


class TimeLimit:
    """Keeps the risk of an overrun over the whole run at what was stated.

    Parameters
    ----------
    limit_s : float
        From the begin of the run.
    risk : float
        That the run overruns, in all its cycles together.
    margin_s : float
        What is to be left in any case, for the end of the job.

    Notes
    -----
    The risk that a started cycle adds is that its ratio of actual to predicted exceeds the ratio of
    what is left to what was predicted, by the one-step-ahead ratios so far (`Ratios.exceedance`).
    A cycle is started while the sum of these risks stays within the stated one: however the run
    goes, the probability of any overrun is at most that sum. Nearly all is spent on the last cycle
    or two. With room for `FAR` cycles nothing is: a cycle that takes so many times what it should
    has met a machine that stands still, which no past cycle tells of.
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
        """Decide on a cycle before it starts; if it is let go its risk counts as taken.

        Parameters
        ----------
        elapsed_s : float
            Since the begin of the run.
        predicted_s : float
            Of the cycle; where nothing is known yet (NaN) it may start if more than ``unknown_s``
            is left for it.
        ratios : Ratios
            One step ahead, of all cycles so far.
        checkpoint_s : float
            The checkpoint that has to be written after it.
        before_s : float
            What comes before it, as a checkpoint that is due.
        unknown_s : float
            What a cycle of which nothing is known may be thought to take; 0 lets it start while
            there is any time.
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
