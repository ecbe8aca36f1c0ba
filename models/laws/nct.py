"""The density of the non-central Student t law.

With T = (Z + nc) / sqrt(V / df), V chi-squared, the density of T is an integral over sqrt(V), and

    log f(y) = C(df) - (df + 1) / 2 log(1 + y^2 / df) - df nc^2 / (2 (df + y^2)) + log J(m)

    J(m) = integral over v > 0 of v^df exp(-(v - m)^2 / 2),    m = nc y / sqrt(df + y^2)

J depends on y only through m, which lies between -nc and nc, and log J is smooth. It is therefore
integrated at a few dozen m and interpolated. No term cancels or overflows, unlike in the usual sums
of hypergeometric functions. Under the integrand as a density of v, the slope of log J in m is the
mean of v - m, and that in df the mean of log v.
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


def log_density(y: NDArray[np.float64], df: float, nc: float) -> NDArray[np.float64]:
    """Return the logarithm of the density, shape (value,), of degrees of freedom df."""
    return log_density_and_slopes(y, df, nc)[0]


def log_density_and_slopes(
    y: NDArray[np.float64], df: float, nc: float
) -> tuple[NDArray[np.float64], ...]:
    """Return log f and its slopes in y, df and nc, each of shape (value,)."""
    radius = np.hypot(np.sqrt(df), y)
    sine, cosine = y / radius, np.sqrt(df) / radius
    m = nc * sine
    low, high = float(m.min()) - STEP, float(m.max()) + STEP
    grid = np.linspace(low, high, max(2 * DEGREE, int((high - low) / STEP) + 2))
    found = interpolate.make_interp_spline(grid, integral(df, grid), k=DEGREE)(m)
    log_j, in_m, in_df = np.asarray(found, np.float64).T
    constant = (
        -0.5 * np.log(2.0 * np.pi * df) - (0.5 * df - 1.0) * np.log(2.0) - special.gammaln(0.5 * df)
    )
    stretch = np.log(radius / np.sqrt(df))
    value = constant - (df + 1.0) * stretch - 0.5 * (nc * cosine) ** 2 + log_j
    in_y = (sine * ((nc * cosine) ** 2 - (df + 1.0)) + in_m * nc * cosine**2) / radius
    of_constant = -0.5 * (1.0 / df + np.log(2.0) + special.digamma(0.5 * df))
    in_df = in_df + of_constant - stretch - 0.5 * y * in_y / df
    return value, in_y, in_df, in_m * sine - nc * cosine**2


def integral(df: float, m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log J and its slopes in m and df, shape (value, 3), by the trapezoidal rule."""
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
    v = np.exp(log_v)
    density = np.exp((df + 1.0) * log_v - 0.5 * (v - m) ** 2 - peak)
    total = density.sum(axis=0)
    log_j = peak + np.log(total * (right - low) / (NODES - 1))
    means = [np.einsum("ij,ij->j", density, each) / total for each in (v, log_v)]
    return np.stack([log_j, means[0] - m, means[1]], axis=1)
