"""Which of scipy's continuous families describes a sample best.

Every family is fitted by maximum likelihood to a few hundred weighted points, whatever the size of
the sample; Johnson SU, the non-central t and the uniform law by their own fits. The best are ranked
twice: by the squared error against the histogram, as in the paper (section 5), and by likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.laws.johnsonsu import fit_johnsonsu
from hindmost.models.laws.law import Law, log_likelihood
from hindmost.models.laws.nct import fit_nct
from hindmost.models.laws.sample import Sample
from hindmost.models.laws.scipyfit import fit_family
from hindmost.models.laws.scipylaw import ScipyLaw
from hindmost.models.laws.uniform import fit_uniform
from hindmost.models.laws.units import Spread, spread_of

OWN: dict[str, Callable[[Sample], Law]] = {
    "johnsonsu": fit_johnsonsu,
    "nct": fit_nct,
    "uniform": fit_uniform,
}
"""Fitted here by their own ways; always among the candidates if the sample allows them."""
SKIPPED = {
    "erlang": "is gamma with a whole shape",
    "reciprocal": "is loguniform",
    "irwinhall": "its shape is a whole number, and scipy has no fit for it",
    "kstwo": "its shape is a whole number: the law of a test's statistic",
    "ksone": "its shape is a whole number: the law of a test's statistic",
    "levy_stable": "its density is an integral a value: minutes a fit",
    "studentized_range": "its density is an integral a value: minutes a fit",
    "recipinvgauss": "7 ms an evaluation at 300 values: 100 times as long as others",
    "gausshyper": "with six parameters, it does not converge in hundreds of evaluations",
    "kappa4": "ten times as long as others, and seldom converges",
    "tukeylambda": "ten times as long as others, and its far tails are wrong in scipy",
    "jf_skew_t": "its far tails are wrong in scipy: probabilities of 1e200",
    "vonmises": "a law on a circle",
    "vonmises_line": "a law on a circle, cut open",
    "wrapcauchy": "a law on a circle",
}
"""Families that are not tried, and why."""
POINTS = 150
"""Bins to which scipy's families are fitted."""
JUDGED = 2000
"""Bins on which likelihoods are compared."""
BINS = 100
SHOWN = 0.995
"""Quantile at which the histogram ends; beyond it, a detour in a thousand would leave one bin for
all the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A law that was fitted, and how well it does.

    Attributes
    ----------
    law : Law
    squared_error : float
        Mean over the bins of a histogram of the squared difference between its density and the
        law's, times the square of the interquartile range.
    log_likelihood : float
        Mean of the logarithm of the density, in nats a value.
    """

    law: Law
    squared_error: float
    log_likelihood: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLaws:
    """The families, best first.

    Attributes
    ----------
    by_squared_error, by_likelihood : tuple of Candidate
        The same candidates in two orders.
    left_out : dict of str to str
        Families that could not be fitted or were not tried, with the reason.
    """

    by_squared_error: tuple[Candidate, ...]
    by_likelihood: tuple[Candidate, ...]
    left_out: dict[str, str]


def fit_families(sample: NDArray[np.float64] | Sample) -> BestLaws:
    """Fit every family that can be, and rank them.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 5 values, or all but equal ones.
    """
    values = Sample.of(sample)
    spread = spread_of(values, "a choice of families", at_least=5)
    few = values.scaled(spread.centre, spread.unit).coarser(POINTS)
    judged = values.coarser(JUDGED)
    heights = Heights.of(values, spread.unit)
    candidates, left_out = [], dict(SKIPPED)
    for name in (*OWN, *scipys_families()):
        try:
            law = OWN[name](values) if name in OWN else fit_one(name, few, spread)
            candidates.append(judge(law, judged, heights))
        except DataError as error:
            left_out[name] = str(error)
    return BestLaws(
        by_squared_error=tuple(sorted(candidates, key=lambda one: one.squared_error)),
        by_likelihood=tuple(sorted(candidates, key=lambda one: -one.log_likelihood)),
        left_out=left_out,
    )


def scipys_families() -> list[str]:
    """Return the names of scipy's continuous families that are tried, in alphabetical order."""
    every = (name for name, what in vars(stats).items() if isinstance(what, stats.rv_continuous))
    return sorted(name for name in every if name not in SKIPPED and name not in OWN)


def fit_one(name: str, few: Sample, spread: Spread) -> ScipyLaw:
    """Fit a family in units of the spread, and return it in the unit of the data."""
    law = fit_family(name, few)
    return ScipyLaw(
        name=name,
        shape=law.shape,
        loc=spread.centre + spread.unit * law.loc,
        scale=spread.unit * law.scale,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heights:
    """The histogram that laws are held against.

    Attributes
    ----------
    middle : float64 array, shape (bin,)
    density : float64 array, shape (bin,)
    unit : float
        What makes densities free of units.
    """

    middle: NDArray[np.float64]
    density: NDArray[np.float64]
    unit: float

    @classmethod
    def of(cls, sample: Sample, unit: float) -> Heights:
        """Make bins of equal width, from the smallest value to a high quantile."""
        high = float(sample.quantile(SHOWN))
        counts, edges = np.histogram(
            sample.point, bins=BINS, range=(sample.smallest, high), weights=sample.count
        )
        return cls(
            middle=0.5 * (edges[1:] + edges[:-1]),
            density=counts / (sample.size * np.diff(edges)),
            unit=unit,
        )

    def squared_error(self, law: Law) -> float:
        """Return the mean squared difference between a law's density and the histogram's."""
        difference = self.unit * (law.pdf(self.middle) - self.density)
        return float(np.mean(difference**2))


def judge(law: Law, judged: Sample, heights: Heights) -> Candidate:
    """Hold a law against the sample.

    Raises
    ------
    DataError
        The law makes some value impossible, or infinitely dense.
    """
    candidate = Candidate(
        law=law,
        squared_error=heights.squared_error(law),
        log_likelihood=log_likelihood(law, judged),
    )
    if not np.isfinite(candidate.squared_error + candidate.log_likelihood):
        raise DataError("Its density is 0 or infinite at some value.")
    return candidate
