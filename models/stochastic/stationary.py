"""The stationary model: every body of every rank is drawn from one Johnson SU law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.models.results import Kind, Prediction
from hindmost.models.stochastic.johnsonsu import JohnsonSU, fit_johnsonsu
from hindmost.models.stochastic.maximum import maximum_moments
from hindmost.models.stochastic.moments import Z90
from hindmost.models.stochastic.times import SolveTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stationary:
    """K bodies, each as long as the slowest of P (equation 3), or as the mean (equation 6).

    Attributes
    ----------
    bodies, ranks : int
        K and P; P is 1 for pipelined solvers, whose bodies need not wait for the slowest.
    law : JohnsonSU
        Of a body, in seconds.
    """

    bodies: int
    ranks: int
    law: JohnsonSU
    name: str = "stationary-johnsonsu"
    kind: Kind = Kind.EXPLAINS

    def predict(self) -> Prediction:
        """Return K E[max of P]."""
        mean, variance = maximum_moments(self.law.at_normal, self.ranks)
        seconds, half = self.bodies * mean, Z90 * (self.bodies * variance) ** 0.5
        return Prediction(seconds=seconds, low_s=seconds - half, high_s=seconds + half)

    def explain(self) -> str:
        """Say it in a sentence."""
        slowest = f"the slowest of {self.ranks} draws" if self.ranks > 1 else "the mean"
        return f"Each body is {slowest} from a Johnson SU law of mean {self.law.mean * 1e6:.1f} us."

    def parameters(self) -> dict[str, Any]:
        """Return the law's parameters."""
        return self.law.to_json()


def fit_stationary(times: SolveTimes) -> Stationary:
    """Fit a law to all bodies but those that fill a pipeline."""
    return Stationary(
        bodies=times.iterations,
        ranks=1 if times.pipelined else times.ranks,
        law=fit_johnsonsu(times.fitted),
    )
