"""Scaling models of many kernels at once, over one parameter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf.criterion import penalties
from hindmost.models.pmnf.hypotheses import Hypotheses, search_by_pattern
from hindmost.models.pmnf.lattice import average_over_lattice
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.observations import MIN_POINTS, Observations, observe
from hindmost.models.pmnf.search import MAX_TERMS, search
from hindmost.models.pmnf.space import search_space, searched_columns


def fit(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    space: str = "paper",
    noise: str | None = None,
    parameter: str = "p",
) -> ScalingModels:
    """Fit one model over all points to each kernel.

    Parameters
    ----------
    points : float64 array, shape (point,)
        Values of the parameter, above 0, ascending.
    values : float64 array, shape (point,), (kernel, point) or (kernel, point, repetition)
        In the metric's unit; NaN where a measurement is missing.
    space : str
        ``paper``, ``extrap`` or ``fine``.
    noise : str, optional
        ``additive``, ``root`` or ``multiplicative``; found out if not given.
    parameter : str
        Its name in expressions.

    Raises
    ------
    DataError
        What `observe` refuses, or a kernel of fewer than 5 points.
    UsageError
        An unknown space or kind of noise.
    """
    observations = observe(points, values, noise)
    of_one_parameter(observations)
    return fit_observations(observations, space=space, parameter=parameter)


def of_one_parameter(observations: Observations) -> None:
    """Refuse points of several parameters.

    Raises
    ------
    UsageError
    """
    if observations.points.ndim != 1:
        raise UsageError(
            f"Points of {observations.points.shape[1]} parameters; use pmnf.several.fit_parameters."
        )


def fit_observations(
    observations: Observations,
    *,
    space: str = "paper",
    parameter: str = "p",
    terms: int = MAX_TERMS,
    least_points: int = MIN_POINTS,
) -> ScalingModels:
    """Fit models of at most so many terms to what `observe` gave; else as `fit`."""
    chosen = search_space(space)
    ways = len(chosen.exponents) + sum(power < 0 for power, _ in chosen.exponents)

    def find(there: NDArray[np.bool_], kernels: NDArray[np.intp]) -> Hypotheses:
        count = int(there.sum())
        if count < least_points:
            raise DataError(
                f"Kernel {kernels[0]} has {count} points; a model needs {least_points}: measure "
                f"{least_points - count} more, or leave it out."
            )
        return search(
            observations.values[kernels][:, there],
            observations.shares[kernels][:, there],
            searched_columns(chosen, observations.points[there]),
            gamma=observations.noise.kind.gamma,
            penalties=penalties(count, ways, most=terms),
            above_zero=True,
        )

    return ScalingModels(
        parameters=(parameter,),
        space=chosen,
        observations=observations,
        hypotheses=search_by_pattern(observations.values, find),
        average=average_over_lattice,
    )
