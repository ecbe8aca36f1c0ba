"""Models of uniform laws: each iteration has its own, from which the ranks are drawn.

In iteration k the ranks are uniform on [a_k, a_k + s_k] (equation 11): a_k is the fastest rank, s_k
the slowest less the fastest. The maximum of P draws is a_k + s_k P / (P + 1) on average (equations
7 and 12), that of any rank a_k + s_k / 2 (equations 8 and 13).

`NonStationary` takes a_k and s_k from the run. `RedrawnUniform` is the simulation of section 6:
both are random, each with a Johnson SU law (Table 2). What its repetitions tend to is known in
closed form, and is returned instead; the printed parameters reproduce the printed time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.law import Law, fit_johnsonsu
from hindmost.models.noise.moments import Z90
from hindmost.models.noise.times import Digest, SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.text import counted, seconds


def maximum_of_uniforms(draws: int) -> tuple[float, float]:
    """Return mean and variance of the maximum of P draws from [0, 1], a beta law of P and 1."""
    return draws / (draws + 1), draws / ((draws + 1) ** 2 * (draws + 2))


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
        mean, variance = maximum_of_uniforms(self.ranks)
        seconds = float(np.sum(self.least + self.span * mean))
        half = Z90 * (variance * float(np.sum(self.span**2))) ** 0.5
        return Prediction.around(seconds, half)

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
    digest = digest or times.digest()
    return NonStationary(
        least=digest.fastest,
        span=digest.slowest - digest.fastest,
        ranks=times.draws,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrawnUniform:
    """K bodies whose uniform laws are drawn from the laws of a run.

    Attributes
    ----------
    bodies : int
        K, without those that only fill a pipeline.
    ranks : int
        P, or the nodes in its place (P_hat).
    blocking : bool
        Whether a body waits for the slowest rank.
    least, span : Law
        Of a_k and of s_k: Johnson SU, in seconds. The tail of s_k may reach below 0; it is not
        truncated, so that means remain those of the closed form.
    fitted : int
        Iterations that both were fitted to; 0 if the laws are exact.
    fill_s : float
        Measured time of the bodies that only fill a pipeline, which are in no fit.
    """

    bodies: int
    ranks: int
    blocking: bool
    least: Law
    span: Law
    fitted: int = 0
    fill_s: float = 0.0
    name: str = "redrawn-uniform"
    kind: ModelKind = ModelKind.EXPLAINS

    def predict(self) -> Prediction:
        """Return K (E[a] + E[s] P / (P + 1)), and where 90 % of further solves would lie.

        Laws that were fitted to n iterations miss the mean of a body by as much as that of n
        further ones would. Without that, and with n = K, only 76 % would.
        """
        least, span = self.least, self.span
        mean, variance = maximum_of_uniforms(self.ranks if self.blocking else 1)
        seconds = self.bodies * (least.mean + mean * span.mean)
        of_body = least.variance + mean**2 * span.variance
        of_body += variance * (span.variance + span.mean**2)
        wider = 1.0 + self.bodies / self.fitted if self.fitted else 1.0
        half = Z90 * (self.bodies * of_body * wider) ** 0.5
        return Prediction(
            seconds=self.fill_s + seconds,
            low_s=self.fill_s + max(seconds - half, 0.0),  # none takes less than nothing
            high_s=self.fill_s + seconds + half,
        )

    def explain(self) -> str:
        """Return what the model assumes, in sentences."""
        whom = f"the slowest of {self.ranks}" if self.blocking else "any of them"
        return (
            f"In each of {counted(self.bodies, 'iteration')} the times of the ranks are uniform. "
            f"The fastest takes {seconds(self.least.mean)} and the span is "
            f"{seconds(self.span.mean)} on average, both drawn from Johnson SU laws. An "
            f"iteration lasts as long as {whom}."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the inputs of the simulation."""
        return {
            "bodies": self.bodies,
            "ranks": self.ranks,
            "blocking": self.blocking,
            "laws": {
                "least": self.least,
                "span": self.span,
                "fitted_iterations": self.fitted,
            },
            "fill_s": self.fill_s,
        }


def fit_redrawn_uniform(times: SolveTimes, digest: Digest | None = None) -> RedrawnUniform:
    """Fit the laws of a_k and s_k to a solve.

    Raises
    ------
    DataError
        A single rank, only bodies that fill a pipeline, or a_k or s_k that have no law.
    """
    digest = digest or times.digest()
    kept = ~times.fill
    if times.ranks < 2:
        raise DataError(f"{times.ranks} rank has no span s_k from fastest to slowest; it needs 2.")
    least, span = digest.fastest[kept], (digest.slowest - digest.fastest)[kept]
    laws = []
    for name, values in (("fastest ranks a_k", least), ("spans s_k", span)):
        try:
            laws.append(fit_johnsonsu(values))
        except DataError as error:
            raise DataError(
                f"The {name} of {values.size} iterations, {seconds(values.min())} to "
                f"{seconds(values.max())}, have no Johnson SU law. {error}"
            ) from error
    return RedrawnUniform(
        bodies=int(least.size),
        ranks=times.nodes or times.ranks,
        blocking=not times.pipelined,
        least=laws[0],
        span=laws[1],
        fitted=int(least.size),
        fill_s=float(digest.middle[times.fill].sum()),
    )
