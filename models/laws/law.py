"""The interface of laws of body times, and their likelihood."""

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

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z))."""

    @property
    def mean(self) -> float:
        """The mean; infinite if the tail is too heavy."""

    @property
    def variance(self) -> float:
        """The variance; infinite if the tail is too heavy."""

    def to_json(self) -> dict[str, Any]:
        """Return the family and scipy's parameters with all their digits."""


def log_likelihood(law: Law, values: NDArray[np.float64] | Sample) -> float:
    """Return the mean of the logarithm of a law's density over a sample, in nats per value.

    Minus infinity if a value lies outside the law's support.
    """
    point, weight = Sample.of(values).nodes()
    return float(np.dot(weight, law.log_pdf(point)))
