"""The non-stationary model: each iteration has its own uniform law, from which ranks are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.noise.digest import Digest
from hindmost.models.noise.moments import Z90
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.text import seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NonStationary:
    """Uniform laws [a_k, a_k + s_k], one an iteration, in closed form.

    The maximum of P draws is a_k + s_k P / (P + 1) on average (equation 7), the mean
    a_k + s_k / 2 (equation 8).

    Attributes
    ----------
    least : float64 array, shape (iteration,), seconds
        a_k, the fastest rank.
    span : float64 array, shape (iteration,), seconds
        s_k, the slowest less the fastest.
    ranks : int
        P; 1 for pipelined solvers.
    """

    least: NDArray[np.float64]
    span: NDArray[np.float64]
    ranks: int
    name: str = "nonstationary-uniform"
    kind: ModelKind = ModelKind.EXPLAINS

    def predict(self) -> Prediction:
        """Return the sum over iterations."""
        count = self.ranks
        seconds = float(np.sum(self.least + self.span * count / (count + 1)))
        # The maximum of P uniforms on [0, 1] follows a beta law with parameters P and 1.
        variance = float(np.sum(self.span**2)) * count / ((count + 1) ** 2 * (count + 2))
        half = Z90 * variance**0.5
        return Prediction(seconds=seconds, low_s=seconds - half, high_s=seconds + half)

    def explain(self) -> str:
        """Return what the model assumes, in a sentence."""
        return (
            f"In each iteration the times of the ranks are uniform, from "
            f"{seconds(float(np.median(self.least)))} to "
            f"{seconds(float(np.median(self.least + self.span)))} (medians)."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the medians of both."""
        return {
            "median_least_s": float(np.median(self.least)),
            "median_span_s": float(np.median(self.span)),
        }


def fit_nonstationary(times: SolveTimes, digest: Digest | None = None) -> NonStationary:
    """Take the fastest and the slowest rank of every iteration."""
    digest = digest or Digest.of(times)
    return NonStationary(
        least=digest.fastest,
        span=digest.slowest - digest.fastest,
        ranks=times.draws,
    )
