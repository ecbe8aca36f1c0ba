"""The interface of laws of body times, their likelihood, and the units of a search for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.sample import Sample

SMALLEST_SCALE = 1e-3
"""In interquartile ranges; the smallest gap between two values counts if that is larger. The
likelihood grows without bound as the scale shrinks around a value that occurs twice."""


class Law(Protocol):
    """A law with scipy's parameters, immutable."""

    @property
    def name(self) -> str:
        """The family, as scipy.stats calls it."""

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z))."""

    @property
    def mean(self) -> float:
        """The mean; infinite if the tail is too heavy."""

    @property
    def variance(self) -> float:
        """The variance; infinite if the tail is too heavy."""


def log_likelihood(law: Law, values: NDArray[np.float64] | Sample) -> float:
    """Return the mean of the logarithm of a law's density over a sample, in nats per value.

    Minus infinity if a value lies outside the law's support.
    """
    point, weight = Sample.of(values).nodes()
    return float(np.dot(weight, law.log_pdf(point)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and interquartile range of a sample.

    Attributes
    ----------
    centre : float
        The median.
    unit : float
        The interquartile range; the standard deviation if half of the values are equal.
    smallest_scale : float
        Smallest scale of a law, in units; a narrower law is a spike at equal values.
    """

    centre: float
    unit: float
    smallest_scale: float


def spread_of(sample: Sample, law: str, *, at_least: int) -> Spread:
    """Return the units for a sample.

    Parameters
    ----------
    law : str
        Name of the law with its article, for the message.
    at_least : int
        Number of values that the law needs.

    Raises
    ------
    DataError
        Fewer values, or values that are nearly all equal.
    """
    if sample.size < at_least:
        raise DataError(f"{sample.size} values are too few for {law}; it needs {at_least}.")
    low, centre, high = (float(value) for value in sample.quantile(np.array([0.25, 0.5, 0.75])))
    unit = high - low or sample.std
    if not unit > 1e-12 * max(abs(centre), 1e-300):
        raise DataError("All times are equal, so no law of their spread can be fitted.")
    return Spread(
        centre=centre,
        unit=unit,
        smallest_scale=max(SMALLEST_SCALE, sample.smallest_gap / unit),
    )
