"""Maximum likelihood for any of scipy's continuous families, on weighted points, in bounded time.

Scipy's own fit accepts neither weights nor a limit, and prints warnings. Here, a search begins
where scipy's would; simplex and gradient searches alternate until they gain nothing, for a limited
number of evaluations.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from hindmost.errors import DataError
from hindmost.models.laws.sample import Sample
from hindmost.models.laws.scipylaw import ScipyLaw

START_VALUES = 200
"""Equally probable quantiles from which scipy derives its start."""
SEARCHES: tuple[tuple[str, dict[str, float]], ...] = (
    ("Nelder-Mead", {"maxfev": 120, "fatol": 1e-6, "xatol": 1e-3}),
    ("BFGS", {"maxiter": 15, "gtol": 1e-5}),
    ("Nelder-Mead", {"maxfev": 120, "fatol": 1e-6, "xatol": 1e-3}),
    ("BFGS", {"maxiter": 15, "gtol": 1e-5}),
    ("Nelder-Mead", {"maxfev": 160, "fatol": 1e-6, "xatol": 1e-3}),
)
"""Searches in this order: a simplex also works along the bounds of a law's support, where finite
differences fail; BFGS is faster away from them."""
STILL = 1e-5
"""In log-likelihood per value: a simplex that gains less has converged."""
TOLERANCE = 1e-2
"""In log-likelihood per value: if the last simplex gains more, the search did not converge."""
IMPOSSIBLE = 1e8
"""Negative log-likelihood of a value outside the law's support."""
DENSEST = 20.0
"""Largest logarithm of a density, in units of the spread: poles must not attract the search."""
EXTREME = 1e-6
"""Weight of the smallest and the largest value, which must lie within the law's support."""
MASS_TOLERANCE = 0.25
"""Rejects densities that are wrong by orders of magnitude; a pole alone costs a tenth."""
PATIENCE_S = 3.0
"""Most families take a fiftieth of it; some are a thousand times slower for certain parameters."""


def fit_family(name: str, sample: Sample) -> ScipyLaw:
    """Fit one family.

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
    # Scipy warns of overflows inside its own functions, in several ways.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return searched(name, sample)
        except DataError:
            raise
        except Exception as error:  # families raise anything: OverflowError, IndexError, ...
            raise DataError(f"Scipy fails: {type(error).__name__}: {error}") from error


def searched(name: str, sample: Sample) -> ScipyLaw:
    """Search the parameters of a family."""
    family = getattr(stats, name)
    point, weight = sample.nodes()
    point = np.concatenate([[sample.smallest], point, [sample.largest]])
    weight = np.concatenate([[EXTREME], weight, [EXTREME]])

    until = time.monotonic() + PATIENCE_S

    def unlikelihood(place: NDArray[np.float64]) -> float:
        if time.monotonic() > until:
            raise DataError(f"The fit took longer than {PATIENCE_S} s.")
        scale = np.exp(place[-1])
        density = family.logpdf((point - place[-2]) / scale, *place[:-2]) - place[-1]
        cost = np.where(np.isfinite(density), -density, IMPOSSIBLE)
        return float(np.dot(weight, np.maximum(cost, -DENSEST)))

    place = start_of(family, sample)
    lowest, gain = unlikelihood(place), np.inf
    for method, options in SEARCHES:
        found = optimize.minimize(unlikelihood, place, method=method, options=options)
        gain = lowest - float(found.fun)
        if gain >= 0.0:
            place, lowest = found.x, float(found.fun)
        if method == "Nelder-Mead" and gain < STILL:
            break
    if gain > TOLERANCE:
        raise DataError(
            f"No convergence: the last search still gained {gain:.1e} in log-likelihood per value."
        )
    refuse_what_is_no_density(family, place)
    return ScipyLaw(
        name=name,
        shape=tuple(float(value) for value in place[:-2]),
        loc=float(place[-2]),
        scale=float(np.exp(place[-1])),
    )


def start_of(family: Any, sample: Sample) -> NDArray[np.float64]:
    """Return the start of scipy's own fit, or its result if it needs no search.

    Returns
    -------
    float64 array, shape (parameter,)
        Shapes, loc, and the logarithm of the scale.
    """

    def stay(_function: Callable[..., float], start: Any, **_: Any) -> Any:
        return start

    values = sample.quantile((np.arange(START_VALUES) + 0.5) / START_VALUES)
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


def refuse_what_is_no_density(family: Any, place: NDArray[np.float64]) -> None:
    """Refuse a density that integrates to more than 1, by a quick quadrature."""
    node, weight = special.roots_legendre(8)
    far = np.linspace(32.0, 600.0, 285)
    scale = np.exp(place[-1])
    bounds = place[-2] + scale * np.array(family.support(*place[:-2]), dtype=np.float64)
    edges = np.concatenate([-far, np.linspace(-30.0, 30.0, 241), far, np.arcsinh(bounds)])
    edges = np.unique(edges[np.isfinite(edges)])
    half = 0.5 * np.diff(edges)[:, None]
    at = edges[:-1, None] + half * (1.0 + node)
    density = family.pdf((np.sinh(at) - place[-2]) / scale, *place[:-2]) / scale
    mass = float(np.nansum(half * weight * density * np.cosh(at)))
    if not mass < 1.0 + MASS_TOLERANCE:
        raise DataError(
            f"Its density integrates to {mass:.3g}; scipy computes it incorrectly there."
        )
