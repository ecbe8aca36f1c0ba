"""Predictions and decisions while a loop runs, by one predictor or by several side by side."""

from __future__ import annotations

import math
from array import array
from collections import deque
from statistics import median
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.adaptive.interference import CycleJudge, CycleVerdict
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictors import make
from hindmost.models.adaptive.work import Spent, Work
from hindmost.models.ahead.checkpoints import CheckpointDecision, due, optimum_s
from hindmost.models.ahead.next_iterations import NextIterations, TimeLeft, time_left
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


class CheckpointCost:
    """The time of a checkpoint against cells: latency + cells * bytes / bandwidth.

    Parameters
    ----------
    latency_s, per_cell_s : float, optional
        Known in advance, from a machine's probe or another run; observed checkpoints scale them.

    Notes
    -----
    The model is delta(N) = d0 + N bytes_per_cell / bandwidth. The ratio of the known terms is
    kept, or d0 = 0 is assumed, and the median of the observed times sets the scale.
    """

    def __init__(self, latency_s: float | None = None, per_cell_s: float | None = None) -> None:
        known = (latency_s or 0.0, per_cell_s or 0.0)
        self._shape, self._scale = (known, 1.0) if any(known) else ((0.0, 1.0), math.nan)
        self._scales: deque[float] = deque(maxlen=32)

    @classmethod
    def of_machine(cls, machine: Machine, bytes_per_cell: float) -> CheckpointCost:
        """Return the cost on a probed machine; unknown if checkpoints were not probed."""
        rate = machine.checkpoint_bytes_per_s
        return cls(machine.checkpoint_latency_s, bytes_per_cell / rate if rate else None)

    def observe(self, seconds: float, cells: float) -> None:
        """Observe a checkpoint that was written."""
        if not (math.isfinite(seconds) and seconds >= 0.0):
            raise UsageError(f"A checkpoint took {seconds:g} s; it must be a finite time.")
        self._scales.append(seconds / self._shape_s(max(1.0, cells)))
        self._scale = median(self._scales)

    def predict_s(self, cells: float, *, default_s: float = 0.0) -> float:
        """Return the time of a checkpoint of these cells; the default if nothing is known."""
        return default_s if math.isnan(self._scale) else self._scale * self._shape_s(cells)

    def _shape_s(self, cells: float) -> float:
        return self._shape[0] + cells * self._shape[1]


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
    margin_s : float
        What is kept free of the limit for the end of the run.
    mtbf_s : float, optional
        Mean time between failures, which determines when checkpoints are due.
    checkpoint : CheckpointCost, optional
        Known cost of a checkpoint; observed checkpoints refine it.

    Attributes
    ----------
    names : tuple of str
        The methods.
    decides : str
        The one that predicts and decides; ``column`` is its place in `names`.
    ratios : Ratios
        Its one-step-ahead ratios, measured over predicted.
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
        margin_s: float = 0.0,
        mtbf_s: float | None = None,
        checkpoint: CheckpointCost | None = None,
    ) -> None:
        if not 0.0 < level < 1.0:
            raise UsageError(f"An interval at the level {level:g}; it must lie between 0 and 1.")
        for what, given_s in (("time limit", time_limit_s), ("mean time between failures", mtbf_s)):
            if given_s is not None and not 0.0 < given_s < math.inf:
                raise UsageError(f"A {what} of {given_s:g} s; it must be a finite time above 0.")
        self.names = methods or ("shape-level",)
        self._predictors = [make(name, model) for name in self.names]
        self.decides = "shape-level" if "shape-level" in self.names else self.names[0]
        self.column = self.names.index(self.decides)
        self.ratios, self._judge = Ratios(), CycleJudge(model)
        self._iterations = NextIterations()
        self._level, self._mtbf_s = level, mtbf_s
        self._limit_s, self._margin_s = time_limit_s, margin_s
        self._checkpoint = CheckpointCost() if checkpoint is None else checkpoint
        self._rows, self._measured = array("d"), array("d")
        self.elapsed_s = self.since_checkpoint_s = 0.0

    @property
    def predicted(self) -> NDArray[np.float64]:
        """What was predicted of each observed cycle, before learning from it.

        Float64 array, shape (cycle, predictor), seconds; NaN if nothing was known.
        """
        return np.array(self._rows).reshape(-1, len(self.names))

    @property
    def usual(self) -> float:
        """Current estimate of measured over baseline on the undisturbed machine."""
        return self._judge.usual

    def row(self, work: Work | SupportsFloat) -> tuple[float, ...]:
        """Return the time of a cycle by each of `names`, in seconds; NaN if unknown."""
        return tuple([predictor.predict_s(as_work(work)) for predictor in self._predictors])

    def predict(self, work: Work | SupportsFloat) -> Prediction:
        """Predict the time of a cycle with this work; a number is a number of cells."""
        return self.ratios.predict(self._next_s(as_work(work)), self._level)

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
        done = as_work(work)
        row = self.row(done)
        self._rows.extend(row)
        self._measured.append(spent.seconds)
        self.elapsed_s += spent.seconds
        self.since_checkpoint_s += spent.seconds
        if row[self.column] > 0.0:  # not NaN: something was predicted
            self.ratios.observe(spent.seconds / row[self.column])
            # The first ratios say how a predictor learns, not how much later cycles differ.
            if len(self._measured) > 6:
                self._iterations.observe(spent.seconds, row[self.column])
        verdict = self._judge.observe(spent, done)
        for predictor in self._predictors:
            predictor.observe(spent, done)
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
        if last is not None:
            skip = max(skip, len(self._measured) - last)
        measured = np.array(self._measured)[skip:, None]
        errors = 100.0 * np.abs(self.predicted[skip:] - measured) / measured
        return {
            name: float(np.nanmean(each)) if np.isfinite(each).any() else np.nan
            for name, each in zip(self.names, errors.T, strict=True)
        }

    def observe_checkpoint(self, seconds: float, work: Work | SupportsFloat) -> None:
        """Observe the time of a checkpoint; the time since the last one restarts."""
        self._checkpoint.observe(seconds, saved_cells(as_work(work)))
        self.elapsed_s += seconds
        self.since_checkpoint_s = 0.0

    def checkpoint_due(
        self, work: Work | SupportsFloat, *, checkpoint_s: float = 0.0
    ) -> CheckpointDecision:
        """Decide whether to write a checkpoint before a cycle with this work.

        The interval is that of least waste at the current cost of a checkpoint.

        Parameters
        ----------
        checkpoint_s : float
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
        next_s = self._next_s(done)
        cost_s = self._checkpoint.predict_s(saved_cells(done), default_s=checkpoint_s)
        tau_s = optimum_s(cost_s, self._mtbf_s)
        return CheckpointDecision(
            due=math.isfinite(next_s) and due(self.since_checkpoint_s, next_s, tau_s),
            tau_s=tau_s,
            since_s=self.since_checkpoint_s,
            next_s=next_s,
            checkpoint_s=cost_s,
        )

    def time_left_for(
        self,
        work: Work | SupportsFloat,
        *,
        elapsed_s: float | None = None,
        checkpoint_s: float = 0.0,
        before_s: float = 0.0,
        unknown_s: float = 0.0,
    ) -> TimeLeft:
        """Decide whether a cycle with this work, and a checkpoint after it, end before the limit.

        Parameters
        ----------
        elapsed_s : float, optional
            Time since the start of the run, if more passed than was observed.
        checkpoint_s : float
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
        if self._limit_s is None:
            raise UsageError("There is no time limit to keep; pass time_limit_s to Predictor.")
        done = as_work(work)
        after_s = self._checkpoint.predict_s(saved_cells(done), default_s=checkpoint_s)
        return time_left(
            self._iterations,
            left_s=self._limit_s - float(self.elapsed_s if elapsed_s is None else elapsed_s),
            expected_s=self._next_s(done),
            reserved_s=float(before_s + after_s + self._margin_s),
            unknown_s=float(unknown_s),
        )

    def _next_s(self, work: Work) -> float:
        return self._predictors[self.column].predict_s(work)


def as_work(work: Work | SupportsFloat) -> Work:
    """Return a number as the work of that number of cells."""
    return work if isinstance(work, Work) else Work(cells=float(work))


def saved_cells(work: Work) -> float:
    """Return the cells of a checkpoint: those of all ranks, if they are known."""
    return work.total or work.cells
