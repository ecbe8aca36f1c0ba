"""The maximum of P independent times of one law: its mean and variance.

With F the law's cdf, E[max] = integral of x P F^(P-1) f dx (equation 3). In the standard normal
variable z = Phi^-1(F(x)) the integrand is smooth, and its weight falls like a Gaussian at both
ends, for any law. No tail is cut off, unlike with integration over the range of the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

LIMITS = (-14.0, 36.0)


def maximum_moments(
    at_normal: Callable[[NDArray[np.float64]], NDArray[np.float64]], ranks: int
) -> tuple[float, float]:
    """Return mean and variance of the maximum of P independent times.

    Parameters
    ----------
    at_normal : callable
        The law's quantiles at standard normal quantiles: z -> F^-1(Phi(z)).
    ranks : int
        P, at least 1.

    Returns
    -------
    mean, variance : float
    """
    # Gauss-Legendre quadrature in panels of z.
    node, weight = special.roots_legendre(16)
    edges = np.linspace(*LIMITS, 128 + 1)
    half = 0.5 * np.diff(edges)[:, None]
    z = (0.5 * (edges[:-1] + edges[1:])[:, None] + half * node).ravel()
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    # log F, each tail from its own side, so that both keep all digits.
    upper = np.log1p(-special.ndtr(-np.abs(z)))
    log_cdf = np.where(z > 0.0, upper, special.log_ndtr(z))
    # The weight of x is P F^(P-1) phi(z) dz, in logarithms because F^(P-1) underflows.
    log_weight = np.log(ranks) + (ranks - 1) * log_cdf + log_density
    share = np.exp(log_weight) * (half * weight).ravel()
    used = share > 0.0
    x, share = at_normal(z[used]), share[used]
    mean = float(np.sum(x * share))
    return mean, float(np.sum((x - mean) ** 2 * share))
