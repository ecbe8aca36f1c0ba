"""Laws of body times: scipy's continuous families, their quantiles in the far tails, two fits.

Johnson's SU law is X = loc + scale sinh((Z - a) / b) with Z standard normal. Given loc and scale,
the best a and b are in closed form: with z = asinh((x - loc) / scale), b = 1 / sd(z) and a = -b
mean(z). The remaining search has two dimensions.

The search for a non-central t law has four: log df, asinh nc, loc + scale nc and the logarithm of
the width scale sqrt(1 + nc^2 / (2 df)). With loc and scale instead, the likelihood has a narrow
ridge along which the search would diverge as nc grows.

Both begin from several starts on coarse bins, and continue from the best result on finer ones.

The density of the non-central Student t law.

With T = (Z + nc) / sqrt(V / df), V chi-squared, the density of T is an integral over sqrt(V), and

    log f(y) = C(df) - (df + 1) / 2 log(1 + y^2 / df) - df nc^2 / (2 (df + y^2)) + log J(m)

    J(m) = integral over v > 0 of v^df exp(-(v - m)^2 / 2),    m = nc y / sqrt(df + y^2)

J depends on y only through m, which lies between -nc and nc, and log J is smooth. It is therefore
integrated at a few dozen m and interpolated. No term cancels or overflows, unlike in the usual sums
of hypergeometric functions. Under the integrand as a density of v, the slope of log J in m is the
mean of v - m, and that in df the mean of log v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, optimize, special

from hindmost.errors import DataError
from hindmost.models.laws.quantiles import QuantileTable, maximum_moments, tabulate
from hindmost.models.laws.sample import Sample

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


SMALLEST_SCALE = 1e-3
"""In interquartile ranges; the smallest gap between two values counts if that is larger. The
likelihood grows without bound as the scale shrinks around a value that occurs twice."""
LARGEST_LOG_SCALE = 12.0
"""In interquartile ranges; further out a Johnson SU law equals a normal or lognormal one to all
digits."""
COARSE, FINE = 400, 4096
"""Bins on which a search begins and ends; the likelihood of the latter equals that of all values to
1e-11 per value."""
MEAN_TOLERANCE = 0.5
"""Largest difference between the means of law and sample, in standard deviations of the sample."""
STARTS = {
    "johnsonsu": ((0.5, 0.0), (0.5, -2.0), (0.2, -1.0), (0.05, -2.0), (0.8, 0.0)),
    "nct": ((3.0, 0.0), (3.0, 1.5), (1.0, 1.0), (2.0, 5.0), (20.0, 4.0), (3.0, -1.5)),
}
"""Starts of the searches: quantile of the data for loc and log of scale in interquartile ranges, or
df and nc."""
DF = (0.05, 1e5)
"""Bounds of df; above them, no sample distinguishes the law from a normal one."""
LARGEST_NC = 60.0
"""Beyond it the law hardly changes: on gamma, exponential and lognormal samples, 240 instead of 60
gained 2e-5 to 4e-5 in log-likelihood per value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law of one of scipy's continuous families, with exact quantiles in the far tails.

    For most families, scipy's own inverse fails where 1 - F rounds to 0, or searches value by
    value; scipy's density of the non-central t loses its digits in the tails.

    Attributes
    ----------
    name : str
        The family, as in scipy.stats.
    shape : tuple of float
        In scipy's order.
    loc, scale : float
        In the unit of the data; scale > 0.
    """

    name: str
    shape: tuple[float, ...]
    loc: float
    scale: float

    JSON = "family=name **shapes loc scale"

    @property
    def family(self) -> Any:
        """Scipy's family."""
        from scipy import stats  # takes half a second

        return getattr(stats, self.name)

    @property
    def parameters(self) -> tuple[float, ...]:
        """Shape, location and scale in scipy's order."""
        return (*self.shape, self.loc, self.scale)

    @property
    def shapes(self) -> dict[str, float]:
        """The shape parameters by scipy's names."""
        names = (self.family.shapes or "").replace(",", " ").split()
        return dict(zip(names, self.shape, strict=True))

    def log_pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density."""
        x = np.asarray(x, np.float64)
        if self.name == "nct":
            y = (x - self.loc) / self.scale
            of_y = log_density(y.ravel(), *self.shape).reshape(y.shape)
            return np.asarray(of_y - np.log(self.scale))
        with np.errstate(all="ignore"):
            return np.asarray(self.family.logpdf(x, *self.parameters), np.float64)

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        return np.asarray(np.exp(self.log_pdf(x)))

    def at_normal(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at standard normal quantiles: F^-1(Phi(z)).

        Raises
        ------
        DataError
            Scipy's density does not integrate to 1.
        """
        if self.name == "johnsonsu":
            a, b = self.shape
            return np.asarray(self.loc + self.scale * np.sinh((z - a) / b))
        return table_of(self).at_normal(z)

    @property
    def mean(self) -> float:
        """The mean; infinite if a tail is too heavy."""
        return self._moment(0)

    @property
    def variance(self) -> float:
        """The variance; infinite if a tail is too heavy."""
        return self._moment(1)

    def _moment(self, which: int) -> float:
        if self.name in STARTS:  # scipy's are in closed form
            found = float(self.family.stats(*self.parameters, "mv")[which])
            return found if np.isfinite(found) else np.inf
        heavy = table_of(self).tail_index <= which + 1.0
        return np.inf if heavy else maximum_moments(self.at_normal, 1)[which]


def law_of(name: str, *parameters: float) -> Law:
    """Return a law by its parameters in scipy's order."""
    *shape, loc, scale = map(float, parameters)
    return Law(name=name, shape=tuple(shape), loc=loc, scale=scale)


@lru_cache(maxsize=64)
def table_of(law: Law) -> QuantileTable:
    """Integrate a law's density; cached."""
    if law.name == "nct":
        support, middle, unit = (-np.inf, np.inf), law.loc + law.scale * law.shape[1], law.scale
    else:
        with np.errstate(all="ignore"):
            quartiles = law.family.ppf([0.25, 0.5, 0.75], *law.parameters)
        low, middle, high = (float(value) for value in quartiles)
        begin, end = (float(bound) for bound in law.family.support(*law.parameters))
        support, unit = (begin, end), high - low
    return tabulate(law.log_pdf, support=support, centre=middle, unit=unit)


def log_likelihood(law: Law, values: NDArray[np.float64] | Sample) -> float:
    """Return the mean of the logarithm of a law's density over a sample, in nats per value.

    Minus infinity if a value lies outside the law's support.
    """
    point, weight = Sample.of(values).nodes()
    return float(np.dot(weight, law.log_pdf(point)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fitted law and its scores.

    Attributes
    ----------
    law : Law
    squared_error : float
        Mean over the bins of a histogram of the squared difference between its density and the
        law's, times the square of the interquartile range.
    log_likelihood : float
        Mean of the logarithm of the density, in nats per value.
    """

    law: Law
    squared_error: float
    log_likelihood: float

    JSON = "**law squared_error log_likelihood"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and interquartile range of a sample.

    Attributes
    ----------
    centre : float
        The median.
    unit : float
        The interquartile range; the standard deviation if half of the values are equal.
    smallest_scale : float
        Smallest scale of a law, in units; a narrower law is a spike at equal values.
    """

    centre: float
    unit: float
    smallest_scale: float

    def scaled_back(self, name: str, *parameters: float) -> Law:
        """Return the law of the data from that of values in units from the centre."""
        *shape, loc, scale = parameters
        return law_of(name, *shape, self.centre + self.unit * loc, self.unit * scale)


def spread_of(sample: Sample, law: str) -> Spread:
    """Return the units for a sample.

    Parameters
    ----------
    law : str
        Name of the law with its article, for the message.

    Raises
    ------
    DataError
        Fewer than 5 values, or values that are nearly all equal.
    """
    if sample.size < 5:
        raise DataError(f"{sample.size} values are too few for {law}; it needs 5.")
    low, centre, high = (float(value) for value in sample.quantile(np.array([0.25, 0.5, 0.75])))
    unit = high - low or sample.std
    if not unit > 1e-12 * max(abs(centre), 1e-300):
        raise DataError("All times are equal, so no law of their spread can be fitted.")
    return Spread(
        centre=centre,
        unit=unit,
        smallest_scale=max(SMALLEST_SCALE, sample.smallest_gap / unit),
    )


def fit_johnsonsu(sample: NDArray[np.float64] | Sample) -> Law:
    """Fit a Johnson SU law by maximum likelihood.

    Parameters
    ----------
    sample : Sample, or float64 array of any shape

    Raises
    ------
    DataError
        Fewer than 5 values, values that are nearly all equal, or so many equal values that the law
        of maximum likelihood does not describe them.
    """
    values = Sample.of(sample)
    spread = spread_of(values, "a Johnson SU law")
    fine = values.scaled(spread.centre, spread.unit).coarser(FINE)
    starts = [np.array([fine.quantile(share), scale]) for share, scale in STARTS["johnsonsu"]]
    low = float(np.log(spread.smallest_scale))
    loc, log_scale = most_likely(profile, starts, fine, ((None, None), (low, LARGEST_LOG_SCALE)))
    point, weight = fine.nodes()
    z = np.arcsinh((point - loc) / np.exp(log_scale))
    middle = float(weight @ z)
    b = float(weight @ (z - middle) ** 2) ** -0.5
    law = spread.scaled_back("johnsonsu", -b * middle, b, loc, np.exp(log_scale))
    astray = abs(law.mean - values.mean) / values.std
    if not astray <= MEAN_TOLERANCE:
        raise DataError(
            "No Johnson SU law describes these times: that of greatest likelihood has another mean "
            f"({values.size} values, {np.unique(values.point).size} different)."
        )
    return law


def profile(place: NDArray[np.float64], sample: Sample) -> tuple[float, NDArray[np.float64]]:
    """Return the unlikelihood of the best Johnson SU law at (loc, log scale), and its slopes."""
    point, weight = sample.nodes()
    scale = np.exp(place[1])
    y = (point - place[0]) / scale
    z = np.arcsinh(y)
    # - log f without constants: log sd(z) + log scale + mean(log(1 + y^2)) / 2.
    square = 1.0 + y * y
    centred = z - weight @ z
    variance = float(weight @ centred**2)
    cost = 0.5 * np.log(variance) + place[1] + 0.5 * float(weight @ np.log(square))
    # dy/dloc = -1 / scale and dy/dlog(scale) = -y, by the chain rule.
    inner = weight * (centred / np.sqrt(square) / variance + y / square)
    return float(cost), np.array([-inner.sum() / scale, 1.0 - inner @ y])


def fit_nct(sample: NDArray[np.float64] | Sample) -> Law:
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
    spread = spread_of(values, "a non-central t law")
    fine = values.scaled(spread.centre, spread.unit).coarser(FINE)
    far, low = float(np.arcsinh(LARGEST_NC)), float(np.log(spread.smallest_scale))
    place = most_likely(
        nct_cost,
        [nct_start(df, nc, fine) for df, nc in STARTS["nct"]],
        fine,
        (tuple(np.log(DF)), (-far, far), (None, None), (low, LARGEST_LOG_SCALE)),
    )
    if place[3] <= 1e-3 + low:
        raise DataError(
            "No non-central t law describes these times: the likelihood grows without bound as it "
            f"shrinks around equal values ({values.size} values, {np.unique(values.point).size} "
            "different)."
        )
    return spread.scaled_back("nct", *nct_at(place).parameters)


def nct_at(place: NDArray[np.float64]) -> Law:
    """Return the law at a point of the search."""
    df, nc = float(np.exp(place[0])), float(np.sinh(place[1]))
    scale = float(np.exp(place[3]) / np.sqrt(1.0 + 0.5 * nc**2 / df))
    return Law(name="nct", shape=(df, nc), loc=float(place[2]) - scale * nc, scale=scale)


def nct_cost(place: NDArray[np.float64], sample: Sample) -> tuple[float, NDArray[np.float64]]:
    """Return the unlikelihood of a non-central t law at a point of the search, and its slopes."""
    point, weight = sample.nodes()
    law = nct_at(place)
    df, nc = law.shape
    y = (point - law.loc) / law.scale
    value, *slopes = log_density_and_slopes(y, df, nc)
    in_y, in_df, in_nc = (float(weight @ slope) for slope in slopes)
    in_log_scale = float(weight @ (slopes[0] * (nc - y)))  # y = (x - place[2]) / scale + nc
    # How log df, nc and log scale change with the variables of the search.
    steep, share = np.cosh(place[1]), 1.0 + 0.5 * nc**2 / df
    of_log_scale = np.array([0.5 * (1.0 - 1.0 / share), -0.5 * nc * steep / (df * share), 0.0, 1.0])
    slope = of_log_scale * (1.0 - in_log_scale)
    slope -= [df * in_df, steep * (in_y + in_nc), -in_y / law.scale, 0.0]
    return float(np.log(law.scale) - weight @ value), slope


def nct_start(df: float, nc: float, sample: Sample) -> NDArray[np.float64]:
    """Return a start: a shape, with the location and width that fit the quartiles."""
    law = nct_at(np.array([np.log(df), np.arcsinh(nc), 0.0, 0.0]))
    shares = np.array([0.25, 0.5, 0.75])
    low, middle, high = law.at_normal(special.ndtri(shares))
    quartiles = sample.quantile(shares)
    width = float(quartiles[2] - quartiles[0]) / float(high - low) or 1.0
    return np.array([np.log(df), np.arcsinh(nc), quartiles[1] - width * middle, np.log(width)])


def most_likely(
    cost: Callable[[NDArray[np.float64], Sample], tuple[float, NDArray[np.float64]]],
    starts: Sequence[NDArray[np.float64]],
    sample: Sample,
    bounds: Any,
) -> NDArray[np.float64]:
    """Return the place of least cost: the best of several starts, searched for on finer bins."""

    def search(sample: Sample, start: NDArray[np.float64], steps: int) -> Any:
        return optimize.minimize(
            cost,
            start,
            args=(sample,),
            method="L-BFGS-B",
            jac=True,
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": steps},
        )

    coarse = sample.coarser(COARSE)
    best = min((search(coarse, start, 30) for start in starts), key=lambda end: float(end.fun))
    return np.asarray(search(sample, best.x, 300).x)
