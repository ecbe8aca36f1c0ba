"""Predictions and decisions while a loop runs: several predictors at once, or one for your loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.adaptive.checkpoints import CheckpointCost, CheckpointDecision, decide
from hindmost.models.adaptive.interference import CycleJudge, CycleVerdict
from hindmost.models.adaptive.limits import LimitDecision, Ratios, TimeLimit
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictors import PREDICTORS, make
from hindmost.models.adaptive.work import Spent, Work
from hindmost.models.results import LEVEL, Prediction


class Panel:
    """Predictions of every cycle by every predictor, and the measured times.

    Parameters
    ----------
    names : sequence of str, optional
        Names in `PREDICTORS`; by default all that are available.
    model : OfflineModel, optional
        Of a probed machine.

    Attributes
    ----------
    names : tuple of str
    decides : str
        The predictor for decisions.
    ratios : Ratios
        Its one-step-ahead ratios, for intervals and for `TimeLimit`.
    verdicts : list of CycleVerdict
        One per observed cycle.

    Notes
    -----
    A row contains what was predicted before its cycle ran: `predict` adds row k, and `observe`
    cycle k. They must alternate.
    """

    def __init__(
        self, names: Sequence[str] | None = None, *, model: OfflineModel | None = None
    ) -> None:
        if names is None:
            names = [name for name in PREDICTORS if name != "offline" or model is not None]
        if not names:
            raise UsageError("A panel needs at least one predictor, but none was given.")
        self.names = tuple(names)
        self._predictors = [make(name, model) for name in self.names]
        self.decides = "shape-level" if "shape-level" in self.names else self.names[0]
        self.column = self.names.index(self.decides)
        self.ratios, self._judge = Ratios(), CycleJudge(model)
        self._rows: list[tuple[float, ...]] = []
        self._works: list[Work] = []
        self._measured: list[float] = []
        self.verdicts: list[CycleVerdict] = []

    @property
    def predicted(self) -> NDArray[np.float64]:
        """Predictions, float64 array, shape (cycle, predictor), seconds; NaN if there was none."""
        return np.array(self._rows, float).reshape(len(self._rows), len(self.names))

    @property
    def usual(self) -> float:
        """Current estimate of measured over baseline on the undisturbed machine."""
        return self._judge.usual

    @property
    def last(self) -> tuple[float, ...]:
        """The last row, in the order of `names`, in seconds; empty before the first."""
        return self._rows[-1] if self._rows else ()

    def decider_s(self, work: Work) -> float:
        """Return the time of a cycle by the predictor for decisions, without adding a row."""
        return self._predictors[self.column].predict_s(work)

    def predict(self, work: Work) -> tuple[float, ...]:
        """Add the next row and return it, in the order of `names`, in seconds.

        Raises
        ------
        UsageError
            The previous row has not been observed yet.
        """
        if len(self._rows) != len(self._measured):
            raise UsageError(
                f"Cycle {len(self._measured)} is predicted already, but not observed yet; "
                "call observe before the next predict."
            )
        row = tuple([predictor.predict_s(work) for predictor in self._predictors])
        self._rows.append(row)
        self._works.append(work)
        return row

    def forecast(self, level: float = LEVEL) -> Prediction:
        """Return the last prediction for decisions, with its interval.

        Raises
        ------
        UsageError
            Nothing was predicted yet.
        """
        if not self._rows:
            raise UsageError("Nothing was predicted yet; call predict first.")
        return self.ratios.predict(self.last[self.column], level)

    def observe(self, spent: Spent) -> CycleVerdict:
        """Observe the cycle that was predicted last, and return the verdict.

        Raises
        ------
        UsageError
            The cycle was not predicted first.
        """
        k = len(self._measured)
        if len(self._rows) != k + 1:
            raise UsageError(f"Cycle {k} was not predicted; call predict before observe.")
        self._measured.append(spent.seconds)
        self.verdicts.append(self.learn(spent, self._works[k], self.last[self.column]))
        return self.verdicts[-1]

    def learn(self, spent: Spent, work: Work, predicted_s: float) -> CycleVerdict:
        """Learn from a cycle that was predicted to take so long, without keeping its row."""
        if predicted_s > 0.0:  # not NaN: something was predicted
            self.ratios.observe(spent.seconds / predicted_s)
        verdict = self._judge.observe(spent, work)
        for predictor in self._predictors:
            predictor.observe(spent, work)
            if verdict.change:
                predictor.restart(verdict.keep)
        return verdict

    def errors_percent(self, skip: int = 1, last: int | None = None) -> dict[str, float]:
        """Return the mean absolute error of each predictor over the cycles that it predicted.

        Parameters
        ----------
        skip : int
            Number of first cycles to leave out; the first cannot be predicted from data.
        last : int, optional
            Number of last cycles to use at most; by default all.
        """
        done = len(self._measured)
        if last is not None:
            skip = max(skip, done - last)
        predicted = np.array(self._rows[skip:done], float).reshape(-1, len(self.names))
        measured = np.array(self._measured[skip:], float)
        errors = 100.0 * np.abs(predicted - measured[:, None]) / measured[:, None]
        return {
            name: float(np.nanmean(errors[:, k])) if np.isfinite(errors[:, k]).any() else np.nan
            for k, name in enumerate(self.names)
        }


class Predictor:
    """Predicts the next iteration of a loop, and decides what to do before it.

    Parameters
    ----------
    *methods : str
        Of `hindmost.models.adaptive.predictors.PREDICTORS`, or ``online-N``; by default
        ``shape-level``. Of several, it or else the first predicts and decides.
    level : float
        Probability of the intervals, between 0 and 1.
    model : OfflineModel, optional
        Of a probed machine.
    time_limit_s : float, optional
        Limit of the run since this object was made, by the observed times.
    risk : float
        Accepted probability that the run overruns its limit.
    margin_s : float
        What is kept free of the limit for the end of the run.
    mtbf_s : float, optional
        Mean time between failures, which determines when checkpoints are due.
    checkpoint : CheckpointCost, optional
        Known cost of a checkpoint; observed checkpoints refine it.

    Attributes
    ----------
    panel : Panel
        The predictors.
    elapsed_s, since_checkpoint_s : float
        Total time of all observed cycles and checkpoints, and time computed since the last one.

    Examples
    --------
    >>> predictor = Predictor(time_limit_s=3600.0)
    >>> for cells in (1000, 1200, 1500):
    ...     if not predictor.time_left_for(cells):
    ...         break
    ...     verdict = predictor.observe(1e-3 * cells, cells)
    >>> round(predictor.predict(2000).seconds, 6)
    2.0
    """

    def __init__(
        self,
        *methods: str,
        level: float = LEVEL,
        model: OfflineModel | None = None,
        time_limit_s: float | None = None,
        risk: float = 0.01,
        margin_s: float = 0.0,
        mtbf_s: float | None = None,
        checkpoint: CheckpointCost | None = None,
    ) -> None:
        if not 0.0 < level < 1.0:
            raise UsageError(f"An interval at the level {level:g}; it must lie between 0 and 1.")
        if mtbf_s is not None and not mtbf_s > 0.0:
            raise UsageError(f"A mean time between failures of {mtbf_s:g} s; it must be above 0.")
        self.panel = Panel(methods or ("shape-level",), model=model)
        self._level, self._mtbf_s = level, mtbf_s
        self._checkpoint = CheckpointCost() if checkpoint is None else checkpoint
        self._limit = None
        if time_limit_s is not None:
            self._limit = TimeLimit(time_limit_s, risk=risk, margin_s=margin_s)
        self.elapsed_s = self.since_checkpoint_s = 0.0

    def predict(self, work: Work | SupportsFloat) -> Prediction:
        """Predict the time of a cycle with this work; a number is a number of cells."""
        return self.panel.ratios.predict(self.panel.decider_s(as_work(work)), self._level)

    def observe(self, spent: Spent | SupportsFloat, work: Work | SupportsFloat) -> CycleVerdict:
        """Observe the time of a cycle, in seconds or as `Spent`, and return the verdict.

        Raises
        ------
        UsageError
            A time that is not finite or not above 0.
        """
        if not isinstance(spent, Spent):
            spent = Spent(seconds=float(spent))
        if not (math.isfinite(spent.seconds) and spent.seconds > 0.0):
            raise UsageError(f"A cycle took {spent.seconds:g} s; it must be finite and above 0.")
        self.elapsed_s += spent.seconds
        self.since_checkpoint_s += spent.seconds
        done = as_work(work)
        return self.panel.learn(spent, done, self.panel.decider_s(done))

    def observe_checkpoint(self, seconds: float, work: Work | SupportsFloat) -> None:
        """Observe the time of a checkpoint; the time since the last one restarts."""
        self._checkpoint.observe(seconds, saved_cells(as_work(work)))
        self.elapsed_s += seconds
        self.since_checkpoint_s = 0.0

    def checkpoint_due(
        self,
        work: Work | SupportsFloat,
        *,
        checkpoint_s: float | None = None,
    ) -> CheckpointDecision:
        """Decide whether to write a checkpoint before a cycle with this work.

        Parameters
        ----------
        checkpoint_s : float, optional
            Its assumed time until one was observed.

        Raises
        ------
        UsageError
            No mean time between failures was given to this object.
        """
        if self._mtbf_s is None:
            raise UsageError(
                "When a checkpoint is due depends on the mean time between failures, which was not "
                "given; pass mtbf_s to Predictor."
            )
        done = as_work(work)
        return decide(
            since_s=self.since_checkpoint_s,
            next_s=self.panel.decider_s(done),
            checkpoint_s=self._checkpoint_s(done, checkpoint_s),
            mtbf_s=self._mtbf_s,
        )

    def time_left_for(
        self,
        work: Work | SupportsFloat,
        *,
        elapsed_s: float | None = None,
        checkpoint_s: float | None = None,
        before_s: float = 0.0,
        unknown_s: float = 0.0,
    ) -> LimitDecision:
        """Decide whether a cycle with this work, and a checkpoint after it, end before the limit.

        Ask once before each cycle: if the cycle may start, its risk is spent.

        Parameters
        ----------
        elapsed_s : float, optional
            Time since the start of the run, if more passed than was observed.
        checkpoint_s : float, optional
            Assumed time of a checkpoint until one was observed; 0 for none.
        before_s : float
            Time of what precedes the cycle, as a checkpoint that is due.
        unknown_s : float
            Time that must remain for a cycle without a prediction.

        Raises
        ------
        UsageError
            No time limit was given to this object.
        """
        if self._limit is None:
            raise UsageError("There is no time limit to keep; pass time_limit_s to Predictor.")
        done = as_work(work)
        return self._limit.decide(
            elapsed_s=self.elapsed_s if elapsed_s is None else elapsed_s,
            predicted_s=self.panel.decider_s(done),
            ratios=self.panel.ratios,
            checkpoint_s=self._checkpoint_s(done, checkpoint_s),
            before_s=before_s,
            unknown_s=unknown_s,
        )

    def _checkpoint_s(self, work: Work, assumed_s: float | None) -> float:
        return self._checkpoint.predict_s(saved_cells(work), default_s=assumed_s or 0.0)


def as_work(work: Work | SupportsFloat) -> Work:
    """Return a number as the work of that number of cells."""
    return work if isinstance(work, Work) else Work(cells=float(work))


def saved_cells(work: Work) -> float:
    """Return the cells of a checkpoint: those of all ranks, if they are known."""
    return work.total or work.cells
