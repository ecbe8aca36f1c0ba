"""Steps in some series of a panel against the others: the common factor of all is taken away.

Noise that all series of a night share hides a step in some of them from the mean of all. It is
estimated as their median on each night, and subtracted. What is left of a series around each night
is compared by its means before and after, in standard errors z, and the series are combined by the
mixture likelihood of Zhang and Siegmund (Biometrika 97 (2010)) and Xie and Siegmund (Annals of
Statistics 41 (2013)): sum over series of log(1 - p0 + p0 exp(z^2 / 2)), where a share p0 steps.

The series stay dependent. The null distribution of the largest sum over all nights is therefore
that of the same data in blocks of nights in random order, all series together, after the step is
taken away; Gumbel's law with their mean and variance gives the p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALPHA = 1e-4
"""Significance level of a step in a panel; the p-value is that of all nights together."""
WINDOW = 20
"""Nights before and after, at most, that are compared."""
FEWEST = 5
"""Nights with results on either side without which a series says nothing."""
FEWEST_SERIES = 8
"""Series without which their median is no common factor."""
FEWEST_NIGHTS = 60
"""Nights whose blocks can be put in another order."""
STEPPED = 0.2
"""The share p0 of the series that step."""
ORDERS = 60
"""Random orders of the blocks."""
BLOCK = 10
"""Nights in a block."""
MOST_STEPS = 5
FAR = 4.0
"""Standard deviations beyond which a night counts as that far."""
LARGEST = 60.0
"""Largest squared standard errors that count, so that the sum stays finite."""
LIKELY = 3.0
"""Logarithm of the likelihood by which a likely place is less likely than the best."""
SEED = 1
MOST_CORRELATION = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastStep:
    """A step in some series of a panel.

    Attributes
    ----------
    index : int
        The first night of the new level.
    interval : (int, int)
        The nights around it that are nearly as likely.
    p_value : float
        Of the largest sum over all nights.
    """

    index: int
    interval: tuple[int, int]
    p_value: float


def find_contrast_steps(
    scaled: NDArray[np.float64], correlations: NDArray[np.float64]
) -> tuple[ContrastStep, ...]:
    """Find the steps in some series against the others, the most certain first.

    Parameters
    ----------
    scaled : float64 array, shape (series, night)
        Differences from the level in standard deviations; NaN without a result.
    correlations : float64 array, shape (series,)
        AR(1) coefficients.
    """
    known = np.isfinite(scaled).any(axis=1)
    scaled, correlations = scaled[known], correlations[known]
    if scaled.shape[0] < FEWEST_SERIES or scaled.shape[1] < FEWEST_NIGHTS:
        return ()
    measured = np.isfinite(scaled)
    rest = without_common(scaled, measured)
    rho = np.clip(correlations, 0.0, MOST_CORRELATION)[:, None]
    inflation = np.sqrt((1.0 + rho) / (1.0 - rho))
    random = np.random.default_rng(SEED)
    steps: list[ContrastStep] = []
    while len(steps) < MOST_STEPS:
        sums = mixture_sums(rest, measured, inflation)
        place = int(sums.argmax())
        following = rest.copy()
        for side in (slice(0, place), slice(place, None)):
            count = np.maximum(measured[:, side].sum(axis=1), 1)
            following[:, side] -= (rest[:, side].sum(axis=1) / count)[:, None]
        following[~measured] = 0.0
        largest = [
            mixture_sums(following[:, order], measured[:, order], inflation).max()
            for order in block_orders(scaled.shape[1], random)
        ]
        p_value = gumbel_tail(float(sums[place]), np.array(largest))
        if p_value > ALPHA:
            break
        likely = np.flatnonzero(sums < sums[place] - LIKELY)
        first = likely[likely < place].max(initial=-1) + 1
        last = likely[likely > place].min(initial=sums.size) - 1
        steps.append(ContrastStep(index=place, interval=(int(first), int(last)), p_value=p_value))
        rest = following
    return tuple(steps)


def without_common(scaled: NDArray[np.float64], measured: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the series without their median on each night, scaled again; 0 without a result."""
    rest = scaled - np.nanmedian(scaled, axis=0)
    middle = np.nanmedian(rest, axis=1, keepdims=True)
    scale = 1.4826 * np.nanmedian(np.abs(rest - middle), axis=1, keepdims=True)
    rest = np.clip(np.where(measured, rest, 0.0) / np.maximum(scale, 0.1), -FAR, FAR)
    # The median of few series is noisy, and all of them share its noise.
    common = rest.sum(axis=0) / np.maximum(measured.sum(axis=0), 1)
    return np.where(measured, rest - common, 0.0)


def mixture_sums(
    rest: NDArray[np.float64], measured: NDArray[np.bool_], inflation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum over series at every night, shape (night,); 0 near both ends."""
    nights = rest.shape[1]
    zero = np.zeros((rest.shape[0], 1))
    total = np.concatenate([zero, np.cumsum(rest, axis=1)], axis=1)
    count = np.concatenate([zero, np.cumsum(measured, axis=1)], axis=1)
    places = np.arange(FEWEST, nights - FEWEST + 1)
    begin, end = np.maximum(places - WINDOW, 0), np.minimum(places + WINDOW, nights)
    before, after = count[:, places] - count[:, begin], count[:, end] - count[:, places]
    enough = np.minimum(before, after) >= FEWEST
    before, after = np.maximum(before, 1.0), np.maximum(after, 1.0)
    rise = (total[:, end] - total[:, places]) / after - (
        total[:, places] - total[:, begin]
    ) / before
    z = np.where(enough, rise / np.sqrt(1.0 / before + 1.0 / after) / inflation, 0.0)
    terms = np.log1p(STEPPED * np.expm1(0.5 * np.minimum(z * z, LARGEST)))
    sums = np.zeros(nights)
    sums[places] = terms.sum(axis=0)
    return sums


def block_orders(nights: int, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return the nights in `ORDERS` random orders of their blocks."""
    orders = []
    for _ in range(ORDERS):
        cuts = np.arange(int(random.integers(1, BLOCK + 1)), nights, BLOCK)
        blocks = np.split(np.arange(nights), cuts)
        orders.append(np.concatenate([blocks[i] for i in random.permutation(len(blocks))]))
    return orders


def gumbel_tail(value: float, maxima: NDArray[np.float64]) -> float:
    """Return the probability of a maximum at least as large, by Gumbel's law of the moments."""
    scale = max(float(maxima.std(ddof=1)) * math.sqrt(6.0) / math.pi, 1e-9)
    place = float(maxima.mean()) - np.euler_gamma * scale
    return -math.expm1(-math.exp(min((place - value) / scale, 50.0)))
