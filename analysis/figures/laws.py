"""Laws that are drawn over a histogram: anything with a name and a density."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.johnsonsu import fit_johnsonsu

Density = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Law(Protocol):
    """What can be drawn over a histogram of times."""

    @property
    def name(self) -> str:
        """The name in the legend."""

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density, in 1/s, at times in seconds."""


@dataclass(frozen=True, slots=True)
class NamedLaw:
    """A density and the name it goes by."""

    name: str
    density: Density

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density, in 1/s, at times in seconds."""
        return self.density(x)


def normal_law(times: NDArray[np.float64]) -> NamedLaw:
    """Return the normal law of the same mean and deviation, for comparison."""
    mean, deviation = float(times.mean()), float(times.std())

    def density(x: NDArray[np.float64]) -> NDArray[np.float64]:
        z = (x - mean) / deviation
        height: NDArray[np.float64] = np.exp(-0.5 * z * z) / (deviation * np.sqrt(2 * np.pi))
        return height

    return NamedLaw("normal", density)


def fitted_laws(times: NDArray[np.float64], *, normal: bool = True) -> list[Law]:
    """Return the laws that times allow: Johnson SU, and a normal one if asked for.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    """
    laws: list[Law] = []
    with suppress(DataError):  # the histogram alone is worth drawing
        laws.append(NamedLaw("Johnson SU", fit_johnsonsu(times).pdf))
    if normal and times.std() > 1e-12 * abs(times.mean()):
        laws.append(normal_law(times))
    return laws
