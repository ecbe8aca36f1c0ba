"""Quantiles of a law, computed from the logarithm of its density.

The density is integrated from both ends, panel by panel, in logarithms, so that the far tails keep
their digits: the maximum over many ranks depends on values whose exceedance probability is too
small for 1 - F in float64.

The maximum of P independent times of one law: its mean and variance.

With F the law's cdf, E[max] = integral of x P F^(P-1) f dx (equation 3). In the standard normal
variable z = Phi^-1(F(x)) the integrand is smooth, and its weight falls like a Gaussian at both
ends, for any law. No tail is cut off, unlike with integration over the range of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, special

from hindmost.errors import DataError

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


FINE, FINE_TO = 0.02, 9.0
COARSE, COARSE_TO = 0.25, 680.0
"""Width and limit of the panels, in asinh of the distance from the centre."""
SMALLEST_SLOPE = 1e-200


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileTable:
    """Standard normal quantiles z, and those of the law as asinh((x - centre) / unit).

    Attributes
    ----------
    z, place, slope : float64 arrays, shape (edge,)
        Ascending; slope is d place / d z.
    centre, unit : float
    tail_index : float
        The heavier tail falls like distance^-index; infinite if it falls faster.
    """

    z: NDArray[np.float64]
    place: NDArray[np.float64]
    slope: NDArray[np.float64]
    centre: float
    unit: float
    tail_index: float

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the law's quantiles at standard normal quantiles."""
        curve = interpolate.CubicHermiteSpline(self.z, self.place, self.slope)
        place = curve(np.clip(z, self.z[0], self.z[-1]))
        x: NDArray[np.float64] = self.centre + self.unit * np.sinh(place)
        return x


def tabulate(
    log_pdf: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    support: tuple[float, float],
    centre: float,
    unit: float,
) -> QuantileTable:
    """Integrate a density.

    Parameters
    ----------
    log_pdf : callable
        Of arrays of any shape.
    support : tuple of float
        Bounds of the law, infinite for none.
    centre, unit : float
        Approximate location and width of the law.

    Raises
    ------
    DataError
        The density does not integrate to 1.
    """
    edges = panel_edges(support, centre, unit)
    node, weight = special.roots_legendre(10)
    half = 0.5 * np.diff(edges)[:, None]
    place = edges[:-1, None] + half * (1.0 + node)

    def log_density(at: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            x = np.clip(centre + unit * np.sinh(at), *support)
            found = log_pdf(x) + np.log(unit) + np.log(np.cosh(at))
        finite: NDArray[np.float64] = np.where(np.isfinite(found), found, -np.inf)
        return finite

    # Probability of each panel by Gauss-Legendre quadrature, then sums from either end.
    with np.errstate(divide="ignore"):
        panel = special.logsumexp(log_density(place) + np.log(half * weight), axis=1)
    below = np.concatenate([[-np.inf], np.logaddexp.accumulate(panel)])
    above = np.concatenate([np.logaddexp.accumulate(panel[::-1])[::-1], [-np.inf]])
    if not abs(below[-1]) < 1e-5:
        raise DataError(f"A density integrates to {np.exp(below[-1]):.6g}; it must be 1.")
    # z = Phi^-1(F) from the lower tail, or -Phi^-1(1 - F) from the upper: whichever is smaller.
    z = np.where(
        below < above,
        special.ndtri_exp(np.minimum(below - below[-1], 0.0)),
        -special.ndtri_exp(np.minimum(above - above[0], 0.0)),
    )
    at_edges = log_density(edges)
    # dplace/dz = phi(z) / f, the slope for cubic Hermite interpolation.
    with np.errstate(all="ignore"):
        slope = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - at_edges)
    # Where the density is 0, z is constant: such edges define no quantile.
    usable = np.isfinite(z) & (slope > SMALLEST_SLOPE) & (slope < 1.0 / SMALLEST_SLOPE)
    usable[usable] = np.diff(z[usable], prepend=-np.inf) > 1e-12
    return QuantileTable(
        z=z[usable],
        place=edges[usable],
        slope=slope[usable],
        centre=centre,
        unit=unit,
        tail_index=min(tail_index(-edges[::-1], at_edges[::-1]), tail_index(edges, at_edges)),
    )


def panel_edges(support: tuple[float, float], centre: float, unit: float) -> NDArray[np.float64]:
    """Return the ends of the panels, inside the bounds and close to them."""
    fine = np.arange(-FINE_TO, FINE_TO, FINE)
    # No x beyond 1e290: sums of it must not overflow.
    reach = min(COARSE_TO, float(np.arcsinh(1e290 / max(unit, abs(centre), 1.0))))
    coarse = np.arange(FINE_TO, reach, COARSE)
    edges = [-coarse, fine, coarse]
    for bound, inwards in zip(support, (1.0, -1.0), strict=True):
        if np.isfinite(bound):
            offset = (bound - centre) / unit
            # More panels towards a bound, where densities may be singular.
            edges.append(
                np.arcsinh(offset + inwards * np.append(2.0 ** -np.arange(0.0, 44.0, 0.125), 0.0))
            )
    every = np.unique(np.concatenate(edges))
    low, high = (np.arcsinh((bound - centre) / unit) for bound in support)
    edges_inside: NDArray[np.float64] = every[(every >= low) & (every <= high)]
    return edges_inside


def tail_index(place: NDArray[np.float64], log_density: NDArray[np.float64]) -> float:
    """Return the exponent of the tail, as far out as the density is exact."""
    # The density of the place is that of x times about exp(place).
    # So far out, only tails that fall like a power are above 0; below -650, a density may be
    # subnormal, and its logarithm inexact.
    far = np.flatnonzero((place > 40.0) & (log_density - place > -650.0))
    if far.size < 8:
        return float("inf")
    first, last = far[-5], far[-1]
    return float((log_density[first] - log_density[last]) / (place[last] - place[first]))
