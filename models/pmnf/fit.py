"""Scaling models of many kernels at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf.criterion import penalties
from hindmost.models.pmnf.model import Alternative, Form, ScalingModel
from hindmost.models.pmnf.observations import LEAST_POINTS, Observations, observe
from hindmost.models.pmnf.predictive import Fitted, predict_intervals
from hindmost.models.pmnf.search import KEPT, NONE, search
from hindmost.models.pmnf.space import SearchSpace, search_space
from hindmost.models.pmnf.term import Term, columns

MOST_TERMS = 2
ROUNDING = 1e-12
"""Share of the largest value, below which a constant is what rounding left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingModels:
    """Models of many kernels over one parameter: arrays, and one object a kernel on demand.

    Attributes
    ----------
    parameter : str
    space : SearchSpace
    observations : Observations
    terms : int32 array, shape (kernel, hypothesis, 2)
        Numbers of terms in the space, -1 for none; the best hypothesis first.
    coefficients : float64 array, shape (kernel, hypothesis, 3)
        Of the constant and of both terms, in the metric's unit.
    criterion : float64 array, shape (kernel, hypothesis)
    weights : float64 array, shape (kernel, point)
        Of the fit; their sum is 1, and 0 stands where there is no measurement.
    """

    parameter: str
    space: SearchSpace
    observations: Observations
    terms: NDArray[np.int32]
    coefficients: NDArray[np.float64]
    criterion: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.terms.shape[0])

    def predict(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of all functions.

        Parameters
        ----------
        at : float64 array, shape (target,)

        Returns
        -------
        float64 array, shape (kernel, target)
        """
        none = np.zeros((1, at.size))
        values = np.concatenate([columns(self.space.exponents, at), none])  # number -1: nothing
        best, factor = self.terms[:, 0], self.coefficients[:, 0]
        first, second = factor[:, 1:2] * values[best[:, 0]], factor[:, 2:] * values[best[:, 1]]
        return np.asarray(factor[:, :1] + first + second)

    def interval(
        self, at: NDArray[np.float64], *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where a new measurement of each kernel lies with the given probability.

        Parameters
        ----------
        at : float64 array, shape (target,)
        level : float
            Between 0 and 1.

        Returns
        -------
        low, high : float64 array, shape (kernel, target)

        Raises
        ------
        UsageError
            A level that is no probability.
        """
        if not 0.0 < level < 1.0:
            raise UsageError(f"A level of {level}; it must lie between 0 and 1, as 0.9 does.")
        low = np.empty((len(self), at.size))
        high = np.empty_like(low)
        for there, kernels in patterns(self.observations.values):
            low[kernels], high[kernels] = predict_intervals(
                Fitted(
                    points=self.observations.points[there],
                    values=np.ascontiguousarray(self.observations.values[kernels][:, there]),
                    weights=np.ascontiguousarray(self.weights[kernels][:, there]),
                    gamma=self.observations.noise.kind.gamma,
                    terms=self.terms[kernels],
                    coefficients=self.coefficients[kernels],
                    space=self.space,
                ),
                at,
                level=level,
            )
        # The average over all terms may know better than the one that is told.
        told = self.predict(at)
        return np.minimum(low, told), np.maximum(high, told)

    def __getitem__(self, kernel: int) -> ScalingModel:
        there = np.isfinite(self.observations.values[kernel])
        forms = [self._form(kernel, rank) for rank in range(KEPT)]
        there_is = np.isfinite(self.criterion[kernel])
        behind = np.where(there_is, self.criterion[kernel], np.inf) - self.criterion[kernel, 0]
        alone = self._only(kernel)
        return ScalingModel(
            parameters=(self.parameter,),
            points=self.observations.points[there][:, None],
            values=self.observations.values[kernel, there],
            form=forms[0],
            noise=self.observations.noise,
            runners_up=tuple(
                Alternative(form=form, behind=float(by))
                for form, by in zip(forms[1:], behind[1:], strict=True)
                if np.isfinite(by)
            ),
            intervals=lambda at, level: tuple(
                side[0] for side in alone.interval(at[:, 0], level=level)
            ),
        )

    def _form(self, kernel: int, rank: int) -> Form:
        used = [
            (self.space.exponents[number], float(factor))
            for number, factor in zip(
                self.terms[kernel, rank], self.coefficients[kernel, rank, 1:], strict=True
            )
            if number != NONE
        ]
        used.sort()
        constant = float(self.coefficients[kernel, rank, 0])
        largest = float(np.nanmax(np.abs(self.observations.values[kernel])))
        return Form(
            constant=constant if abs(constant) > ROUNDING * largest else 0.0,
            coefficients=tuple(factor for _, factor in used),
            terms=tuple(Term(exponents=(exponents,)) for exponents, _ in used),
        )

    def _only(self, kernel: int) -> ScalingModels:
        """Return the models of one kernel only."""
        one = slice(kernel, kernel + 1)
        return ScalingModels(
            parameter=self.parameter,
            space=self.space,
            observations=Observations(
                points=self.observations.points,
                values=self.observations.values[one],
                shares=self.observations.shares[one],
                noise=self.observations.noise,
            ),
            terms=self.terms[one],
            coefficients=self.coefficients[one],
            criterion=self.criterion[one],
            weights=self.weights[one],
        )


def fit(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    space: str = "paper",
    noise: str | None = None,
    parameter: str = "p",
    terms: int = MOST_TERMS,
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
    terms : int
        Most terms beside the constant: 0, 1 or 2.

    Raises
    ------
    DataError
        What `observe` refuses, or a kernel of fewer than 5 points.
    UsageError
        An unknown space or kind of noise, or more terms than 2.
    """
    observations = observe(points, values, noise)
    of_one_parameter(observations)
    return fit_observations(observations, space=space, parameter=parameter, terms=terms)


def of_one_parameter(observations: Observations) -> None:
    """Refuse points of several parameters.

    Raises
    ------
    UsageError
    """
    if observations.points.ndim != 1:
        raise UsageError(
            f"Points of {observations.points.shape[1]} parameters; pmnf.several.fit_parameters "
            "takes them."
        )


def fit_observations(
    observations: Observations,
    *,
    space: str = "paper",
    parameter: str = "p",
    terms: int = MOST_TERMS,
    least_points: int = LEAST_POINTS,
) -> ScalingModels:
    """Fit models to what `observe` gave; arguments and errors as those of `fit`."""
    if not 0 <= terms <= MOST_TERMS:
        raise UsageError(f"{terms} terms; a model has 0, 1 or 2 beside its constant.")
    chosen = search_space(space)
    ways = len(chosen.exponents) + sum(power < 0 for power, _ in chosen.exponents)
    kernels, points = observations.values.shape
    found: dict[str, NDArray[Any]] = {
        "terms": np.full((kernels, KEPT, 2), NONE, np.int32),
        "coefficients": np.zeros((kernels, KEPT, 3)),
        "criterion": np.full((kernels, KEPT), np.inf),
        "weights": np.zeros((kernels, points)),
    }
    for there, members in patterns(observations.values):
        count = int(there.sum())
        if count < least_points:
            raise DataError(
                f"Kernel {members[0]} has {count} points; a model needs {least_points}: measure "
                f"{least_points - count} more, or leave it out."
            )
        at = observations.points[there]
        part = search(
            observations.values[members][:, there],
            observations.shares[members][:, there],
            columns(chosen.exponents, at),
            gamma=observations.noise.kind.gamma,
            penalties=penalties(count, ways, most=terms),
        )
        found["terms"][members] = part.terms
        found["coefficients"][members] = part.coefficients
        found["criterion"][members] = part.criterion
        found["weights"][np.ix_(members, np.flatnonzero(there))] = part.weights
    return ScalingModels(parameter=parameter, space=chosen, observations=observations, **found)


def patterns(values: NDArray[np.float64]) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Group kernels by the points that they have.

    Parameters
    ----------
    values : float64 array, shape (kernel, point)
        NaN where there is no measurement.

    Returns
    -------
    list of (bool array of shape (point,), int array of shape (kernel,))
    """
    there = np.isfinite(values)
    if there.all():
        return [(np.ones(values.shape[1], bool), np.arange(values.shape[0]))]
    kinds, which = np.unique(there, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    borders = np.searchsorted(which.ravel()[order], np.arange(kinds.shape[0] + 1))
    return [(kind, order[a:b]) for kind, (a, b) in zip(kinds, pairwise(borders), strict=True)]
