"""Predictions of the next cycle on rank 0 while the kernel runs, and decisions based on them."""

from __future__ import annotations

import math

from hindmost.harness.adaptive.phases import Phase
from hindmost.harness.runfile.feed import FeedPrediction, whole_ns
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
SPARE_S = 1.0
"""What is kept of a time limit for the end of the run, and needed for a cycle never seen."""
FIRST_COST_S = 0.1
"""Assumed time of a checkpoint before one was written on a machine that was not probed."""


class CycleAdvisor:
    """Predicts every cycle before it runs, decides what to do, and judges the cycle afterwards.

    Parameters
    ----------
    time_limit_s : float, optional
        From the start of the command.
    mtbf_s : float, optional
        Mean time between failures; without it checkpoints come only before a stop.
    saves : bool
        Whether checkpoints have a file.
    model : OfflineModel, optional
        If the machine was probed.
    cost : CheckpointCost, optional
        Known cost of a checkpoint.

    Attributes
    ----------
    predictor : Predictor
    stood_out : list of CycleVerdict
        The verdicts on cycles that are not as usual.
    """

    def __init__(
        self,
        *,
        time_limit_s: float | None = None,
        mtbf_s: float | None = None,
        saves: bool = False,
        model: OfflineModel | None = None,
        cost: CheckpointCost | None = None,
    ) -> None:
        self._stops, self._saves = time_limit_s is not None, mtbf_s is not None
        self._first_s = FIRST_COST_S if saves else 0.0
        self.predictor = Predictor(
            *(name for name in PREDICTORS if name != "offline" or model is not None),
            model=model,
            time_limit_s=time_limit_s,
            margin_s=SPARE_S,
            mtbf_s=mtbf_s,
            checkpoint=cost if saves else None,
        )
        self.stood_out: list[CycleVerdict] = []

    def before(self, work: Work, elapsed_s: float) -> tuple[str, bool]:
        """Return why to stop for lack of time, else empty; and whether a checkpoint is due.

        Parameters
        ----------
        work : Work
        elapsed_s : float
            Since the start of the command.
        """
        due = None
        if self._saves:
            due = self.predictor.checkpoint_due(work, checkpoint_s=self._first_s)
        if self._stops:
            left = self.predictor.time_left_for(
                work,
                elapsed_s=elapsed_s,
                checkpoint_s=self._first_s,
                before_s=due.checkpoint_s if due else 0.0,
                unknown_s=SPARE_S,
            )
            if not left:
                return left.explain(), False
        return "", bool(due)

    def foreseen(self, work: Work, cycle: int, left: int) -> FeedPrediction:
        """Return what is foreseen of a cycle, for the live feed.

        Parameters
        ----------
        work : Work
        cycle : int
            Which one it is in this run, from 1.
        left : int
            Cycles that are to be done from it on.
        """
        predictor = self.predictor
        errors, one = predictor.errors_percent(last=LATELY), predictor.predict(work)
        known = math.isfinite(one.seconds) and len(predictor.ratios) > 0
        return FeedPrediction(
            cycle=cycle,
            next_ns=tuple(whole_ns(each) for each in predictor.row(work)),
            error_percent=tuple(known_or_none(errors[name]) for name in predictor.names),
            decides=predictor.column,
            interval_ns=(round(one.low_s * 1e9), round(one.high_s * 1e9)) if known else None,
            rest_ns=whole_ns(left * one.seconds),
        )

    def after(self, spent: Spent, work: Work) -> CycleVerdict:
        """Take what the cycle took."""
        verdict = self.predictor.observe(spent, work)
        if verdict.change or verdict.kind is CycleKind.NOISE:
            self.stood_out.append(verdict)
        return verdict


def known_or_none(value: float) -> float | None:
    """Return a number, None for one that is not known."""
    return float(value) if math.isfinite(value) else None
