"""Scaling models of many kernels over several parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf.hypotheses import Hypotheses, search_by_pattern
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.noise import NoiseKind, from_kernels
from hindmost.models.pmnf.observations import MIN_POINTS, observe
from hindmost.models.pmnf.search import joint_penalties
from hindmost.models.pmnf.several.averaging import average_over_hypotheses, restricted_likelihood
from hindmost.models.pmnf.several.search import search
from hindmost.models.pmnf.space import PAPER, SearchSpace, search_space, searched_columns, tabulate

MAX_PARAMETERS = 4

STEEPER = tuple((Fraction(power), Fraction(0)) for power in ("-3", "-5/2"))
"""Falls that are tried of several parameters, of which one may be a width: cells are h^-3."""


def fit_parameters(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    space: str = "paper",
    noise: str | None = None,
    parameters: Sequence[str] = ("p", "n"),
) -> ScalingModels:
    """Fit a sum of products of terms of several parameters to each kernel.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
        Above 0, in any order: a grid, lines, or scattered.
    values : float64 array, shape (point,), (kernel, point) or (kernel, point, repetition)
        In the metric's unit; NaN where a measurement is missing.
    space : str
        ``paper``, ``extrap`` or ``fine``: what each parameter may be raised to.
    noise : str, optional
        ``additive``, ``root`` or ``multiplicative``; inferred if not given.
    parameters : sequence of str
        Their names, 2 to 4.

    Raises
    ------
    DataError
        What `observe` refuses, or a parameter of fewer than 5 values, of all or of a kernel.
    UsageError
        An unknown space or kind of noise, more parameters than 4, or not as many names as columns.
    """
    chosen = with_steeper_falls(search_space(space))
    points = np.asarray(points, np.float64)
    check_design(points, parameters)
    pool = partial(from_kernels, likelihood_of=of_products, most=40)
    observations = observe(points, values, noise, pool=pool)

    def find(there: NDArray[np.bool_], kernels: NDArray[np.intp]) -> Hypotheses:
        try:
            check_design(points[there], parameters)
        except DataError as error:
            raise DataError(f"Kernel {kernels[0]}, without its missing points: {error}") from None
        return search_products(
            observations.values[kernels][:, there],
            observations.shares[kernels][:, there],
            points[there],
            observations.noise.kind,
            chosen,
        )

    return ScalingModels(
        parameters=tuple(parameters),
        space=chosen,
        observations=observations,
        hypotheses=search_by_pattern(observations.values, find),
        average=average_over_hypotheses,
    )


def with_steeper_falls(space: SearchSpace) -> SearchSpace:
    """Return a search space with `STEEPER`."""
    return replace(space, exponents=(*STEEPER, *space.exponents))


def search_products(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    points: NDArray[np.float64],
    kind: NoiseKind,
    space: SearchSpace,
) -> Hypotheses:
    """Search for the best sums of products of kernels that have all points.

    Parameters
    ----------
    values, shares : float64 array, shape (kernel, point)
    points : float64 array, shape (point, parameter)
    """
    count, parameters = points.shape
    powers = np.array([(0, 0), *space.exponents], np.float64)
    axes = tabulate(space, points)
    axes[:, 1:] = [searched_columns(space, axis) for axis in points.T]
    return search(
        values,
        shares,
        axes,
        lines(points),
        1 + space.exponents.index((Fraction(1), Fraction(0))),
        gamma=kind.gamma,
        penalties=joint_penalties(count, len(space.exponents), parameters),
        falls=powers[:, 0] < 0.0,
    )


def of_products(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    points: NDArray[np.float64],
    kind: NoiseKind,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the likelihood of the best sum of products of each kernel, as `noise.Likelihood`."""
    space = with_steeper_falls(PAPER)
    found = search_products(values, shares, points, kind, space)
    return restricted_likelihood(found, values, points, space)


def fit_part(
    models: ScalingModels, kernels: NDArray[np.intp], points: NDArray[np.intp], kind: NoiseKind
) -> ScalingModels:
    """Fit one function to some points of some kernels under a kind of noise."""
    part = models.observations.part(kernels, points)
    hypotheses = search_products(part.values, part.shares, part.points, kind, models.space)
    return replace(models, observations=part, hypotheses=hypotheses)


def check_design(points: NDArray[np.float64], parameters: Sequence[str]) -> None:
    """Refuse points that cannot tell how each parameter matters.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
    """
    if points.ndim != 2 or points.shape[1] != len(parameters):
        raise UsageError(
            f"Points of shape {points.shape} and the parameters {', '.join(parameters)}; points "
            "must be (point, parameter) with a column for each."
        )
    if not 2 <= len(parameters) <= MAX_PARAMETERS:
        raise UsageError(
            f"{len(parameters)} parameters; a model of several has 2 to {MAX_PARAMETERS}: leave "
            "some out, or use pmnf.fit for one."
        )
    if len(set(parameters)) != len(parameters):
        raise UsageError(f"The parameters {', '.join(parameters)}; names must differ.")
    for name, column in zip(parameters, points.T, strict=True):
        values = np.unique(column)
        if values.size == 1:
            raise DataError(
                f"Parameter {name} has one value only, {values[0]:g}; leave it out, or measure at "
                f"{MIN_POINTS - 1} more."
            )
        if values.size < MIN_POINTS:
            told = ", ".join(f"{value:g}" for value in values)
            raise DataError(
                f"Parameter {name} has {values.size} values ({told}); a model needs "
                f"{MIN_POINTS}: measure at {MIN_POINTS - values.size} more, or leave it out."
            )


def lines(points: NDArray[np.float64]) -> NDArray[np.int32]:
    """Give numbers to the lines along each parameter, on which all others stand still.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)

    Returns
    -------
    int32 array, shape (parameter, point)
        -1 for points on a line of fewer than 3 points.
    """
    count, many = points.shape
    found = np.full((many, count), -1, np.int32)
    for axis in range(many):
        others = np.delete(points, axis, axis=1)
        _, line, size = np.unique(others, axis=0, return_inverse=True, return_counts=True)
        # Shorter lines say nothing of the shape of a term besides a constant.
        kept = np.flatnonzero(size >= 3)
        number = np.full(size.size, -1, np.int32)
        number[kept] = np.arange(kept.size)
        found[axis] = number[line.ravel()]
    return found
