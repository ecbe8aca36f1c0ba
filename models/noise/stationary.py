"""Models of whole bodies: one law for all, one for each iteration, their mean, and two bounds.

Stationary: every body of every rank is drawn from one law. Uniform: each iteration has its own law,
from which the ranks are drawn.

In iteration k the ranks are uniform on [a_k, a_k + s_k] (equation 11): a_k is the fastest rank, s_k
the slowest less the fastest. The maximum of P draws is a_k + s_k P / (P + 1) on average (equations
7 and 12), that of any rank a_k + s_k / 2 (equations 8 and 13).

`NonStationary` takes a_k and s_k from the run. `RedrawnUniform` is the simulation of section 6:
both are random, each with a Johnson SU law (Table 2). What its repetitions tend to is known in
closed form, and is returned instead; the printed parameters reproduce the printed time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.law import (
    MEAN_TOLERANCE,
    STARTS,
    Candidate,
    Law,
    fit_johnsonsu,
    fit_nct,
    law_of,
)
from hindmost.models.laws.quantiles import maximum_moments
from hindmost.models.laws.sample import Sample
from hindmost.models.noise.times import Digest, SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.output import plain
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


TITLES = {"johnsonsu": "Johnson SU", "nct": "non-central t"}
STEP = 1e-4
"""Step of the finite differences, in units of each parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stationary:
    """K bodies, each as long as the slowest of P (equation 3), or as the mean (equation 6).

    Attributes
    ----------
    name : str
        ``stationary-`` and how the law was chosen.
    bodies, ranks : int
        K and P; P is 1 for pipelined solvers, whose bodies need not wait for the slowest.
    law : Law
        Of a body, in seconds; with a mean and a variance.
    fit_deviation_s : float
        Of a body, because the law was fitted to a sample.
    """

    name: str
    bodies: int
    ranks: int
    law: Law
    fit_deviation_s: float = 0.0
    kind: ModelKind = ModelKind.EXPLAINS

    def predict(self) -> Prediction:
        """Return K E[max of P], and where 90 % of further solves of this law would lie."""
        mean, variance = maximum_moments(self.law.at_normal, self.ranks)
        seconds = self.bodies * mean
        half = Z90 * (self.bodies * variance + (self.bodies * self.fit_deviation_s) ** 2) ** 0.5
        return Prediction.around(seconds, half)

    def explain(self) -> str:
        """Return what the model assumes, in a sentence."""
        slowest = f"the slowest of {self.ranks} draws" if self.ranks > 1 else "the mean"
        family = TITLES.get(self.law.name, self.law.name)
        return (
            f"Each iteration is {slowest} from a {family} law with mean {seconds(self.law.mean)}."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the law's family and parameters."""
        return dict(plain(self.law))


def fit_stationary(times: SolveTimes, digest: Digest | None = None) -> Stationary:
    """Fit a Johnson SU law to all bodies except those that fill a pipeline (prologue)."""
    sample = (digest or times.digest()).sample
    return stationary("stationary-johnsonsu", fit_johnsonsu(sample), times, sample)


def fit_stationary_nct(times: SolveTimes, digest: Digest | None = None) -> Stationary:
    """Fit a non-central t law to all bodies except those that fill a pipeline (prologue).

    Raises
    ------
    DataError
        No such law, or one without a finite variance.
    """
    sample = (digest or times.digest()).sample
    return stationary("stationary-nct", fit_nct(sample), times, sample)


def stationary_of_best(laws: Sequence[Candidate], times: SolveTimes, digest: Digest) -> Stationary:
    """Use the family with the least squared error against the histogram, of the usable ones.

    Families without a finite mean and variance, or with another mean than the sample, are skipped:
    their density may agree where most bodies lie, while their tail, which decides the time of the
    slowest of many ranks, contradicts the sample.

    Raises
    ------
    DataError
        Times to which no family can be fitted.
    """
    values = digest.sample
    for candidate in laws:
        try:
            refuse_heavy_tails(candidate.law)
            agrees = abs(candidate.law.mean - values.mean) <= MEAN_TOLERANCE * values.std
        except DataError:
            continue
        if agrees:
            return stationary("stationary-best", candidate.law, times, values)
    raise DataError("No family of laws with a mean and a variance describes these times.")


def stationary(name: str, law: Law, times: SolveTimes, sample: Sample) -> Stationary:
    """Make a model of a law that was fitted to a sample."""
    refuse_heavy_tails(law)
    draws = times.draws
    return Stationary(
        name=name,
        bodies=times.iterations,
        ranks=draws,
        law=law,
        fit_deviation_s=deviation_of_fit(law, sample, draws),
    )


def deviation_of_fit(law: Law, sample: Sample, draws: int) -> float:
    """Return the standard deviation of E[max of P] due to the fit of the law, in seconds.

    By the delta method: the covariance C of maximum-likelihood parameters is the inverse of the
    Fisher information, estimated as the mean product of scores over the sample, whose values are
    assumed to be independent; the variance is g^T C g, with the gradient g of E[max of P]. For
    other families it is that of the mean of the sample, which is too small for large P.
    """
    if law.name not in STARTS:
        return float(sample.std / sample.size**0.5)
    point, weight = sample.nodes()
    scores, slopes = [], []
    values = np.array(law.parameters)
    units = np.append(np.maximum(np.abs(values[:-2]), 0.1), [law.scale, law.scale])
    for step in np.diag(STEP * units):
        less, more = (law_of(law.name, *values + side * step) for side in (-1.0, 1.0))
        scores.append((more.log_pdf(point) - less.log_pdf(point)) / (2.0 * STEP))
        slowest = [maximum_moments(each.at_normal, draws)[0] for each in (less, more)]
        slopes.append((slowest[1] - slowest[0]) / (2.0 * STEP))
    # g^T C g in the eigenvectors of the information, which may be singular.
    score, slope = np.array(scores), np.array(slopes)
    eigenvalue, direction = np.linalg.eigh((weight * score) @ score.T)
    # The law hardly changes along the other directions.
    known = eigenvalue > 1e-12 * eigenvalue[-1]
    along = (slope @ direction)[known]
    return float(np.sqrt(np.sum(along**2 / eigenvalue[known]) / sample.size))


def refuse_heavy_tails(law: Law) -> None:
    """Refuse a law whose sum of bodies has no mean or no variance."""
    with np.errstate(over="ignore", invalid="ignore"):
        moments = {"mean": law.mean, "variance": law.variance}
    for what, value in moments.items():
        if not np.isfinite(value):
            family = TITLES.get(law.name, law.name)
            raise DataError(
                f"The {family} law of greatest likelihood has no finite {what} and thus predicts "
                "no time: a few iterations are too long for it. Max-plus on local work needs no "
                "law."
            )


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
