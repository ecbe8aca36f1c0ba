"""What every fitted model shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Kind(StrEnum):
    """What the number of a model is worth."""

    EXPLAINS = "explains"
    """Computed from the run that it is held against, through a mechanism that could be wrong."""
    PREDICTS = "predicts"
    """Computed from other data than the run that it is held against."""
    IDENTITY = "identity"
    """True whatever the run did: it tests the bookkeeping, not a mechanism."""
    BOUND = "bound"
    """An upper limit on the expected time of the bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The solve time that a model gives.

    Attributes
    ----------
    seconds : float
    low_s, high_s : float
        A 90 % interval under the model's own assumptions; for a bound, from the mean to the bound.
    """

    seconds: float
    low_s: float
    high_s: float

    def error_percent(self, actual_s: float) -> float:
        """Return the error against a measured time, in percent of that time."""
        return 100.0 * (self.seconds - actual_s) / actual_s


class FittedModel(Protocol):
    """A model that was fitted to a run: it predicts, explains itself and gives its JSON."""

    @property
    def name(self) -> str:
        """The model's name, as in tables and JSON."""

    @property
    def kind(self) -> Kind:
        """What its number is worth."""

    def predict(self) -> Prediction:
        """Return the solve time that the model gives."""

    def explain(self) -> str:
        """Say in a sentence what the model takes the run to be."""

    def parameters(self) -> dict[str, Any]:
        """Return what was fitted, for JSON; with units in the names."""
