"""Models from the mean and deviation of all bodies: the mean work, and the two bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hindmost.models.noise.digest import Digest
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.text import counted, seconds

Z90 = 1.6448536269514722
"""The standard normal's 95 % quantile: a 90 % interval on both sides."""


def cramer_bound(mean: float, deviation: float, count: int) -> float:
    """Bound the maximum of independent variables: mu + sigma (N-1) / sqrt(2N-1), equation 9."""
    return float(mean + deviation * (count - 1) / (2 * count - 1) ** 0.5)


def bertsimas_bound(mean: float, deviation: float, count: int) -> float:
    """Bound the maximum of dependent variables: mu + sigma sqrt(N-1), equation 10."""
    return float(mean + deviation * (count - 1) ** 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanWork:
    """K times the mean body, equation 6; the deviation leaves out bodies that fill a pipeline.

    Bodies tile the solve on every rank, so this is the solve time without the time between bodies,
    for blocking and pipelined solvers alike.
    """

    bodies: int
    mean_s: float
    deviation_s: float
    name: str = "mean-work"
    kind: ModelKind = ModelKind.IDENTITY

    def predict(self) -> Prediction:
        """Return K mu."""
        seconds, half = self.bodies * self.mean_s, Z90 * self.deviation_s * self.bodies**0.5
        return Prediction.around(seconds, half)

    def explain(self) -> str:
        """Return what the model assumes, in a sentence."""
        mean = seconds(self.mean_s)
        return f"{counted(self.bodies, 'iteration')} of {mean} on average, including waiting."

    def parameters(self) -> dict[str, Any]:
        """Return mean and deviation."""
        return {"mean_s": self.mean_s, "deviation_s": self.deviation_s}


def fit_mean_work(times: SolveTimes, digest: Digest | None = None) -> MeanWork:
    """Take mean and deviation of all bodies."""
    digest = digest or times.digest()
    return MeanWork(
        bodies=times.iterations,
        mean_s=float(digest.middle.mean()),
        deviation_s=digest.sample.std,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumBound:
    """K times a bound on the slowest of P bodies."""

    name: str
    bodies: int
    ranks: int
    mean_s: float
    bound_s: float
    kind: ModelKind = ModelKind.BOUND

    def predict(self) -> Prediction:
        """Return the bound; the truth lies between the mean and it."""
        seconds = self.bodies * self.bound_s
        return Prediction(seconds=seconds, low_s=self.bodies * self.mean_s, high_s=seconds)

    def explain(self) -> str:
        """Return what the model assumes, in a sentence."""
        return (
            f"The slowest of {self.ranks} iterations takes at most {seconds(self.bound_s)} on "
            "average."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the bound of one body."""
        return {"bound_s": self.bound_s}


def fit_bound(
    name: str,
    bound: Callable[[float, float, int], float],
    times: SolveTimes,
    digest: Digest,
) -> MaximumBound:
    """Apply a bound to the bodies of a solve."""
    sample = digest.sample
    return MaximumBound(
        name=name,
        bodies=times.iterations,
        ranks=times.draws,
        mean_s=sample.mean,
        bound_s=bound(sample.mean, sample.std, times.draws),
    )
