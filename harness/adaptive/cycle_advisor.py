"""Predictions of the next cycle on rank 0 while the kernel runs, and decisions based on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.harness.adaptive.phases import Phase
from hindmost.harness.runfile.feed import FeedPrediction
from hindmost.models.adaptive.checkpoints import CheckpointCost
from hindmost.models.adaptive.interference import CycleKind, CycleVerdict
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictor import Predictor
from hindmost.models.adaptive.predictors import PREDICTORS
from hindmost.models.adaptive.work import Spent, Work

OF_MODELS = (
    Phase.HYDRO,
    Phase.HALO,
    Phase.HEAT,
    Phase.REDUCTION,
    Phase.ADAPTION,
    Phase.BALANCE,
)
"""Phases of a cycle in the order in which the models have them."""
LATELY = 10
"""Cycles over which the live feed tells errors."""
LEVEL = 0.9
"""Of the live feed's interval of the next cycle."""
MARGIN_S = 1.0
"""What is kept of a time limit for the run file and the end of MPI."""
UNKNOWN_S = 1.0
"""What must be left for a cycle of which nothing is known."""
FIRST_COST_S = 0.1
"""Assumed time of a checkpoint before one was written on a machine that was not probed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOptions:
    """Options for decisions during a run.

    Attributes
    ----------
    time_limit_s : float or None
        From the start of the command.
    mtbf_s : float or None
        Mean time between failures; without it checkpoints come only before a stop.
    saves : bool
        Whether checkpoints have a file.

    Raises
    ------
    UsageError
        Checkpoints without a file.
    """

    time_limit_s: float | None = None
    mtbf_s: float | None = None
    saves: bool = False

    def __post_init__(self) -> None:
        if self.mtbf_s is not None and not self.saves:
            raise UsageError("--mtbf writes checkpoints; name their file with --checkpoint.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do before a cycle: stop for lack of time, and why; write a checkpoint."""

    stop: bool = False
    checkpoint: bool = False
    why: str = ""


class CycleAdvisor:
    """Predicts every cycle before it runs, decides what to do, and judges the cycle afterwards.

    Parameters
    ----------
    orders : DecisionOptions
    model : OfflineModel or None
        If the machine was probed.
    cost : CheckpointCost
        Known cost of a checkpoint.

    Attributes
    ----------
    panel : Panel
        The predictors.
    """

    def __init__(
        self,
        orders: DecisionOptions,
        *,
        model: OfflineModel | None = None,
        cost: CheckpointCost | None = None,
    ) -> None:
        self._orders = orders
        self._predictor = Predictor(
            *(name for name in PREDICTORS if name != "offline" or model is not None),
            model=model,
            time_limit_s=orders.time_limit_s,
            margin_s=MARGIN_S,
            mtbf_s=orders.mtbf_s,
            checkpoint=cost if orders.saves else None,
        )
        self.panel = self._predictor.panel

    @property
    def stood_out(self) -> list[CycleVerdict]:
        """The verdicts on cycles that are not as usual."""
        return [each for each in self.panel.verdicts if each.change or each.kind is CycleKind.NOISE]

    def before(self, work: Work, elapsed_s: float) -> Decision:
        """Predict the next cycle and decide what comes before it.

        Parameters
        ----------
        work : Work
        elapsed_s : float
            Since the start of the command.
        """
        self.panel.predict(work)
        orders, first_s = self._orders, FIRST_COST_S if self._orders.saves else 0.0
        due = None
        if orders.mtbf_s is not None:
            due = self._predictor.checkpoint_due(work, checkpoint_s=first_s)
        if orders.time_limit_s is not None:
            left = self._predictor.time_left_for(
                work,
                elapsed_s=elapsed_s,
                checkpoint_s=first_s,
                before_s=due.checkpoint_s if due else 0.0,
                unknown_s=UNKNOWN_S,
            )
            if not left:
                return Decision(stop=True, why=left.explain())
        return Decision(checkpoint=bool(due))

    def foreseen(self, cycle: int, left: int) -> FeedPrediction:
        """Return what is foreseen of the cycle that `before` has predicted, for the live feed.

        Parameters
        ----------
        cycle : int
            Which one it is in this run, from 1.
        left : int
            Cycles that are to be done from it on.
        """
        panel = self.panel
        errors = panel.errors_percent(last=LATELY)
        one = panel.forecast(LEVEL)
        known = math.isfinite(one.seconds) and len(panel.ratios) > 0
        return FeedPrediction(
            cycle=cycle,
            next_s=tuple(known_or_none(each) for each in panel.last),
            error_percent=tuple(known_or_none(errors[name]) for name in panel.names),
            decides=panel.column,
            interval_s=(one.low_s, one.high_s) if known else None,
            rest_s=known_or_none(left * one.seconds),
        )

    def saved(self, seconds: float, work: Work) -> None:
        """Take what a checkpoint took."""
        self._predictor.observe_checkpoint(seconds, work)

    def after(self, spent: Spent) -> CycleVerdict:
        """Take what the cycle took."""
        self._predictor.since_checkpoint_s += spent.seconds
        return self.panel.observe(spent)


def known_or_none(value: float) -> float | None:
    """Return a number, None for one that is not known."""
    return float(value) if math.isfinite(value) else None
