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

from hindmost.models.inference import LEVEL
from hindmost.output import plain


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

    @classmethod
    def around(cls, seconds: float, half_s: float) -> Prediction:
        """Return a time with a symmetric interval, cut off at 0: no time is negative."""
        low_s = max(seconds - half_s, 0.0)
        return cls(seconds=seconds, low_s=low_s, high_s=seconds + half_s)

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
