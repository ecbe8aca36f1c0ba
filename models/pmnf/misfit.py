"""Whether a function fits: its distance from the values, beside the scatter of repetitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.text import percent

FAR = 5.0
"""Standard errors of the values by which a function is off, on root mean square, that does not fit.
Repetitions within one run scatter less than runs do, so that a factor of 2 or 3 says little."""
OFF = 0.05
"""Share of a value by which it is off at some point as well: less is accurate enough, however small
the scatter is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """How a function fails to fit.

    Attributes
    ----------
    at : tuple of float
        The point at which it is farthest off, in standard errors.
    off : float
        By how much there, as a share of the value.
    ratio : float
        Root mean square of its distances from the values, in standard errors.
    """

    at: tuple[float, ...]
    off: float
    ratio: float

    def explain(self, parameters: tuple[str, ...]) -> str:
        """Say how far it is off, and where."""
        place = ", ".join(
            f"{name} = {value:.12g}" for name, value in zip(parameters, self.at, strict=True)
        )
        return (
            f"the model does not fit: it is off by {percent(self.off)} at {place}, and on average "
            f"by {self.ratio:.2g} times the standard error of the repetitions"
        )


def misfit(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    fitted: NDArray[np.float64],
    *,
    gamma: float,
    scatter: float,
    coefficients: int,
) -> Misfit | None:
    """Return how a function fails to fit; None where it fits, or nothing was repeated.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
    values, shares, fitted : float64 array, shape (point,)
        Measured values, what they weigh apart from the noise, and the function's.
    gamma : float
        The noise's standard deviation grows like the value to gamma.
    scatter : float
        Standard error of the values, as a share of them; NaN where nothing was repeated.
    coefficients : int
        Of the function.
    """
    free = values.size - coefficients
    if not scatter > 0.0 or free <= 0:
        return None
    level = np.abs(values).mean()
    size = np.abs(values) ** gamma * level ** (1.0 - gamma)
    if not (size > 0.0).all():
        return None
    off = np.sqrt(shares / shares.mean()) * np.abs(fitted - values) / size
    ratio = float(np.sqrt((off**2).sum() / free)) / scatter
    worst = int(off.argmax())
    if ratio < FAR or off[worst] < OFF:
        return None
    of_value = abs(fitted[worst] - values[worst]) / max(abs(values[worst]), np.finfo(float).tiny)
    return Misfit(at=tuple(points[worst].tolist()), off=float(of_value), ratio=ratio)
