"""What every law of body times can do, and how well it describes a sample."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.models.laws.sample import Sample


class Law(Protocol):
    """A law with scipy's parameters, immutable."""

    @property
    def name(self) -> str:
        """The family, as scipy.stats calls it."""

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of no more than x."""

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles that belong to standard normal ones, F^-1(Phi(z))."""

    @property
    def mean(self) -> float:
        """The mean; infinite where the tail is that heavy."""

    @property
    def variance(self) -> float:
        """The variance; infinite where the tail is that heavy."""

    def to_json(self) -> dict[str, Any]:
        """Return the family and scipy's parameters with all their digits."""


def log_likelihood(law: Law, values: NDArray[np.float64] | Sample) -> float:
    """Return the mean of the logarithm of a law's density over a sample, in nats a value.

    Minus infinity where some value lies outside what the law allows.
    """
    point, weight = Sample.of(values).nodes()
    return float(np.dot(weight, law.log_pdf(point)))
