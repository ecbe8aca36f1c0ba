"""Both tails of Student's t law, for compiled loops; import it inside functions.

The regularised incomplete beta function by its continued fraction (Numerical Recipes, section 6.4;
DLMF 8.17.22), evaluated by Lentz's method.
"""

from __future__ import annotations

import math

from hindmost.models.compiled import part

MOST_TERMS = 300
CLOSE = 1e-14
TINY = 1e-300


@part
def beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function."""
    # Lentz: C and D are the ratios of successive numerators and denominators of the convergents.
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > TINY else TINY)
    fraction = d
    for m in range(1, MOST_TERMS):
        # d_(2m), the even coefficient
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 + even * d
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = 1.0 + even / c
        c = c if abs(c) > TINY else TINY
        fraction *= d * c
        # d_(2m+1), the odd one
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 + odd * d
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = 1.0 + odd / c
        c = c if abs(c) > TINY else TINY
        fraction *= d * c
        if abs(d * c - 1.0) < CLOSE:
            break
    return fraction


@part
def two_sided(t: float, freedom: float) -> float:
    """Return the probability of a t statistic at least so far from zero.

    Parameters
    ----------
    t : float
    freedom : float
        Degrees of freedom > 0, whole or not.
    """
    square = t * t
    if square == 0.0:
        return 1.0
    if math.isinf(square):
        return 0.0
    # P(|T| > t) = I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t^2).
    a, b = 0.5 * freedom, 0.5
    x = freedom / (freedom + square)
    y = square / (freedom + square)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    )
    # The fraction converges fast below the mean of the law; above it, take the complement.
    if x < (a + 1.0) / (a + b + 2.0):
        tails: float = front * beta_fraction(a, b, x) / a
    else:
        tails = 1.0 - front * beta_fraction(b, a, y) / b
    return tails
