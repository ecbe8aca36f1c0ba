"""The stationary model: every body of every rank is drawn from one law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from hindmost.models.laws.maximum import maximum_moments
from hindmost.models.laws.sample import Sample
from hindmost.models.noise.digest import Digest
from hindmost.models.noise.moments import Z90
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.output import plain
from hindmost.text import seconds

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
