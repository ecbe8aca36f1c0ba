"""A model of the noise: every iteration lasts as long as its slowest rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.models.noise import NoiseModel, SolveTimes
from hindmost.models.noise.times import Digest
from hindmost.models.results import ModelKind, Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestRank:
    """The sum over iterations of the time of the slowest rank."""

    seconds: float
    name: str = "slowest-rank"
    kind: ModelKind = ModelKind.EXPLAINS

    def predict(self) -> Prediction:
        """Return the sum, without an interval."""
        return Prediction(seconds=self.seconds, low_s=self.seconds, high_s=self.seconds)

    def explain(self) -> str:
        """Say what the model assumes."""
        return "Every iteration lasts as long as its slowest rank."

    def parameters(self) -> dict[str, Any]:
        """Return nothing: no parameter is fitted."""
        return {}


def fit(times: SolveTimes, digest: Digest) -> SlowestRank:
    """Add up the slowest times."""
    return SlowestRank(seconds=float(digest.slowest.sum()))


SLOWEST_RANK = NoiseModel(name="slowest-rank", fit=fit)
