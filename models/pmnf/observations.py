"""Measurements as fits take them: one value a point, what it weighs, and the kind of noise.

Single values far from both of their neighbours, which agree with each other.

Something else was measured there: another unit, another machine, a disturbed run. One such value
sways every fit, as far as a constant for what grows. So it is left out and named, unless it was
repeated or points would become too few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from hindmost.errors import DataError
from hindmost.models.pmnf.noise import (
    MIN_REPETITIONS,
    Noise,
    NoiseKind,
    from_kernels,
    from_repetitions,
    given_noise,
    unknown_noise,
)

LONE = 10.0
"""Ratio of a value to what its neighbours suggest, from which something else was measured."""


def lone_ratios(table: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the values that are far from what their neighbours suggest, by power laws between them.

    Over several parameters, neighbours are those on the lines along which only one parameter
    changes; a value that is like its neighbours along any line is not alone, nor is the end of a
    line that continues what the two points before it suggest.

    Parameters
    ----------
    table : float64 array, shape (point, parameter)
    values : float64 array, shape (kernel, point)
        Those that are not above 0 have no ratio, nor have their neighbours.

    Returns
    -------
    float64 array, shape (kernel, point)
        The ratio to what the neighbours suggest; NaN of values that are not alone.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.where(values > 0.0, np.log(values), np.nan)
    off = np.full(values.shape, np.nan)
    usual = np.zeros(values.shape, bool)
    for axis in range(table.shape[1]):
        for line in lines_along(table, axis):
            x, inner = np.log(table[line, axis]), line[1:-1]
            before, after = y[:, line[:-2]], y[:, line[2:]]
            part = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
            here = y[:, inner] - (before + part * (after - before))
            alone = (np.abs(here) > np.log(LONE)) & (np.abs(after - before) < 0.5 * np.abs(here))
            usual[:, inner] |= ~alone
            off[:, inner] = np.where(alone, here, off[:, inner])
            for end, one, two in ((0, 1, 2), (-1, -2, -3)):
                slope = (y[:, line[one]] - y[:, line[two]]) / (x[one] - x[two])
                beyond = y[:, line[end]] - (y[:, line[one]] + slope * (x[end] - x[one]))
                usual[:, line[end]] |= np.abs(beyond) <= np.log(LONE)
    off[usual] = np.nan
    # Where more than one in six is alone, the series jumps to and fro.
    many = np.isfinite(off).sum(axis=1) > max(1, table.shape[0] // 6)
    off[many] = np.nan
    return np.asarray(np.exp(off))


def lines_along(table: NDArray[np.float64], axis: int) -> list[NDArray[np.intp]]:
    """Return the numbers of the points on each line along a parameter, in ascending order."""
    others = np.delete(table, axis, axis=1)
    which = np.zeros(table.shape[0], np.intp)
    if others.shape[1]:
        which = np.unique(others, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((table[:, axis], which))
    borders = np.flatnonzero(np.diff(which[order])) + 1
    return [line for line in np.split(order, borders) if line.size >= 4]


def to_leave_out(
    table: NDArray[np.float64],
    ratios: NDArray[np.float64],
    values: NDArray[np.float64],
    repetitions: NDArray[np.intp],
    *,
    enough: int,
    least: int,
) -> NDArray[np.bool_]:
    """Say which lone values are left out: bool array, shape (kernel, point).

    Parameters
    ----------
    ratios, values : float64 array, shape (kernel, point)
    repetitions : int array, shape (kernel, point)
    enough : int
        Repetitions that show that a value is as it is.
    least : int
        Values of each parameter that must be left.
    """
    out = np.isfinite(ratios) & (repetitions < enough)
    for kernel in np.flatnonzero(out.any(axis=1)):
        left = table[~out[kernel] & np.isfinite(values[kernel])]
        if any(np.unique(column).size < least for column in left.T):
            out[kernel] = False
    return out


MIN_POINTS = 5
"""Points that a model needs (Calotoiu et al. 2013)."""
FAR = 7.0
"""Median deviations of repetitions, beyond which one is an outlier."""
SIZES, LARGEST_POINT = (1e-100, 1e100), 1e30
"""Of values and points whose powers are numbers yet."""
DOUBT = 0.01
"""What a point weighs whose repetitions do not say which of them are the outliers."""

Pool = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], Noise | None]
"""Of points, values and shares of kernels without gaps: the kind of noise, if they tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Measurements of many kernels at the same points.

    Attributes
    ----------
    points : float64 array, shape (point,) or (point, parameter)
        In the order given.
    values : float64 array, shape (kernel, point)
        NaN where a kernel has no measurement, or a lone one that is left out.
    shares : float64 array, shape (kernel, point)
        What a point weighs apart from the noise model; 0 where there is no measurement.
    noise : Noise
    lone : float64 array, shape (kernel, point)
        Of values far from their neighbours, the ratio to what those suggest; else NaN.
    scatter : float
        Standard error of the values, as a share of them or of their series' mean, as repetitions
        tell it; 0 without repetitions.
    own_scatter : float64 array, shape (kernel,), or None
        The same of each kernel alone; NaN of one that was not repeated.
    own_spread : float64 array, shape (kernel,), or None
        The standard deviation of a single repetition in place of the standard error.
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    shares: NDArray[np.float64]
    noise: Noise
    lone: NDArray[np.float64]
    scatter: float = 0.0
    own_scatter: NDArray[np.float64] | None = None
    own_spread: NDArray[np.float64] | None = None

    @property
    def table(self) -> NDArray[np.float64]:
        """The points with a column for each parameter: float64 array, shape (point, parameter)."""
        return self.points.reshape(self.points.shape[0], -1)

    def part(
        self, kernels: slice | NDArray[np.intp], points: slice | NDArray[np.intp] = slice(None)
    ) -> Observations:
        """Return those of some kernels at some points."""
        return replace(
            self,
            points=self.points[points],
            values=self.values[kernels][:, points],
            shares=self.shares[kernels][:, points],
            lone=self.lone[kernels][:, points],
            own_scatter=None if self.own_scatter is None else self.own_scatter[kernels],
            own_spread=None if self.own_spread is None else self.own_spread[kernels],
        )


def observe(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    noise: str | None = None,
    *,
    pool: Pool | None = None,
) -> Observations:
    """Check measurements, join repetitions, and leave out lone values.

    Parameters
    ----------
    points : float64 array, shape (point,) or (point, parameter)
        Values of the parameters, above 0.
    values : float64 array, shape (point,), (kernel, point) or (kernel, point, repetition)
        NaN where a measurement is missing.
    noise : str, optional
        ``additive``, ``root`` or ``multiplicative``; if not given, repetitions or the kernels
        together tell it.
    pool : callable, optional
        How the kernels together tell it; by default as those over one parameter do.

    Raises
    ------
    DataError
        Shapes that do not match, points that are not above 0 or not apart, values that are
        infinite, or not above 0 where the noise is said to be multiplicative.
    UsageError
        An unknown kind of noise.
    """
    points, values = checked(points, values)
    kind = given_noise(noise) if noise is not None else from_repetitions(values)
    one, shares = join_repetitions(values, kind.kind if kind else NoiseKind.MULTIPLICATIVE)
    table = points.reshape(points.shape[0], -1)
    lone = lone_ratios(table, one)
    if kind is None or kind.kind.gamma > 0.0:
        count = np.isfinite(values).sum(axis=2)
        out = to_leave_out(table, lone, one, count, enough=MIN_REPETITIONS, least=MIN_POINTS)
        one, shares = np.where(out, np.nan, one), np.where(out, 0.0, shares)
    complete = np.isfinite(one).all(axis=1)
    if kind is None:
        kind = (pool or from_kernels)(points, one[complete], shares[complete])
    if kind is None:
        kind = unknown_noise(one[np.isfinite(one)])
    if kind.kind.gamma > 0.0 and (one <= 0.0).any():
        kernel, point = (int(index) for index in np.argwhere(one <= 0.0)[0])
        raise DataError(
            f"Kernel {kernel} has the value {one[kernel, point]:g} at point {points[point]}; "
            f"under {kind.kind} noise values are above 0: leave it out, or say noise 'additive'."
        )
    scatter, own_scatter, own_spread = standard_errors(values, kind.kind)
    return Observations(
        points=points,
        values=one,
        shares=shares,
        noise=kind,
        lone=lone,
        scatter=scatter,
        own_scatter=own_scatter,
        own_spread=own_spread,
    )


def checked(
    points: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points as they are and values of shape (kernel, point, repetition)."""
    points = np.asarray(points, np.float64)
    values = np.asarray(values, np.float64)
    if values.ndim == 1:
        values = values[None]
    if values.ndim == 2:
        values = values[..., None]
    if points.ndim not in (1, 2) or values.ndim != 3 or values.shape[1] != points.shape[0]:
        raise DataError(
            f"Points of shape {points.shape} and values of shape {values.shape}; values must be "
            "(point,), (kernel, point) or (kernel, point, repetition) with as many points."
        )
    if not (np.isfinite(points).all() and (points > 0.0).all()):
        raise DataError("A point is not above 0; terms have logarithms: leave it out.")
    if np.unique(points, axis=0).shape[0] != points.shape[0]:
        raise DataError("A point is there twice; give its measurements as repetitions.")
    if points.ndim == 1 and (np.diff(points) < 0.0).any():
        raise DataError("The points are not in ascending order; sort them and their values.")
    if np.isinf(values).any():
        raise DataError("A value is infinite; leave it out (NaN).")
    size = np.abs(values[np.isfinite(values) & (values != 0.0)])
    least, most = (size.min(), size.max()) if size.size else (1.0, 1.0)
    if points.max() > LARGEST_POINT or least < SIZES[0] or most > SIZES[1]:
        raise DataError(
            f"Values from {least:g} to {most:g} at points up to {points.max():g}; values must lie "
            f"between {SIZES[0]:g} and {SIZES[1]:g}, points below {LARGEST_POINT:g}: take other "
            "units."
        )
    return points, values


def medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of each point's repetitions, NaN where there are none.

    Parameters
    ----------
    values : float64 array, shape (kernel, point, repetition)

    Returns
    -------
    float64 array, shape (kernel, point)
    """
    there = np.isfinite(values)
    count = there.sum(axis=2)
    ordered = np.sort(np.where(there, values, np.inf), axis=2)
    low = np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0)[..., None], 2)
    high = np.take_along_axis(ordered, (count // 2)[..., None] % values.shape[2], 2)
    return np.where(count > 0, 0.5 * (low + high)[..., 0], np.nan)


def standard_errors(
    values: NDArray[np.float64], kind: NoiseKind
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return how far repetitions, and their means, scatter: the typical point's, as a share.

    Parameters
    ----------
    values : float64 array, shape (kernel, point, repetition)
    kind : NoiseKind

    Returns
    -------
    of_all : float
        Standard error of the means; 0 where no point was repeated.
    of_each : float64 array, shape (kernel,)
        That of each kernel; NaN of one none of whose points was repeated.
    of_single : float64 array, shape (kernel,)
        Standard deviation of a single repetition.
    """
    there = np.isfinite(values)
    count = there.sum(axis=2)
    free = np.maximum(count - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, values, 0.0).sum(axis=2) / count
        off = np.where(there, values - mean[..., None], 0.0)
        whole = np.nanmean(np.abs(mean), axis=1, keepdims=True)
        size = np.abs(mean) ** kind.gamma * whole ** (1.0 - kind.gamma)
        # The median of a variance is below the variance: by that of chi squared.
        single = (off**2).sum(axis=2) / chdtri(free, 0.5) / size**2
    some = (count > 1) & np.isfinite(single)
    of_each, of_single = (np.full(values.shape[0], np.nan) for _ in range(2))
    if not some.any():
        return 0.0, of_each, of_single
    repeated = some.any(axis=1)
    single = np.where(some, single, np.nan)
    mean_of = single / np.maximum(count, 1)
    of_each[repeated] = np.sqrt(np.nanmedian(mean_of[repeated], axis=1))
    of_single[repeated] = np.sqrt(np.nanmedian(single[repeated], axis=1))
    return float(np.sqrt(np.median(mean_of[some]))), of_each, of_single


def join_repetitions(
    values: NDArray[np.float64], kind: NoiseKind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one value a point and what it weighs.

    It is the mean of the repetitions that lie together. Those far above the median are left out:
    something else ran. Where some lie far below it, the others may be the disturbed ones, and the
    point weighs next to nothing.

    Parameters
    ----------
    values : float64 array, shape (kernel, point, repetition)
    kind : NoiseKind

    Returns
    -------
    values, shares : float64 array, shape (kernel, point)
    """
    there = np.isfinite(values)
    count = there.sum(axis=2)
    if values.shape[2] == 1:
        return values[..., 0], count.astype(np.float64)
    median = medians(values)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        level = np.nansum(np.abs(median), axis=1, keepdims=True)
        level /= np.isfinite(median).sum(axis=1, keepdims=True)
        level = np.where(level > 0.0, level, 1.0)
        unit = np.abs(median) ** kind.gamma * level ** (1.0 - kind.gamma)
        off = np.where(there, (values - median) / unit, np.nan)
    enough = there & (count >= MIN_REPETITIONS)[..., None]
    apart = np.abs(off[enough & (off != 0.0)])
    far = FAR * float(np.median(apart)) if apart.size else np.inf
    kept = there & ~(enough & (off > far))
    doubtful = (enough & (off < -far)).any(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        one = np.where(kept, values, 0.0).sum(axis=2) / kept.sum(axis=2)
    shares = kept.sum(axis=2) / max(float(count.mean()), 1.0)
    return one, np.where(doubtful, DOUBT * shares, shares)
