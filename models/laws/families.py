"""The best of scipy's continuous families for a sample, by squared error against the histogram.

Every family is fitted by maximum likelihood to a few hundred weighted points, whatever the size of
the sample, and ranked as in the paper (section 5). Johnson SU and the non-central t have fits of
their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from hindmost.errors import DataError
from hindmost.models.laws.law import (
    Candidate,
    Law,
    fit_johnsonsu,
    fit_nct,
    law_of,
    log_likelihood,
    spread_of,
    table_of,
)
from hindmost.models.laws.sample import Sample

SKIPPED = (
    # circular, or another name of a family
    "vonmises", "vonmises_line", "wrapcauchy", "erlang", "reciprocal",
    # integer shape parameters, which scipy cannot fit
    "irwinhall", "kstwo", "ksone",
    # an integral for each value, or tails that scipy computes incorrectly
    "levy_stable", "studentized_range", "recipinvgauss", "tukeylambda", "jf_skew_t",
    # do not converge in hundreds of evaluations
    "gausshyper", "kappa4",
)  # fmt: skip
"""Families that are not tried."""


def fit_families(sample: NDArray[np.float64] | Sample) -> tuple[Candidate, ...]:
    """Fit all families that the sample allows, the one of least squared error first.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 5 values, or values that are nearly all equal.
    """
    values = Sample.of(sample)
    spread = spread_of(values, "a choice of families")
    scaled, judged = values.scaled(spread.centre, spread.unit), values.coarser(2000)
    # A histogram of equal bins, from the smallest value to a high quantile.
    # Up to its end, one detour in a thousand bodies would squeeze all other values into one bin.
    ends = values.smallest, float(values.quantile(0.995))
    counts, edges = np.histogram(values.point, bins=100, range=ends, weights=values.count)
    middle, density = 0.5 * (edges[1:] + edges[:-1]), counts / (values.size * np.diff(edges))

    own: dict[str, Callable[[Sample], Law]] = {"johnsonsu": fit_johnsonsu, "nct": fit_nct}
    candidates = []
    for name in (*own, *(family for family in scipys_families() if family not in own)):
        try:
            law = (
                own[name](values)
                if name in own
                else spread.scaled_back(name, *fit_family(name, scaled).parameters)
            )
            error = float(np.mean((spread.unit * (law.pdf(middle) - density)) ** 2))
            likelihood = log_likelihood(law, judged)
        except DataError:
            continue
        if np.isfinite(error + likelihood):
            candidates.append(Candidate(law=law, squared_error=error, log_likelihood=likelihood))
    return tuple(sorted(candidates, key=lambda one: one.squared_error))


def scipys_families() -> list[str]:
    """Return the names of scipy's continuous families that are tried, in alphabetical order."""
    every = (name for name, what in vars(stats).items() if isinstance(what, stats.rv_continuous))
    return sorted(name for name in every if name not in SKIPPED)


def fit_family(name: str, sample: Sample) -> Law:
    """Fit one of scipy's families by maximum likelihood, with a limited number of evaluations.

    Parameters
    ----------
    name : str
        As in scipy.stats.
    sample : Sample
        With median 0 and interquartile range 1.

    Raises
    ------
    DataError
        The family cannot be fitted; the message gives the reason.
    """
    family = getattr(stats, name)
    point, weight = sample.coarser(150).nodes()
    # The smallest and the largest value must lie within the law's support; they hardly count else.
    point = np.concatenate([[sample.smallest], point, [sample.largest]])
    weight = np.concatenate([[1e-6], weight, [1e-6]])

    def unlikelihood(place: NDArray[np.float64]) -> float:
        density = family.logpdf(point, *place)
        # Poles must not attract the search.
        cost = np.where(np.isfinite(density), np.maximum(-density, -20.0), 1e8)
        return float(np.dot(weight, cost))

    def stay(_: Callable[..., float], start: Any, **__: Any) -> Any:
        return start

    # Scipy warns of overflows inside its own functions, in several ways.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            # Scipy's own likelihood, of which only the start is used, takes no weights.
            values = sample.quantile((np.arange(200) + 0.5) / 200)
            *shape, loc, scale = map(float, family.fit(values, optimizer=stay))
            # Values outside the support at the start would give the simplex no slope.
            low, high = family.support(*shape)
            if np.isfinite(high - low):
                scale = max(scale, 1.02 * (sample.largest - sample.smallest) / (high - low))
            if np.isfinite(low):
                loc = min(loc, sample.smallest - 0.01 - low * scale)
            elif np.isfinite(high):
                loc = max(loc, sample.largest + 0.01 - high * scale)
            start = [*shape, loc, scale]
            found = optimize.fmin(unlikelihood, start, maxfun=600, disp=False)
            law = law_of(name, *found)
            table_of(law)  # refuses what is no density
        except DataError:
            raise
        except Exception as error:  # families raise anything: OverflowError, IndexError, ...
            raise DataError(f"Scipy fails: {type(error).__name__}: {error}") from error
    return law
