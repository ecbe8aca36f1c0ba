"""A law of one of scipy's continuous families, with exact quantiles in the far tails.

Densities are scipy's. Quantiles and moments are computed from the density by quadrature: for most
families, scipy's own inverse fails where 1 - F rounds to 0, or searches value by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hindmost.models.laws.maximum import maximum_moments
from hindmost.models.laws.quantiles import QuantileTable, tabulate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScipyLaw:
    """A law of one of scipy's continuous families.

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

    def _frozen(self) -> Any:
        return getattr(stats, self.name)(*self.shape, loc=self.loc, scale=self.scale)

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""
        with np.errstate(all="ignore"):
            logarithm: NDArray[np.float64] = np.asarray(self._frozen().logpdf(x), np.float64)
        return logarithm

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        with np.errstate(all="ignore"):
            density: NDArray[np.float64] = np.asarray(self._frozen().pdf(x), np.float64)
        return density

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
    frozen = law._frozen()
    with np.errstate(all="ignore"):
        low, middle, high = (float(value) for value in frozen.ppf([0.25, 0.5, 0.75]))
    support = tuple(float(bound) for bound in frozen.support())
    return tabulate(law.log_pdf, support=(support[0], support[1]), centre=middle, unit=high - low)
