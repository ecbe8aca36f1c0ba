"""A law of recorded values with a fitted tail: what was seen in the middle, Pareto beyond.

A maximum over thousands of ranks needs values that are rarer than any in a short recording. Above
a high threshold, the excesses of nearly any law tend to a generalised Pareto law (J. Pickands,
1975)::

    P(X > t + y | X > t) = (1 + xi y / sigma)^(-1 / xi)

Below the threshold the recorded quantiles are kept. xi and sigma are found by the quasi-Bayesian
estimator of J. Zhang and M. A. Stephens (2009), which has no restriction on xi and needs no search.
With xi >= 1 the law has no mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Values = NDArray[np.float64]

TAIL_SHARES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Shares of the values that may be the tail; the largest is taken that the law describes."""
FEWEST_IN_TAIL = 20
"""Excesses that a tail is fitted to; if there are too few values for them, there is no tail."""
DESCRIBED = 0.15
"""Cramer-von Mises statistic up to which a generalised Pareto law describes excesses: about its 5 %
limit if both parameters are fitted (V. Choulakian and M. A. Stephens, 2001)."""
MOST_KNOTS = 2048
"""Quantiles that the middle is kept as."""
FURTHEST_Z = 8.0
"""Standard normal quantile at which a fitted tail ends: one in 10^15."""
TAIL_KNOTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoTail:
    """The excesses over a threshold.

    Attributes
    ----------
    threshold, sigma : float
        In the unit of the values.
    xi : float
        Tail index: 0 for exponential tails, below it for bounded ones.
    share : float
        Of the values that exceed the threshold.
    """

    threshold: float
    sigma: float
    xi: float
    share: float

    @property
    def has_mean(self) -> bool:
        """Whether the law has a finite mean."""
        return self.xi < 1.0

    def beyond(self, exceeding: Values) -> Values:
        """Return the values that are exceeded with some probabilities, at most `share`."""
        ratio = np.log(self.share / exceeding)
        if abs(self.xi) < 1e-9:
            return np.asarray(self.threshold + self.sigma * ratio)
        return np.asarray(self.threshold + self.sigma * np.expm1(self.xi * ratio) / self.xi)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailedLaw:
    """A law as a table of quantiles.

    Attributes
    ----------
    z, x : float64 array, shape (knot,)
        Standard normal quantiles and those of the law, ascending.
    largest : float
        The largest recorded value; the table may go beyond it.
    tail : ParetoTail or None
        None if there are too few values for one.
    size : int
        Number of recorded values.
    """

    z: Values
    x: Values
    largest: float
    tail: ParetoTail | None
    size: int

    def at_normal(self, z: Values) -> Values:
        """Return the law's quantiles at standard normal quantiles."""
        return np.interp(z, self.z, self.x)

    @property
    def constant(self) -> bool:
        """Whether all values are equal."""
        return bool(self.x[0] == self.x[-1])

    def capped(self) -> TailedLaw:
        """Return the law without values that exceed the largest recorded one."""
        return TailedLaw(
            z=self.z,
            x=np.minimum(self.x, self.largest),
            largest=self.largest,
            tail=None,
            size=self.size,
        )


def fit_tail(excess: Values) -> tuple[float, float]:
    """Fit a generalised Pareto law to excesses over a threshold.

    Parameters
    ----------
    excess : float64 array, shape (excess,)
        Ascending, above 0.

    Returns
    -------
    xi, sigma : float
    """
    count = excess.size
    knots = 30 + int(count**0.5)
    place = np.arange(1, knots + 1, dtype=np.float64)
    # In units of the quartile, so that nothing underflows.
    unit = float(excess[int(count / 4 + 0.5) - 1])
    excess = excess / unit
    theta = 1.0 / excess[-1] + (1.0 - np.sqrt(knots / (place - 0.5))) / 3.0
    theta = np.where(np.abs(theta) < 1e-12, 1e-12, theta)
    xi = np.log1p(-theta[:, None] * excess).mean(axis=1)
    likelihood = count * (np.log(-theta / xi) - xi - 1.0)
    weight = np.exp(likelihood - likelihood.max())
    best = float(theta @ weight / weight.sum())
    found = float(np.log1p(-best * excess).mean())
    return found, -unit * found / best


def fit_tailed(values: Values) -> TailedLaw:
    """Return the law of some values, of any shape and order."""
    x = np.sort(values, axis=None)
    count = x.size
    tail = find_tail(x)
    z, quantiles = middle_of(x, 1.0 if tail is None else 1.0 - tail.share)
    if tail is not None:
        further = np.linspace(-special.ndtri(tail.share), FURTHEST_Z, TAIL_KNOTS + 1)[1:]
        z = np.append(z, further)
        quantiles = np.append(quantiles, tail.beyond(special.ndtr(-further)))
    return TailedLaw(z=z, x=quantiles, largest=float(x[-1]), tail=tail, size=count)


def find_tail(x: Values) -> ParetoTail | None:
    """Return the tail of sorted values from the lowest threshold above which one is described.

    If none is, that of the highest threshold; None if there are too few values.
    """
    found = None
    for share in TAIL_SHARES:
        in_tail = round(share * x.size)
        if in_tail < FEWEST_IN_TAIL:
            break
        threshold = float(x[-in_tail - 1])
        excess = x[-in_tail:] - threshold
        excess = excess[excess > 0.0]  # values that equal the threshold are no excesses
        if excess.size < FEWEST_IN_TAIL // 2:
            break
        xi, sigma = fit_tail(excess)
        found = ParetoTail(threshold=threshold, sigma=sigma, xi=xi, share=excess.size / x.size)
        if distance(excess, xi, sigma) <= DESCRIBED:
            break
    return found


def distance(excess: Values, xi: float, sigma: float) -> float:
    """Return the Cramer-von Mises statistic of ascending excesses against their law."""
    inside = np.maximum(1.0 + xi * excess / sigma, 1e-300)
    law = -np.expm1(-np.log(inside) / xi) if abs(xi) > 1e-9 else -np.expm1(-excess / sigma)
    middle = (np.arange(excess.size) + 0.5) / excess.size
    return float(np.sum((law - middle) ** 2) + 1.0 / (12.0 * excess.size))


def middle_of(x: Values, up_to: float) -> tuple[Values, Values]:
    """Return normal quantiles and values of the lower part of sorted values.

    Parameters
    ----------
    x : float64 array, shape (value,)
        Ascending.
    up_to : float
        Share of the values.
    """
    last = max(round(up_to * x.size), 1)
    knots = np.unique(np.linspace(0, last - 1, min(last, MOST_KNOTS)).astype(np.intp))
    return special.ndtri((knots + 0.5) / x.size), x[knots]
