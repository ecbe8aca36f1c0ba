"""The non-central Student t law, fitted by maximum likelihood.

The search has four dimensions. It begins from several starts on coarse bins, and continues from the
best result on finer ones. Its variables are log df, asinh nc,
loc + scale nc and the logarithm of the width scale sqrt(1 + nc^2 / (2 df)): with loc and scale
instead, the likelihood has a narrow ridge along which the search would diverge as nc grows.

With T = (Z + nc) / sqrt(V / df), V chi-squared, the density of T is an integral over sqrt(V), and

    log f(y) = C(df) - (df + 1) / 2 log(1 + y^2 / df) - df nc^2 / (2 (df + y^2)) + log J(m)

    J(m) = integral over v > 0 of v^df exp(-(v - m)^2 / 2),    m = nc y / sqrt(df + y^2)

J depends on y only through m, which lies between -nc and nc, and log J is smooth. It is therefore
integrated at a few dozen m and interpolated. No term cancels or overflows, unlike in the usual sums
of hypergeometric functions. Under the integrand as a density of v, the slope of log J in m is the
mean of v - m, and that in df the mean of log v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, optimize, special

from hindmost.errors import DataError
from hindmost.models.laws.law import Spread, spread_of
from hindmost.models.laws.quantiles import QuantileTable, tabulate
from hindmost.models.laws.sample import Sample

STARTS = ((3.0, 0.0), (3.0, 1.5), (1.0, 1.0), (2.0, 5.0), (20.0, 4.0), (3.0, -1.5))
"""Starts of the search: degrees of freedom and non-centrality; location and scale follow from the
quartiles of the data."""
COARSE = 400
FINE = 4096
"""Bins of the final search; their likelihood equals that of all values to 1e-11 per value."""
DF = (0.05, 1e5)
"""Bounds of df; above them, no sample distinguishes the law from a normal one."""
LARGEST_NC = 60.0
"""Beyond it the law hardly changes: on gamma, exponential and lognormal samples, 240 instead of 60
gained 2e-5 to 4e-5 in log-likelihood per value."""
LARGEST_LOG_WIDTH = 12.0
"""In interquartile ranges."""
NODES = 256
"""Nodes of the trapezoidal rule in log v, which converges exponentially."""
NEGLIGIBLE = 40.0
"""The integral is cut where the logarithm of the integrand is so far below its maximum."""
STEP = 0.3
"""Distance between the m at which log J is integrated."""
DEGREE = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class NonCentralT:
    """A non-central Student t law, with scipy's parameters.

    Attributes
    ----------
    df, nc : float
        Degrees of freedom > 0, and non-centrality.
    loc, scale : float
        In the unit of the data; scale > 0.
    """

    df: float
    nc: float
    loc: float
    scale: float

    JSON = "family=name df nc loc scale"

    @property
    def name(self) -> str:
        """Scipy's name of the family."""
        return "nct"

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""
        y = (np.asarray(x) - self.loc) / self.scale
        of_y = log_density(y.ravel(), self.df, self.nc)
        logarithm: NDArray[np.float64] = of_y.reshape(y.shape) - np.log(self.scale)
        return logarithm

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        density: NDArray[np.float64] = np.exp(self.log_pdf(x))
        return density

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z))."""
        return table_of(self).at_normal(z)

    @property
    def mean(self) -> float:
        """The mean, in closed form; infinite for df <= 1."""
        if self.df <= 1.0:
            return float("inf")
        return float(self.loc + self.scale * self.nc * self._ratio)

    @property
    def variance(self) -> float:
        """The variance, in closed form; infinite for df <= 2."""
        if self.df <= 2.0:
            return float("inf")
        square = self.df * (1.0 + self.nc**2) / (self.df - 2.0)
        return float(self.scale**2 * (square - (self.nc * self._ratio) ** 2))

    @property
    def _ratio(self) -> float:
        """The mean of sqrt(df / V), V chi-squared."""
        half = 0.5 * self.df
        return float(np.sqrt(half) * np.exp(special.gammaln(half - 0.5) - special.gammaln(half)))


@lru_cache(maxsize=64)
def table_of(law: NonCentralT) -> QuantileTable:
    """Integrate the law's density; cached."""
    return tabulate(
        law.log_pdf,
        support=(-np.inf, np.inf),
        centre=law.loc + law.scale * law.nc,
        unit=law.scale,
    )


def fit_nct(sample: NDArray[np.float64] | Sample) -> NonCentralT:
    """Fit a non-central t law by maximum likelihood.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 5 values, values that are nearly all equal, or so many equal values that the
        likelihood grows without bound as the law shrinks around them.
    """
    values = Sample.of(sample)
    spread = spread_of(values, "a non-central t law", at_least=5)
    fine = values.scaled(spread.centre, spread.unit).coarser(FINE)
    coarse = fine.coarser(COARSE)
    found = min(
        (search(coarse, start_at(df, nc, coarse), spread, steps=30) for df, nc in STARTS),
        key=lambda end: end.fun,
    )
    best = search(fine, found.x, spread, steps=300)
    if best.x[3] <= 1e-3 + np.log(spread.smallest_scale):
        raise DataError(
            "No non-central t law describes these times: the likelihood grows without bound as it "
            f"shrinks around equal values ({values.size} values, {np.unique(values.point).size} "
            "different)."
        )
    law = law_at(best.x)
    return NonCentralT(
        df=law.df,
        nc=law.nc,
        loc=spread.centre + spread.unit * law.loc,
        scale=spread.unit * law.scale,
    )


def start_at(df: float, nc: float, sample: Sample) -> NDArray[np.float64]:
    """Return a start: a shape, with the location and width that fit the quartiles."""
    law = law_at(np.array([np.log(df), np.arcsinh(nc), 0.0, 0.0]))
    low, middle, high = law.at_normal(special.ndtri(np.array([0.25, 0.5, 0.75])))
    quartiles = sample.quantile(np.array([0.25, 0.5, 0.75]))
    width = float(quartiles[2] - quartiles[0]) / float(high - low) or 1.0
    return np.array([np.log(df), np.arcsinh(nc), quartiles[1] - width * middle, np.log(width)])


def law_at(place: NDArray[np.float64]) -> NonCentralT:
    """Return the law at a point of the search."""
    df, nc = float(np.exp(place[0])), float(np.sinh(place[1]))
    scale = float(np.exp(place[3]) / np.sqrt(1.0 + 0.5 * nc**2 / df))
    return NonCentralT(df=df, nc=nc, loc=float(place[2]) - scale * nc, scale=scale)


def search(sample: Sample, start: NDArray[np.float64], spread: Spread, *, steps: int) -> Any:
    """Search the four dimensions from one start."""
    point, weight = sample.nodes()
    farthest = float(np.arcsinh(LARGEST_NC))
    return optimize.minimize(
        negative_log_likelihood,
        start,
        args=(point, weight),
        jac=True,
        method="L-BFGS-B",
        bounds=(
            (float(np.log(DF[0])), float(np.log(DF[1]))),
            (-farthest, farthest),
            (None, None),
            (float(np.log(spread.smallest_scale)), LARGEST_LOG_WIDTH),
        ),
        options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": steps},
    )


def negative_log_likelihood(
    place: NDArray[np.float64], x: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative log-likelihood per value at a point of the search, and its slopes.

    Parameters
    ----------
    place : float64 array, shape (4,)
        log df, asinh nc, loc + scale nc, log of the width.
    x, weight : float64 arrays, shape (node,)
        The weights sum to 1.
    """
    law = law_at(place)
    df, nc = law.df, law.nc
    y = (x - law.loc) / law.scale
    value, *slopes = log_density_and_slopes(y, df, nc)
    mean = float(np.dot(weight, value))
    in_y, in_df, in_nc = (np.dot(weight, each) for each in slopes)
    in_log_scale = np.dot(weight, slopes[0] * (nc - y))  # y = (x - place[2]) / scale + nc
    # How log df, nc and log scale change with the variables of the search.
    steep, share = np.cosh(place[1]), 1.0 + 0.5 * nc**2 / df
    of_log_scale = np.array([0.5 * (1.0 - 1.0 / share), -0.5 * nc * steep / (df * share), 0.0, 1.0])
    slope = of_log_scale * (1.0 - in_log_scale)
    slope -= [df * in_df, steep * (in_y + in_nc), -in_y / law.scale, 0.0]
    return float(np.log(law.scale)) - mean, slope


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
