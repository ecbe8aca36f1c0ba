"""Johnson's SU law, fitted by maximum likelihood.

X = loc + scale sinh((Z - a) / b) with Z standard normal. Given loc and scale, the best a and b are
in closed form: with z = asinh((x - loc) / scale), b = 1 / sd(z) and a = -b mean(z). The remaining
search has two dimensions and an analytic gradient. It begins from several starts on coarse bins,
and continues from the best result on the whole sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from hindmost.errors import DataError
from hindmost.models.laws.law import Spread, spread_of
from hindmost.models.laws.sample import Sample

STARTS = ((0.5, 0.0), (0.5, -2.0), (0.2, -1.0), (0.05, -2.0), (0.8, 0.0))
"""Starts of the search: quantile of the data for loc, and log of scale in interquartile ranges."""
COARSE = 2048
"""Bins on which the search begins."""
LARGEST_LOG_SCALE = 9.0
"""In interquartile ranges; beyond it the law equals a normal or lognormal one to all digits."""
MEAN_TOLERANCE = 0.5
"""Largest difference between the means of law and sample, in standard deviations of the sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JohnsonSU:
    """A Johnson SU law, with scipy's parameters.

    Attributes
    ----------
    a, b : float
        Shape; b > 0.
    loc, scale : float
        In the unit of the data; scale > 0.
    """

    a: float
    b: float
    loc: float
    scale: float

    JSON = "family=name a b loc scale"

    @property
    def name(self) -> str:
        """Scipy's name of the family."""
        return "johnsonsu"

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z))."""
        quantiles: NDArray[np.float64] = self.loc + self.scale * np.sinh((z - self.a) / self.b)
        return quantiles

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""
        y = (x - self.loc) / self.scale
        z = self.a + self.b * np.arcsinh(y)
        factor = np.log(self.b / self.scale) - 0.5 * np.log(2.0 * np.pi)
        # Hypot, because 1 + y^2 overflows earlier.
        logarithm: NDArray[np.float64] = factor - 0.5 * z**2 - np.log(np.hypot(1.0, y))
        return logarithm

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        density: NDArray[np.float64] = np.exp(self.log_pdf(x))
        return density

    @property
    def mean(self) -> float:
        """The mean, in closed form."""
        return float(self.loc - self.scale * np.exp(0.5 / self.b**2) * np.sinh(self.a / self.b))

    @property
    def variance(self) -> float:
        """The variance, in closed form."""
        w, omega = np.exp(self.b**-2), self.a / self.b
        return float(0.5 * self.scale**2 * (w - 1.0) * (w * np.cosh(2.0 * omega) + 1.0))


def fit_johnsonsu(sample: NDArray[np.float64] | Sample) -> JohnsonSU:
    """Fit a Johnson SU law by maximum likelihood.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 5 values, values that are nearly all equal, or so many equal values that the law
        of maximum likelihood does not describe them.
    """
    values = Sample.of(sample)
    spread = spread_of(values, "a Johnson SU law", at_least=5)
    unit_values = values.scaled(spread.centre, spread.unit)
    coarse = unit_values.coarser(COARSE)
    starts = [(float(coarse.quantile(share)), log_scale) for share, log_scale in STARTS]
    found = min((search(coarse, start, spread) for start in starts), key=lambda end: end.fun)
    # Coarse bins choose between local minima; only the whole sample gives their exact depth.
    best = found if coarse is unit_values else search(unit_values, found.x, spread)
    point, weight = unit_values.nodes()
    loc, scale = float(best.x[0]), float(np.exp(best.x[1]))
    z = np.arcsinh((point - loc) / scale)
    middle = float(np.dot(weight, z))
    b = float(np.dot(weight, (z - middle) ** 2)) ** -0.5
    law = JohnsonSU(
        a=-b * middle,
        b=b,
        loc=spread.centre + spread.unit * loc,
        scale=spread.unit * scale,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        astray = abs(law.mean - values.mean) / values.std
    if not astray <= MEAN_TOLERANCE:
        raise DataError(
            "No Johnson SU law describes these times: that of greatest likelihood has another mean "
            f"({values.size} values, {np.unique(values.point).size} different)."
        )
    return law


def search(sample: Sample, start: Any, spread: Spread) -> Any:
    """Search loc and log of scale from one start."""
    point, weight = sample.nodes()
    return optimize.minimize(
        profile,
        start,
        args=(point, weight),
        jac=True,
        method="L-BFGS-B",
        bounds=((None, None), (float(np.log(spread.smallest_scale)), LARGEST_LOG_SCALE)),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
    )


def profile(
    place: NDArray[np.float64], x: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the profile log-likelihood per value at (loc, log scale), negative.

    The shape a, b has its maximum-likelihood values given loc and scale.

    Parameters
    ----------
    place : float64 array, shape (2,)
    x, weight : float64 arrays, shape (node,)
        The weights sum to 1.

    Returns
    -------
    float
        Without constants.
    float64 array, shape (2,)
        Its gradient.
    """
    scale = np.exp(place[1])
    y = (x - place[0]) / scale
    z = np.arcsinh(y)
    # L = log sd(z) + log scale + mean(log(1 + y^2)) / 2, with b = 1 / sd(z).
    square = 1.0 + y * y
    slope = 1.0 / np.sqrt(square)
    centred = z - np.dot(weight, z)
    variance = float(np.dot(weight, centred * centred))
    value = 0.5 * np.log(variance) + place[1] + 0.5 * float(np.dot(weight, np.log(square)))
    # dy/dloc = -1 / scale and dy/dlog(scale) = -y, by the chain rule.
    inner = weight * (centred * slope / variance + y / square)
    gradient = np.array([-np.sum(inner) / scale, 1.0 - np.dot(inner, y)])
    return float(value), gradient
