"""Scaling models of many kernels over several parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.pmnf.fit import patterns
from hindmost.models.pmnf.observations import observe
from hindmost.models.pmnf.several.design import check_design, lines
from hindmost.models.pmnf.several.hypothesis import KEPT, NO_TERM
from hindmost.models.pmnf.several.kind import from_kernels
from hindmost.models.pmnf.several.models import ParameterModels
from hindmost.models.pmnf.several.price import MOST_TERMS, penalties
from hindmost.models.pmnf.several.search import search
from hindmost.models.pmnf.several.tables import starts, tabulate
from hindmost.models.pmnf.space import search_space


def fit_parameters(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    space: str = "paper",
    noise: str | None = None,
    parameters: Sequence[str] = ("p", "n"),
) -> ParameterModels:
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
        ``additive``, ``root`` or ``multiplicative``; found out if not given.
    parameters : sequence of str
        Their names, 1 to 4.

    Raises
    ------
    DataError
        What `observe` refuses, or a parameter of fewer than 5 values, of all or of a kernel.
    UsageError
        An unknown space or kind of noise, more parameters than 4, or not as many names as columns.
    """
    chosen = search_space(space)
    points = np.asarray(points, np.float64)
    check_design(points, parameters)
    observations = observe(points, values, noise, pool=from_kernels)
    kernels = observations.values.shape[0]
    found: dict[str, NDArray[Any]] = {
        "terms": np.full((kernels, KEPT, MOST_TERMS), NO_TERM, np.int64),
        "coefficients": np.zeros((kernels, KEPT, MOST_TERMS + 1)),
        "criterion": np.full((kernels, KEPT), np.inf),
        "weights": np.zeros((kernels, points.shape[0])),
    }
    for there, members in patterns(observations.values):
        at = points[there]
        try:
            check_design(at, parameters)
        except DataError as error:
            raise DataError(f"Kernel {members[0]}, without what it misses: {error}") from None
        part = search(
            observations.values[members][:, there],
            observations.shares[members][:, there],
            tabulate(chosen, at),
            lines(at),
            starts(chosen),
            gamma=observations.noise.kind.gamma,
            penalties=penalties(at.shape[0], len(chosen.exponents), at.shape[1]),
        )
        found["terms"][members] = part.terms
        found["coefficients"][members] = part.coefficients
        found["criterion"][members] = part.criterion
        found["weights"][np.ix_(members, np.flatnonzero(there))] = part.weights
    return ParameterModels(
        parameters=tuple(parameters), space=chosen, observations=observations, **found
    )
