"""A fitted model as tables, pages and JSON need it: it may come from a model or from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.models.results import FittedModel, Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldModel:
    """What a fitted model said.

    Attributes
    ----------
    name, kind : str
    prediction : Prediction
    explanation : str
    parameters : dict
    """

    name: str
    kind: str
    prediction: Prediction
    explanation: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, model: FittedModel) -> ToldModel:
        """Ask a model."""
        return cls(
            name=model.name,
            kind=str(model.kind),
            prediction=model.predict(),
            explanation=model.explain(),
            parameters=model.parameters(),
        )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> ToldModel:
        """Return what `to_json` wrote."""
        low, high = values["interval_s"]
        return cls(
            name=values["name"],
            kind=values["kind"],
            prediction=Prediction(seconds=values["predicted_s"], low_s=low, high_s=high),
            explanation=values["explanation"],
            parameters=values["parameters"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "predicted_s": self.prediction.seconds,
            "interval_s": [self.prediction.low_s, self.prediction.high_s],
            "explanation": self.explanation,
            "parameters": self.parameters,
        }
