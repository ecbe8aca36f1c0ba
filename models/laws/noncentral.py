"""The logarithm of the non-central t density and its gradient, fast and accurate in both tails.

With T = (Z + nc) / sqrt(V / df), V chi-squared, the density of T is an integral over sqrt(V), and

    log f(y) = C(df) - (df + 1) / 2 log(1 + y^2 / df) - df nc^2 / (2 (df + y^2)) + log J(m)

    J(m) = integral over v > 0 of v^df exp(-(v - m)^2 / 2),    m = nc y / sqrt(df + y^2)

J depends on y only through m, which lies between -nc and nc, and log J is smooth. It is therefore
integrated at a few dozen m and interpolated. No term cancels or overflows, unlike in the usual sums
of hypergeometric functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, special

NODES = 256
"""Nodes of the trapezoidal rule in log v, which converges exponentially."""
NEGLIGIBLE = 40.0
"""The integral is cut where the logarithm of the integrand is so far below its maximum."""
STEP = 0.3
"""Distance between the m at which log J is integrated."""
DEGREE = 7


def log_density(
    y: NDArray[np.float64], df: float, nc: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the logarithm of the density and its gradient.

    Parameters
    ----------
    y : float64 array, shape (value,)
    df, nc : float
        Degrees of freedom and non-centrality.

    Returns
    -------
    float64 array, shape (value,)
    float64 array, shape (3, value)
        Derivatives by y, df and nc.
    """
    radius = np.hypot(np.sqrt(df), y)
    slant = y / radius
    log_j, excess, log_v = interpolated_moments(df, nc * slant)
    inverse = (1.0 / radius) ** 2
    constant = (
        -0.5 * np.log(2.0 * np.pi * df) - (0.5 * df - 1.0) * np.log(2.0) - special.gammaln(0.5 * df)
    )
    stretch = np.log(radius / np.sqrt(df))
    value = constant - (df + 1.0) * stretch - 0.5 * df * nc**2 * inverse + log_j
    rate = nc * inverse / radius  # dm/dy, without a factor df
    with_y = (df * nc**2 * inverse - (df + 1.0)) * slant / radius + excess * df * rate
    with_df = (
        -0.5 / df
        - 0.5 * np.log(2.0)
        - 0.5 * special.psi(0.5 * df)
        - stretch
        + 0.5 * (df + 1.0) / df * slant**2
        - 0.5 * nc**2 * slant**2 * inverse
        + log_v
        - 0.5 * excess * y * rate
    )
    with_nc = -df * nc * inverse + excess * slant
    return value, np.stack([with_y, with_df, with_nc])


def interpolated_moments(df: float, m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log J, E[v] - m and E[log v] under J's integrand, shape (3, value)."""
    low, high = float(m.min()) - STEP, float(m.max()) + STEP
    grid = np.linspace(low, high, max(2 * DEGREE, int((high - low) / STEP) + 2))
    spline = interpolate.make_interp_spline(grid, moments(df, grid), k=DEGREE, axis=1)
    found: NDArray[np.float64] = spline(m)
    return found


def moments(df: float, m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Integrate log J, E[v] - m and E[log v], shape (3, value), by the trapezoidal rule."""
    root = np.sqrt(m * m + 4.0 * (df + 1.0))
    # The maximum of the integrand in log v: of two equal forms, the one that does not cancel.
    top = np.where(m > 0.0, 0.5 * (m + root), 2.0 * (df + 1.0) / (root - m))

    def integrand(log_v: NDArray[np.float64]) -> NDArray[np.float64]:
        exponent: NDArray[np.float64] = (df + 1.0) * log_v - 0.5 * (np.exp(log_v) - m) ** 2
        return exponent

    high = np.log(top)
    peak = integrand(high)
    # The lower limit, where the integrand becomes negligible, by bisection.
    low = high - 2.0 * NEGLIGIBLE / (df + 1.0) - 12.0 / np.sqrt(df + 1.0)
    for _ in range(16):
        middle = 0.5 * (low + high)
        far = integrand(middle) < peak - NEGLIGIBLE
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    # The upper limit: to the right of the maximum the integrand falls at least like a Gaussian.
    right = np.log(top + np.sqrt(2.0 * NEGLIGIBLE))
    log_v = low + (right - low) * np.linspace(0.0, 1.0, NODES)[:, None]
    share = np.exp(integrand(log_v) - peak)
    total = share.sum(axis=0)
    return np.stack(
        [
            peak + np.log(total * (right - low) / (NODES - 1)),
            (share * np.exp(log_v)).sum(axis=0) / total - m,
            (share * log_v).sum(axis=0) / total,
        ]
    )
