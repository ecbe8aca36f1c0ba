"""The noise model: how the variance of a measurement grows with its value.

The standard deviation is taken to grow like the value to gamma: 0 for additive noise, 1 for
multiplicative noise, which run times mostly have, 1/2 for counts of random events. Which of the
three it is, repetitions tell, or the kernels of an experiment together; a lone series does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.search import search
from hindmost.models.pmnf.space import FINE, columns

Array = NDArray[np.float64]

MIN_POOLED = 20
"""Kernels that tell the kind of noise together."""
MIN_REPETITIONS = 3
MAX_ASKED = 400
"""Kernels whose residuals are looked at; more say the same."""
SURE = 3.0
"""Difference in log likelihood from which the kind counts as known."""


class NoiseKind(StrEnum):
    """How the standard deviation grows with the value."""

    ADDITIVE = "additive"
    ROOT = "root"
    MULTIPLICATIVE = "multiplicative"

    @property
    def gamma(self) -> float:
        """The exponent of the value."""
        return {"additive": 0.0, "root": 0.5, "multiplicative": 1.0}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A kind of noise, and how it is known.

    Attributes
    ----------
    kind : NoiseKind
        What fits are weighted by.
    known : bool
        If not, tests must hold under the two kinds that differ most.
    source : str
        Where the knowledge is from, in words.
    """

    kind: NoiseKind
    known: bool
    source: str

    @property
    def tested(self) -> tuple[NoiseKind, ...]:
        """Kinds under which a test must hold."""
        if self.known:
            return (self.kind,)
        return (NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE)

    @property
    def gammas(self) -> tuple[float, ...]:
        """Exponents under which a test must hold."""
        return tuple(kind.gamma for kind in self.tested)


Likelihood = Callable[[Array, Array, Array, NoiseKind], tuple[Array, Array]]
"""Of values, shares and points of kernels without gaps, and a kind of noise: the logarithm of the
likelihood of each kernel's best model, and what that leaves, as a share of the values."""


def given_noise(name: str) -> Noise:
    """Return a noise model that a person names.

    Raises
    ------
    UsageError
        An unknown kind.
    """
    if name not in set(NoiseKind):
        raise UsageError(f"No noise {name!r}; there are {', '.join(NoiseKind)}.")
    return Noise(kind=NoiseKind(name), known=True, source="given")


def from_repetitions(values: NDArray[np.float64]) -> Noise | None:
    """Tell the kind of noise from how far repetitions lie apart.

    Of the kinds, the one under which the logarithms of the spreads, of all points of all kernels,
    vary least about their kernel's median, by Laplace's law, as outliers are among them. It counts
    as known if it is much likelier than the others.
    The spread of a point is that of its shortest half: the narrowest interval that contains more
    than half of its repetitions, so that outliers do not widen it.

    Parameters
    ----------
    values : float64 array, shape (kernel, point, repetition)
        NaN where a repetition is missing.

    Returns
    -------
    Noise or None
        None where fewer than 3 points have 3 repetitions that differ.
    """
    with np.errstate(invalid="ignore"):
        ordered = np.sort(values, axis=2)  # NaN last
        count = np.isfinite(values).sum(axis=2)
        complete = count >= MIN_REPETITIONS
        ends = np.arange(values.shape[2]) + (count // 2)[..., None]
        far_end = np.take_along_axis(ordered, np.minimum(ends, values.shape[2] - 1), axis=2)
        halves = np.where(ends < count[..., None], far_end - ordered, np.inf)
        spread = halves.min(axis=2, initial=np.inf)
        level = np.abs(np.nanmedian(np.where(complete[..., None], values, 0.0), axis=2))
    usable = complete & (spread > 0.0) & (level > 0.0) & np.isfinite(spread)
    usable &= (usable.sum(axis=1) >= 3)[:, None]
    if not usable.any():
        return None
    log_spread = np.log(np.where(usable, spread, 1.0))
    log_level = np.log(np.where(usable, level, 1.0))
    scatter = {}
    for kind in NoiseKind:
        rest = np.where(usable, log_spread - kind.gamma * log_level, np.nan)[usable.any(axis=1)]
        rest -= np.nanmedian(rest, axis=1, keepdims=True)
        scatter[kind] = float(np.nansum(np.abs(rest)))
    used = int(usable.sum())
    likelihood = {kind: -used * np.log(max(value / used, 1e-9)) for kind, value in scatter.items()}
    kind = max(likelihood, key=likelihood.__getitem__)
    second = max(value for other, value in likelihood.items() if other is not kind)
    sure = bool(likelihood[kind] - second >= SURE)
    return Noise(kind=kind, known=sure, source="repetitions")


def of_one_term(
    values: Array, shares: Array, points: Array, kind: NoiseKind
) -> tuple[Array, Array]:
    """Return the likelihood of the best model of one term over one parameter, as `Likelihood`."""
    found = search(
        values,
        shares,
        columns(FINE.exponents, points),
        gamma=kind.gamma,
        penalties=np.array([0.0, 0.0, np.inf]),
    )
    log_rss = found.criterion[:, 0] / points.size
    size = (found.weights * values**2).sum(axis=1)
    likelihood = 0.5 * (np.log(found.weights).sum(axis=1) - found.criterion[:, 0])
    return likelihood, np.sqrt(np.exp(log_rss) / size)


def from_kernels(
    points: Array,
    values: Array,
    shares: Array,
    likelihood_of: Likelihood = of_one_term,
    most: int = MAX_ASKED,
) -> Noise | None:
    """Tell the kind of noise from the residuals of all kernels together.

    The likelihoods of each kernel's best models under each kind are multiplied.

    Parameters
    ----------
    points : float64 array, shape (point,) or (point, parameter)
    values, shares : float64 array, shape (kernel, point)
    likelihood_of : callable
        Of the best models under a kind.
    most : int
        Kernels whose residuals are looked at.

    Returns
    -------
    Noise or None
        None where the kernels are fewer than 20, or leave it open.
    """
    if values.shape[0] < MIN_POOLED:
        return None
    if not (values > 0.0).all():
        return Noise(kind=NoiseKind.ADDITIVE, known=True, source="values that are not above 0")
    some = np.linspace(0, values.shape[0] - 1, min(values.shape[0], most)).astype(int)
    own, noisy = {}, np.ones(some.size, bool)
    for kind in NoiseKind:
        own[kind], left = likelihood_of(values[some], shares[some], points, kind)
        # Counts that a function gives exactly have no noise, and rounding says nothing of it.
        noisy &= left > 1e-6
    if noisy.sum() < MIN_POOLED:
        return None
    likelihood = {kind: float(each[noisy].sum()) for kind, each in own.items()}
    second, best = sorted(NoiseKind, key=likelihood.__getitem__)[1:]
    if likelihood[best] - likelihood[second] < SURE:
        return None
    return Noise(kind=best, known=True, source=f"{noisy.sum()} kernels together")


def unknown_noise(values: NDArray[np.float64]) -> Noise:
    """Return what fits assume where nothing tells the kind: run times, multiplicative noise."""
    positive = bool((values > 0.0).all())
    kind = NoiseKind.MULTIPLICATIVE if positive else NoiseKind.ADDITIVE
    return Noise(kind=kind, known=not positive, source="assumed")
