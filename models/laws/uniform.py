"""The uniform law; the one of maximum likelihood spans the smallest to the largest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.models.laws.sample import Sample
from hindmost.models.laws.units import spread_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """A uniform law, with scipy's parameters.

    Attributes
    ----------
    loc, scale : float
        Lower end and width, in the unit of the data; scale > 0.
    """

    loc: float
    scale: float

    @property
    def name(self) -> str:
        """Scipy's name of the family."""
        return "uniform"

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density, minus infinity outside."""
        # Compared with both ends, because (x - loc) / scale may round to more than 1.
        inside = (x >= self.loc) & (x <= self.loc + self.scale)
        return np.where(inside, -np.log(self.scale), -np.inf)

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        density: NDArray[np.float64] = np.exp(self.log_pdf(x))
        return density

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z))."""
        quantiles: NDArray[np.float64] = self.loc + self.scale * special.ndtr(z)
        return quantiles

    @property
    def mean(self) -> float:
        """The middle."""
        return self.loc + 0.5 * self.scale

    @property
    def variance(self) -> float:
        """The variance."""
        return self.scale**2 / 12.0

    def to_json(self) -> dict[str, Any]:
        """Return scipy's parameters with all their digits."""
        return {"family": self.name, "loc": self.loc, "scale": self.scale}


def fit_uniform(sample: NDArray[np.float64] | Sample) -> Uniform:
    """Fit a uniform law by maximum likelihood.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 2 values, or values that are nearly all equal.
    """
    values = Sample.of(sample)
    spread_of(values, "a uniform law", at_least=2)
    width = values.largest - values.smallest
    if values.smallest + width < values.largest:
        width = float(np.nextafter(width, np.inf))
    return Uniform(loc=values.smallest, scale=width)
