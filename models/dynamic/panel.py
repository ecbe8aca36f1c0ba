"""All predictors side by side: each row is filled before its cycle is observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.dynamic.interference import Interference
from hindmost.models.dynamic.cycle_judge import CycleJudge
from hindmost.models.dynamic.offline import OfflineModel
from hindmost.models.dynamic.predictors import all_names, make
from hindmost.models.dynamic.ratios import Ratios
from hindmost.models.dynamic.cycle_verdict import CycleVerdict
from hindmost.models.dynamic.work import Spent, Work
from hindmost.models.results import LEVEL, Prediction
from hindmost.text import choose


class Panel:
    """Predictions of every cycle by every predictor, and what the cycles then took.

    Parameters
    ----------
    names : sequence of str, optional
        Of `PREDICTORS`; all that can be made, if not given.
    model : OfflineModel, optional
        Where the machine was probed.
    restarts : bool
        Whether ``online-since`` and ``shape-level`` forget what was before a change that the test
        for interference finds. The paper's predictors never do.
    interference : Interference, optional
        The test; one with its defaults if not given.
    decides : str, optional
        The predictor that decisions are taken by; ``shape-level`` if it is there, else the first.

    Notes
    -----
    A row holds what was known before its cycle ran: `predict` adds row k, and `observe` takes cycle
    k; neither can come twice.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        *,
        model: OfflineModel | None = None,
        restarts: bool = True,
        interference: Interference | None = None,
        decides: str | None = None,
    ) -> None:
        self.names = tuple(all_names(model) if names is None else names)
        self._predictors = [make(name, model) for name in self.names]
        if not self.names:
            raise UsageError("A panel needs at least one predictor; it was given none.")
        usual = "shape-level" if "shape-level" in self.names else self.names[0]
        self.decides = usual if decides is None else decides
        if self.decides not in self.names:
            raise UsageError(f"No predictor '{self.decides}' to decide by; {choose(self.names)}.")
        self._column = self.names.index(self.decides)
        self.ratios = Ratios()
        """Of the predictor that decisions are taken by, one step ahead: for `TimeLimit`."""
        self._restarts = restarts
        self._judge = CycleJudge(model, interference)
        self._rows: list[tuple[float, ...]] = []
        self._works: list[Work] = []
        self._measured: list[float] = []
        self.verdicts: list[CycleVerdict] = []

    @property
    def predicted(self) -> NDArray[np.float64]:
        """What was predicted, float64 array, shape (cycle, predictor), seconds; NaN for nothing."""
        return np.array(self._rows, float).reshape(len(self._rows), len(self.names))

    @property
    def measured(self) -> NDArray[np.float64]:
        """What cycles took, float64 array, shape (cycle,), seconds."""
        return np.array(self._measured, float)

    def predict(self, work: Work) -> tuple[float, ...]:
        """Add the next row and return it, in the order of `names`, in seconds.

        Raises
        ------
        UsageError
            The row before has not been observed yet.
        """
        if len(self._rows) != len(self._measured):
            raise UsageError(
                f"Cycle {len(self._measured)} is predicted already and was not observed yet; "
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
        """Return the last row's prediction to decide by, with its interval.

        Raises
        ------
        UsageError
            No row was predicted yet.
        """
        if not self._rows:
            raise UsageError("Nothing was predicted yet; call predict first.")
        return self.ratios.predict(self._rows[-1][self._column], level)

    def rest_s(self, cycles: int) -> float:
        """Return what the predictor to decide by takes so many cycles to last, NaN for unknown.

        Each is taken to do the work of the last row: what adaption will change is not known.

        Raises
        ------
        UsageError
            No row was predicted yet.
        """
        return cycles * self.forecast().seconds

    def observe(self, spent: Spent) -> CycleVerdict:
        """Take the cycle that was predicted last, and judge it.

        Raises
        ------
        UsageError
            No row stands open: a prediction must come before its cycle.
        """
        k = len(self._measured)
        if len(self._rows) != k + 1:
            raise UsageError(f"Cycle {k} was not predicted; call predict before observe.")
        work = self._works[k]
        self._measured.append(spent.seconds)
        predicted_s = self._rows[k][self._column]
        if predicted_s > 0.0:  # not where nothing was known
            self.ratios.observe(spent.seconds / predicted_s)
        verdict = self._judge.observe(spent, work)
        self.verdicts.append(verdict)
        for predictor in self._predictors:
            predictor.observe(spent, work)
        if self._restarts and verdict.change:
            for predictor in self._predictors:
                predictor.restart(verdict.keep, verdict.step)
        return verdict

    def errors_percent(self, skip: int = 1, last: int | None = None) -> dict[str, float]:
        """Return the mean absolute error of each predictor, over cycles that it predicted.

        Parameters
        ----------
        skip : int
            Cycles at the begin that are left out; the first has nothing to be predicted from.
        last : int, optional
            So many cycles at most, the last ones; all if not given.
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
