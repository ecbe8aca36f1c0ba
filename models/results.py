"""The vocabulary of a fitted result, the same for every family of models.

- value: ``predict(...)`` returns it, as a `Prediction` where it is one time.
- interval: a `Prediction` has ``low_s`` and ``high_s`` at its ``level``; a fitted function, such as
  `hindmost.models.pmnf.model.ScalingModel`, has ``interval(at, level=...)``.
- sentence: ``explain()`` says what was found in plain words, one finding a line.
- JSON: its fields, or what the class attribute `JSON` names; units are in the names of the keys.

Results are frozen dataclasses that go up to tables and
pages as they are; JSON is made where it is written to a file or to a person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.output import plain

LEVEL = 0.9
"""Probability of an interval where no other is asked for."""
ROUNDING = 1e-9


def replica_interval(drawn_s: NDArray[np.float64]) -> tuple[float, float]:
    """Return where a further replica lies with a probability of `LEVEL`, in seconds.

    Of n replicas, each is the smallest or the largest of n + 1 with probability 1 / (n + 1),
    whatever their law: those from 19 on have their k-th smallest and largest times. Fewer are taken
    as lognormal, with Student's t, and their interval has all of them.

    Parameters
    ----------
    drawn_s : float64 array, shape (replica,), seconds
        A single one has no width.
    """
    count, times_s = drawn_s.size, np.sort(drawn_s)
    place = int((1.0 - LEVEL) / 2.0 * (count + 1) + ROUNDING)
    if place:
        return float(times_s[place - 1]), float(times_s[-place])
    if times_s[0] <= 0.0 or times_s[0] == times_s[-1]:
        return float(times_s[0]), float(times_s[-1])
    from scipy import special  # not waited for by commands that fit nothing

    logs = np.log(times_s)
    width = logs.std(ddof=1) * np.sqrt(1.0 + 1.0 / count)
    width *= special.stdtrit(count - 1, (1.0 + LEVEL) / 2.0)
    low_s, high_s = np.exp(logs.mean() - width), np.exp(logs.mean() + width)
    return min(float(low_s), float(times_s[0])), max(float(high_s), float(times_s[-1]))


def difference_interval(
    first: NDArray[np.float64], second: NDArray[np.float64], level: float = 0.99
) -> tuple[float, float]:
    """Return the interval of the difference of two means, the second's less the first's (Welch).

    A single value has the spread of the others.

    Parameters
    ----------
    first, second : float64 array, shape (value,)
        At least two values of one of them.
    level : float
        Probability of the interval.
    """
    from scipy import special

    samples = (first, second)
    known = [each.var(ddof=1) if each.size > 1 else np.nan for each in samples]
    variances = [np.nanmax(known) if np.isnan(each) else each for each in known]
    squares = [variance / each.size for variance, each in zip(variances, samples, strict=True)]
    difference = float(second.mean() - first.mean())
    if not sum(squares) > 0.0:
        return difference, difference
    freedom = max(first.size, second.size) - 1.0
    if min(first.size, second.size) > 1:
        freedom = sum(squares) ** 2 / sum(
            square**2 / (each.size - 1) for square, each in zip(squares, samples, strict=True)
        )
    reach = float(special.stdtrit(freedom, 0.5 + 0.5 * level)) * math.sqrt(sum(squares))
    return difference - reach, difference + reach


class ModelKind(StrEnum):
    """How a model's number relates to the run that it is compared with."""

    EXPLAINS = "explains"
    """Computed from the same run, through a mechanism that could be wrong."""
    PREDICTS = "predicts"
    """Computed from other data than that run."""
    IDENTITY = "identity"
    """True for every run: it tests the bookkeeping, not a mechanism."""
    BOUND = "bound"
    """An upper limit on the expected time of the bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted time with its interval.

    Attributes
    ----------
    seconds : float
        NaN if nothing is known yet.
    low_s, high_s : float
        The interval, under the model's own assumptions; of a bound, from the mean to the bound.
    level : float
        Probability of the interval.
    """

    seconds: float
    low_s: float
    high_s: float
    level: float = LEVEL

    @property
    def known(self) -> bool:
        """Whether there is a prediction."""
        return math.isfinite(self.seconds)

    def error_percent(self, actual_s: float) -> float:
        """Return the error against a measured time, in percent of that time."""
        return 100.0 * (self.seconds - actual_s) / actual_s


class FittedModel(Protocol):
    """A model that was fitted to a run and predicts a solve time."""

    @property
    def name(self) -> str:
        """The model's name, as in tables and JSON."""

    @property
    def kind(self) -> ModelKind:
        """How its number relates to the run."""

    def predict(self) -> Prediction:
        """Return the solve time that the model gives."""

    def explain(self) -> str:
        """Return what the model assumes of the run, as a sentence."""

    def parameters(self) -> dict[str, Any]:
        """Return what was fitted, for JSON; with units in the names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedResult:
    """The result of a fitted model: a value with its interval, a sentence and JSON.

    A value of its own, without the data that the model was fitted to, so that it can be kept in a
    file and shown without that model.

    Attributes
    ----------
    name : str
    kind : ModelKind
    prediction : Prediction
    explanation : str
    parameters : dict
        What was fitted, as JSON.
    """

    name: str
    kind: ModelKind
    prediction: Prediction
    explanation: str
    parameters: dict[str, Any]

    JSON = "name kind predicted_s=prediction.seconds interval_s explanation parameters"

    @classmethod
    def of(cls, model: FittedModel) -> FittedResult:
        """Return the result of a model."""
        return cls(
            name=model.name,
            kind=model.kind,
            prediction=model.predict(),
            explanation=model.explain(),
            parameters=plain(model.parameters()),
        )

    @property
    def interval_s(self) -> tuple[float, float]:
        """The ends of the interval of the prediction, in seconds."""
        return self.prediction.low_s, self.prediction.high_s

    def explain(self) -> str:
        """Return what the model assumes of the run, as a sentence."""
        return self.explanation
