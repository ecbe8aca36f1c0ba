"""The best of scipy's continuous families for a sample.

Every family is fitted by maximum likelihood to a few hundred weighted points, whatever the size of
the sample. Johnson SU and the non-central t have fits of their own. Families are ranked twice: by
squared error against the histogram, as in the paper (section 5), and by likelihood.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from hindmost.errors import DataError
from hindmost.models.laws.johnsonsu import fit_johnsonsu
from hindmost.models.laws.law import Law, log_likelihood, spread_of
from hindmost.models.laws.maximum import maximum_moments
from hindmost.models.laws.nct import fit_nct
from hindmost.models.laws.quantiles import QuantileTable, tabulate
from hindmost.models.laws.sample import Sample

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
ROUNDS, EVALUATIONS = 3, 200
"""Searches of a family, each from where the one before ended, and evaluations of each."""
STILL = 1e-4
"""In log-likelihood per value: a search that gains less is the last."""
IMPOSSIBLE = 1e8
"""Negative log-likelihood of a value outside the law's support."""
DENSEST = 20.0
"""Largest logarithm of a density, in units of the spread: poles must not attract the search."""
EXTREME = 1e-6
"""Weight of the smallest and the largest value, which must lie within the law's support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScipyLaw:
    """A law of one of scipy's continuous families, with exact quantiles in the far tails.

    Quantiles and moments are computed from scipy's density by quadrature: for most families,
    scipy's own inverse fails where 1 - F rounds to 0, or searches value by value.

    Attributes
    ----------
    name : str
        The family, as in scipy.stats.
    shape : tuple of float
        In scipy's order.
    loc, scale : float
        In the unit of the data; scale > 0.
    """

    name: str
    shape: tuple[float, ...]
    loc: float
    scale: float

    @property
    def frozen(self) -> Any:
        """Scipy's object."""
        return getattr(stats, self.name)(*self.shape, loc=self.loc, scale=self.scale)

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""
        with np.errstate(all="ignore"):
            return np.asarray(self.frozen.logpdf(x), np.float64)

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        with np.errstate(all="ignore"):
            return np.asarray(self.frozen.pdf(x), np.float64)

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z)).

        Raises
        ------
        DataError
            Scipy's density does not integrate to 1.
        """
        return table_of(self).at_normal(z)

    @property
    def mean(self) -> float:
        """The mean, by quadrature; infinite if a tail is too heavy."""
        if table_of(self).tail_index <= 1.0:
            return float("inf")
        return maximum_moments(self.at_normal, 1)[0]

    @property
    def variance(self) -> float:
        """The variance, by quadrature; infinite if a tail is too heavy."""
        if table_of(self).tail_index <= 2.0:
            return float("inf")
        return maximum_moments(self.at_normal, 1)[1]

    def to_json(self) -> dict[str, Any]:
        """Return scipy's parameters with all their digits."""
        names = (getattr(stats, self.name).shapes or "").replace(",", " ").split()
        shape = dict(zip(names, self.shape, strict=True))
        return {"family": self.name, **shape, "loc": self.loc, "scale": self.scale}


@lru_cache(maxsize=64)
def table_of(law: ScipyLaw) -> QuantileTable:
    """Integrate the law's density; cached."""
    with np.errstate(all="ignore"):
        low, middle, high = (float(value) for value in law.frozen.ppf([0.25, 0.5, 0.75]))
    ends = [float(bound) for bound in law.frozen.support()]
    return tabulate(law.log_pdf, support=(ends[0], ends[1]), centre=middle, unit=high - low)


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
    # A histogram of equal bins, from the smallest value to a high quantile.
    ends = values.smallest, float(values.quantile(SHOWN))
    counts, edges = np.histogram(values.point, bins=BINS, range=ends, weights=values.count)
    middle, density = 0.5 * (edges[1:] + edges[:-1]), counts / (values.size * np.diff(edges))

    def of_scipy(name: str) -> Law:
        law = fit_family(name, few)
        return ScipyLaw(
            name=name,
            shape=law.shape,
            loc=spread.centre + spread.unit * law.loc,
            scale=spread.unit * law.scale,
        )

    own: dict[str, Callable[[Sample], Law]] = {"johnsonsu": fit_johnsonsu, "nct": fit_nct}
    candidates, left_out = [], dict(SKIPPED)
    for name in (*own, *(each for each in scipys_families() if each not in own)):
        try:
            law = own[name](values) if name in own else of_scipy(name)
            error = float(np.mean((spread.unit * (law.pdf(middle) - density)) ** 2))
            likelihood = log_likelihood(law, judged)
        except DataError as refused:
            left_out[name] = str(refused)
            continue
        if np.isfinite(error + likelihood):
            candidates.append(Candidate(law=law, squared_error=error, log_likelihood=likelihood))
        else:
            left_out[name] = "Its density is 0 or infinite at some value."
    return BestLaws(
        by_squared_error=tuple(sorted(candidates, key=lambda one: one.squared_error)),
        by_likelihood=tuple(sorted(candidates, key=lambda one: -one.log_likelihood)),
        left_out=left_out,
    )


def scipys_families() -> list[str]:
    """Return the names of scipy's continuous families that are tried, in alphabetical order."""
    every = (name for name, what in vars(stats).items() if isinstance(what, stats.rv_continuous))
    return sorted(name for name in every if name not in SKIPPED)


def fit_family(name: str, sample: Sample) -> ScipyLaw:
    """Fit one of scipy's families by maximum likelihood.

    Scipy's own fit accepts neither weights nor a limit, and prints warnings. Here, a simplex
    search begins where scipy's would, for a limited number of evaluations.

    Parameters
    ----------
    name : str
        As in scipy.stats.
    sample : Sample
        With median 0, interquartile range 1 and few bins: the density of all its points is
        evaluated some hundred times.

    Raises
    ------
    DataError
        The family cannot be fitted; the message gives the reason.
    """
    family = getattr(stats, name)
    point, weight = sample.nodes()
    point = np.concatenate([[sample.smallest], point, [sample.largest]])
    weight = np.concatenate([[EXTREME], weight, [EXTREME]])

    def unlikelihood(place: NDArray[np.float64]) -> float:
        density = family.logpdf((point - place[-2]) / np.exp(place[-1]), *place[:-2]) - place[-1]
        cost = np.where(np.isfinite(density), -density, IMPOSSIBLE)
        return float(np.dot(weight, np.maximum(cost, -DENSEST)))

    limits = {"maxfev": EVALUATIONS, "fatol": 1e-6, "xatol": 1e-3}
    # Scipy warns of overflows inside its own functions, in several ways.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            place = start_of(family, sample)
            lowest = unlikelihood(place)
            for _ in range(ROUNDS):
                found = optimize.minimize(unlikelihood, place, method="Nelder-Mead", options=limits)
                gain, place, lowest = lowest - float(found.fun), found.x, float(found.fun)
                if gain < STILL:
                    break
            law = ScipyLaw(
                name=name,
                shape=tuple(float(value) for value in place[:-2]),
                loc=float(place[-2]),
                scale=float(np.exp(place[-1])),
            )
            table_of(law)  # refuses what is no density
        except DataError:
            raise
        except Exception as error:  # families raise anything: OverflowError, IndexError, ...
            raise DataError(f"Scipy fails: {type(error).__name__}: {error}") from error
    return law


def start_of(family: Any, sample: Sample) -> NDArray[np.float64]:
    """Return the start of scipy's own fit, or its result if it needs no search.

    Returns
    -------
    float64 array, shape (parameter,)
        Shapes, loc, and the logarithm of the scale.
    """

    def stay(_function: Callable[..., float], start: Any, **_: Any) -> Any:
        return start

    values = sample.quantile((np.arange(200) + 0.5) / 200)
    given = np.array(family.fit(values, optimizer=stay), dtype=np.float64)
    if not (np.isfinite(given).all() and given[-1] > 0.0):
        raise DataError("Scipy has no starting point for it.")
    *shape, _, _ = given
    low, high = family.support(*shape)
    # With values outside its support, the start would give the simplex no slope.
    if np.isfinite(low) and np.isfinite(high):
        width = 1.02 * (sample.largest - sample.smallest)
        given[-1] = max(given[-1], width / (high - low))
    if np.isfinite(low):
        given[-2] = min(given[-2], sample.smallest - 0.01 - low * given[-1])
    elif np.isfinite(high):
        given[-2] = max(given[-2], sample.largest + 0.01 - high * given[-1])
    given[-1] = np.log(given[-1])
    return given
