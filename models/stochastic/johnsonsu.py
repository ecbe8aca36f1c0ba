"""Johnson's SU law, fitted by maximum likelihood.

X = loc + scale sinh((Z - a) / b) with Z standard normal. Given loc and scale, the best a and b are
in closed form: with z = asinh((x - loc) / scale), b = 1 / sd(z) and a = -b mean(z). What is left is
a search in two dimensions, with an analytic gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from hindmost.errors import DataError

STARTS = ((0.5, 0.0), (0.5, -2.0), (0.2, -1.0), (0.05, -2.0), (0.8, 0.0))
"""Where the search begins: quantile of the data for loc, log of scale in interquartile ranges."""
LARGEST_LOG_SCALE = 9.0
"""In interquartile ranges; beyond it the law is a normal or lognormal one to all digits."""
SMALLEST_SCALE = 1e-3
"""In interquartile ranges, or the smallest gap between two values if that is larger: the likelihood
grows without bound when the scale shrinks around a value that occurs twice."""
MEAN_TOLERANCE = 0.5
"""How far the law's mean may lie from the sample's, in standard deviations of the sample."""


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

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles that belong to standard normal ones."""
        quantiles: NDArray[np.float64] = self.loc + self.scale * np.sinh((z - self.a) / self.b)
        return quantiles

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        y = (x - self.loc) / self.scale
        z = self.a + self.b * np.arcsinh(y)
        normal = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
        density: NDArray[np.float64] = self.b * normal / (self.scale * np.sqrt(1.0 + y**2))
        return density

    @property
    def mean(self) -> float:
        """The mean, in closed form."""
        return float(self.loc - self.scale * np.exp(0.5 / self.b**2) * np.sinh(self.a / self.b))

    def to_json(self) -> dict[str, Any]:
        """Return scipy's parameters with all their digits."""
        return {"a": self.a, "b": self.b, "loc": self.loc, "scale": self.scale}


def fit_johnsonsu(sample: NDArray[np.float64]) -> JohnsonSU:
    """Fit a Johnson SU law to a sample by maximum likelihood.

    Parameters
    ----------
    sample : float64 array, any shape

    Raises
    ------
    DataError
        Fewer than 5 values, all but equal ones, or so many equal ones that the law of greatest
        likelihood is none of them.
    """
    values = np.sort(sample, axis=None)
    if values.size < 5:
        raise DataError(f"{values.size} values are too few for a Johnson SU law; it needs 5.")
    quartiles = np.quantile(values, (0.25, 0.5, 0.75))
    centre, spread = quartiles[1], quartiles[2] - quartiles[0]
    spread = spread or values.std()
    if not spread > 1e-12 * max(abs(centre), 1e-300):
        raise DataError("All times are equal, so no law of their spread can be fitted.")
    x = (values - centre) / spread
    gaps = np.diff(x)
    smallest = max(SMALLEST_SCALE, float(gaps[gaps > 0.0].min()))
    limits = (float(np.log(smallest)), LARGEST_LOG_SCALE)
    results = []
    for quantile, log_scale in STARTS:
        start = (float(np.quantile(x, quantile)), log_scale)
        results.append(
            optimize.minimize(
                profile,
                start,
                args=(x,),
                jac=True,
                method="L-BFGS-B",
                bounds=((None, None), limits),
                options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
            )
        )
    best = min(results, key=lambda result: float(result.fun))
    loc, scale = float(best.x[0]), float(np.exp(best.x[1]))
    z = np.arcsinh((x - loc) / scale)
    b = 1.0 / z.std()
    law = JohnsonSU(
        a=float(-b * z.mean()),
        b=float(b),
        loc=float(centre + spread * loc),
        scale=float(spread * scale),
    )
    with np.errstate(over="ignore"):
        astray = abs(law.mean - values.mean()) / values.std()
    if not astray <= MEAN_TOLERANCE:
        raise DataError(
            "No Johnson SU law describes these times: too few, or too many of them equal "
            f"({values.size} values, {np.unique(values).size} different)."
        )
    return law


def profile(
    point: NDArray[np.float64], x: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative log-likelihood a sample at (loc, log scale), the shape at its best.

    Returns
    -------
    float
        Constants left out.
    float64 array, shape (2,)
        Its gradient.
    """
    scale = np.exp(point[1])
    y = (x - point[0]) / scale
    z = np.arcsinh(y)
    square = 1.0 + y * y
    slope = 1.0 / np.sqrt(square)
    centred = z - z.mean()
    variance = float(np.mean(centred * centred))
    value = 0.5 * np.log(variance) + point[1] + 0.5 * float(np.mean(np.log(square)))
    # y falls by 1/scale with loc and by y with the log of the scale.
    inner = centred * slope / variance + y / square
    gradient = np.array([-np.mean(inner) / scale, 1.0 - np.mean(inner * y)])
    return float(value), gradient
