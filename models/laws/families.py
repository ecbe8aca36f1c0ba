"""The best of scipy's continuous families for a sample.

Every family is fitted by maximum likelihood to a few hundred weighted points, whatever the size of
the sample. Johnson SU, the non-central t and the uniform law have fits of their own. Families are
ranked twice: by squared error against the histogram, as in the paper (section 5), and by
likelihood.
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
"""Families with fits of their own; always candidates if the sample allows them."""
SKIPPED = {
    "erlang": "gamma with an integer shape parameter",
    "reciprocal": "the same as loguniform",
    "irwinhall": "its shape parameter is an integer, which scipy cannot fit",
    "kstwo": "its shape parameter is an integer: it is the law of a test statistic",
    "ksone": "its shape parameter is an integer: it is the law of a test statistic",
    "levy_stable": "its density is an integral for each value: minutes per fit",
    "studentized_range": "its density is an integral for each value: minutes per fit",
    "recipinvgauss": "7 ms per evaluation at 300 values: 100 times as slow as others",
    "gausshyper": "six parameters: does not converge in hundreds of evaluations",
    "kappa4": "ten times as slow as others, and seldom converges",
    "tukeylambda": "ten times as slow as others, and scipy computes its far tails incorrectly",
    "jf_skew_t": "scipy computes its far tails incorrectly: probabilities of 1e200",
    "vonmises": "a circular distribution",
    "vonmises_line": "a circular distribution, restricted to a line",
    "wrapcauchy": "a circular distribution",
}
"""Families that are not tried, and why."""
POINTS = 150
"""Bins that scipy's families are fitted to."""
JUDGED = 2000
"""Bins on which likelihoods are compared."""
BINS = 100
SHOWN = 0.995
"""Quantile at which the histogram ends. Without it, one detour in a thousand bodies would squeeze
all other values into one bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fitted law and its scores.

    Attributes
    ----------
    law : Law
    squared_error : float
        Mean over the bins of a histogram of the squared difference between its density and the
        law's, times the square of the interquartile range.
    log_likelihood : float
        Mean of the logarithm of the density, in nats per value.
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
    """Fit all families that the sample allows, and rank them.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 5 values, or values that are nearly all equal.
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
    """Fit a family in units of the spread; return it in the unit of the data."""
    law = fit_family(name, few)
    return ScipyLaw(
        name=name,
        shape=law.shape,
        loc=spread.centre + spread.unit * law.loc,
        scale=spread.unit * law.scale,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heights:
    """The histogram that laws are compared with.

    Attributes
    ----------
    middle : float64 array, shape (bin,)
    density : float64 array, shape (bin,)
    unit : float
        Multiplied with densities, it makes them dimensionless.
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
    """Score a law against the sample.

    Raises
    ------
    DataError
        The law's density is zero or infinite at some value.
    """
    candidate = Candidate(
        law=law,
        squared_error=heights.squared_error(law),
        log_likelihood=log_likelihood(law, judged),
    )
    if not np.isfinite(candidate.squared_error + candidate.log_likelihood):
        raise DataError("Its density is 0 or infinite at some value.")
    return candidate
