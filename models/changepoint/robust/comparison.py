"""Welch's test of two levels under serial correlation; needs numba.

The variance of each side is shrunk towards that of all nights (a prior that counts as some nights,
as in empirical Bayes). The standard error of its mean is that of AR(1) noise, and the test never
falls below a share of the noise: real noise wanders, however many nights there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.level import moments_of
from hindmost.models.changepoint.student import two_sided
from hindmost.models.compiled import part


@part
def long_run_factor(nights: int, rho: float) -> float:
    """Return the factor by which AR(1) correlation enlarges the variance of a mean."""
    if rho <= 0.0 or nights < 2:
        return 1.0
    # 1 + 2 sum over k < n of (1 - k / n) rho^k, summed in closed form.
    tail = 2.0 * rho * (1.0 - rho**nights) / (nights * (1.0 - rho) ** 2)
    return (1.0 + rho) / (1.0 - rho) - tail


@part
def mean_error(
    square: float, count: int, sigma: float, rho: float, prior_nights: float
) -> tuple[float, float, float]:
    """Return the squared standard error of a level, its degrees of freedom and the variance.

    Parameters
    ----------
    square : float
        Sum of squares around the level.
    count : int
        Of nights.
    sigma : float
        The expected standard deviation.
    rho, prior_nights : float
    """
    # Posterior mean of the variance, and its degrees of freedom.
    freedom = prior_nights + count - 1.0
    variance = (prior_nights * sigma**2 + square) / freedom
    return variance / count * long_run_factor(count, rho), freedom, variance


@part
def compare(
    y: NDArray[np.float64],
    left: tuple[int, int],
    right: tuple[int, int],
    sigma: NDArray[np.float64],
    rho: float,
    bound: float,
    prior_nights: float,
    wander: float,
) -> tuple[float, float, float, float]:
    """Return the difference of two levels, its standard error, degrees of freedom and p-value.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (night,)
    left, right : (begin, end)
    rho : float
    bound : float
        In standard deviations: farther out is an outlier.
    prior_nights : float
        Nights that the expected variance counts as.
    wander : float
        Standard deviations by which a level may wander. It enlarges the p-value, not the standard
        error.
    """
    sigma_left, sigma_right = sigma[left[0]], sigma[right[0]]
    level, square, count = moments_of(y, left[0], left[1], sigma_left, bound)
    a, freedom_a, variance_a = mean_error(square, count, sigma_left, rho, prior_nights)
    other, square, count = moments_of(y, right[0], right[1], sigma_right, bound)
    b, freedom_b, variance_b = mean_error(square, count, sigma_right, rho, prior_nights)
    # Welch and Satterthwaite: degrees of freedom of a difference with unequal variances.
    freedom = (a + b) ** 2 / (a**2 / freedom_a + b**2 / freedom_b)
    difference = other - level
    error = np.sqrt(a + b)
    plain = two_sided(difference / error, freedom)
    # The same test with levels that wander by a share of the noise.
    a += wander**2 * variance_a
    b += wander**2 * variance_b
    tested = (a + b) ** 2 / (a**2 / freedom_a + b**2 / freedom_b)
    p = two_sided(difference / np.sqrt(a + b), tested)
    # The larger p-value: where the test passes at 1 - level, that interval excludes zero.
    return difference, error, freedom, max(p, plain)
