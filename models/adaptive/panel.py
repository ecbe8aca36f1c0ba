"""Several predictors side by side: each row is predicted before its cycle is observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.adaptive.interference import CycleJudge, CycleVerdict, Interference
from hindmost.models.adaptive.limits import Ratios
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictors import all_names, make
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
    interference : Interference, optional
        The test; by default one with default settings.

    Notes
    -----
    A row contains what was predicted before its cycle ran: `predict` adds row k, and `observe`
    cycle k. They must alternate.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        *,
        model: OfflineModel | None = None,
        interference: Interference | None = None,
    ) -> None:
        self.names = tuple(all_names(model) if names is None else names)
        self._predictors = [make(name, model) for name in self.names]
        if not self.names:
            raise UsageError("A panel needs at least one predictor, but none was given.")
        self.decides = "shape-level" if "shape-level" in self.names else self.names[0]
        """The predictor for decisions."""
        self._column = self.names.index(self.decides)
        self.ratios = Ratios()
        """One-step-ahead ratios of the predictor for decisions, for `TimeLimit`."""
        self._judge = CycleJudge(model, interference)
        self._rows: list[tuple[float, ...]] = []
        self._works: list[Work] = []
        self._measured: list[float] = []
        self.verdicts: list[CycleVerdict] = []

    @property
    def predicted(self) -> NDArray[np.float64]:
        """Predictions, float64 array, shape (cycle, predictor), seconds; NaN if there was none."""
        return np.array(self._rows, float).reshape(len(self._rows), len(self.names))

    @property
    def measured(self) -> NDArray[np.float64]:
        """Measured times, float64 array, shape (cycle,), seconds."""
        return np.array(self._measured, float)

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

    @property
    def last(self) -> tuple[float, ...]:
        """The last row, in the order of `names`, in seconds; empty before the first."""
        return self._rows[-1] if self._rows else ()

    def forecast(self, level: float = LEVEL) -> Prediction:
        """Return the last prediction for decisions, with its interval.

        Raises
        ------
        UsageError
            Nothing was predicted yet.
        """
        if not self._rows:
            raise UsageError("Nothing was predicted yet; call predict first.")
        return self.ratios.predict(self._rows[-1][self._column], level)

    def rest_s(self, cycles: int) -> float:
        """Return the predicted time of a number of cycles, NaN if unknown.

        Each is assumed to do the work of the last row, because later adaption is unknown.

        Raises
        ------
        UsageError
            Nothing was predicted yet.
        """
        return cycles * self.forecast().seconds

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
        work = self._works[k]
        self._measured.append(spent.seconds)
        predicted_s = self._rows[k][self._column]
        if predicted_s > 0.0:  # not NaN: something was predicted
            self.ratios.observe(spent.seconds / predicted_s)
        verdict = self._judge.observe(spent, work)
        self.verdicts.append(verdict)
        for predictor in self._predictors:
            predictor.observe(spent, work)
        if verdict.change:
            for predictor in self._predictors:
                predictor.restart(verdict.keep, verdict.step)
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
