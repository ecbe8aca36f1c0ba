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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

Values = NDArray[np.float64]

FEWEST_IN_TAIL = 10
"""Excesses that a tail is fitted to, at least; with fewer than 5 values each, none."""
DESCRIBED = 0.23
"""Cramer-von Mises statistic up to which a generalised Pareto law describes excesses: about its 1 %
limit if both parameters are fitted (V. Choulakian and M. A. Stephens, 2001)."""


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

    def rarer(self, factor: float) -> TailedLaw:
        """Return the law of which values in the tail are more or less frequent by a factor.

        Such as of work that takes so much of its time: detours come by the clock, and last as long.
        """
        if self.tail is None or factor == 1.0:
            return self
        share = self.tail.share
        then = min(factor * share, 0.9)
        beyond = special.ndtr(-self.z)
        inside = then + (beyond - share) * (1.0 - then) / (1.0 - share)
        z = -special.ndtri(np.where(beyond <= share, beyond * then / share, inside))
        return replace(self, z=z, tail=replace(self.tail, share=then))


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


def fit_together(
    columns: Sequence[Values], tail_of: Sequence[TailedLaw] | None = None
) -> list[TailedLaw]:
    """Return the laws of several sets of values that have the same tail, each with its own share.

    Such as the local work between events: what delays a rank for long does not depend on what it
    does, and all events together show more of it.

    Parameters
    ----------
    columns : sequence of float64 array
    tail_of : sequence of TailedLaw, optional
        Earlier laws of like sets, whose threshold is that of the tail. None: it is found.
    """
    x = np.sort(np.concatenate([column.ravel() for column in columns]))
    if tail_of is None:
        tail = find_tail(x)
    else:
        known = [law.tail.threshold for law in tail_of if law.tail is not None]
        tail = tail_above(x, known[0]) if known else None
    return [law_of(np.sort(column, axis=None), tail) for column in columns]


def law_of(x: Values, tail: ParetoTail | None) -> TailedLaw:
    """Return the law of ascending values; the tail is that of all, without its share."""
    beyond = 0 if tail is None else int(x.size - np.searchsorted(x, tail.threshold, side="right"))
    if tail is None or not beyond:
        z, quantiles = middle_of(x, 1.0)
        return TailedLaw(z=z, x=quantiles, largest=float(x[-1]), tail=None, size=x.size)
    mine = replace(tail, share=beyond / x.size)
    z, quantiles = middle_of(x, 1.0 - mine.share)
    # A fitted tail ends at one in 10^15.
    further = np.linspace(-special.ndtri(mine.share), 8.0, 256 + 1)[1:]
    return TailedLaw(
        z=np.append(z, further),
        x=np.append(quantiles, mine.beyond(special.ndtr(-further))),
        largest=float(x[-1]),
        tail=mine,
        size=x.size,
    )


def find_tail(x: Values) -> ParetoTail | None:
    """Return the tail of ascending values; None if there are too few of them.

    The law holds the better the higher the threshold. From the highest one on, it is lowered as
    long as the law describes what exceeds it, and has a mean if it had one: where detours and what
    is no detour are taken together, it has none.
    """
    found, in_tail = None, FEWEST_IN_TAIL
    while in_tail <= max(0.1 * x.size, FEWEST_IN_TAIL) and 5 * in_tail <= x.size:
        tail = tail_above(x, float(x[-in_tail - 1]))
        if tail is None or (found is not None and distance(x, tail) > DESCRIBED):
            break
        if found is not None and found.xi < 1.0 <= tail.xi:
            break
        found = tail
        in_tail *= 2
    return found


def tail_above(x: Values, threshold: float) -> ParetoTail | None:
    """Return the tail of ascending values over a threshold; None if too few exceed it."""
    excess = x[np.searchsorted(x, threshold, side="right") :] - threshold
    if excess.size < FEWEST_IN_TAIL // 2:  # equal values reach beyond it
        return None
    xi, sigma = fit_tail(excess)
    return ParetoTail(threshold=threshold, sigma=sigma, xi=xi, share=excess.size / x.size)


def distance(x: Values, tail: ParetoTail) -> float:
    """Return the Cramer-von Mises statistic of ascending values beyond a threshold."""
    excess = x[np.searchsorted(x, tail.threshold, side="right") :] - tail.threshold
    xi, sigma = tail.xi, tail.sigma
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
    knots = np.unique(np.linspace(0, last - 1, min(last, 2048)).astype(np.intp))
    return special.ndtri((knots + 0.5) / x.size), x[knots]
