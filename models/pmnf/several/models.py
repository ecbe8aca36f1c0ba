"""Fitted models of many kernels over several parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.fit import patterns
from hindmost.models.pmnf.model import Alternative, Form, ScalingModel
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.search import KEPT as SHOWN
from hindmost.models.pmnf.several.hypothesis import NO_TERM
from hindmost.models.pmnf.several.predictive import Fitted, predict_intervals
from hindmost.models.pmnf.several.search import digits
from hindmost.models.pmnf.several.tables import tabulate
from hindmost.models.pmnf.space import SearchSpace
from hindmost.models.pmnf.term import ABSENT, Exponents, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterModels:
    """Models of many kernels over several parameters: arrays, and one object a kernel on demand.

    Attributes
    ----------
    parameters : tuple of str
    space : SearchSpace
    observations : Observations
        With points of shape (point, parameter).
    terms : int64 array, shape (kernel, hypothesis, 4)
        Each term one number, as `hypothesis` explains; 0 for none. The best hypothesis first.
    coefficients : float64 array, shape (kernel, hypothesis, 5)
        Of the constant and of the terms, in the metric's unit; 0 where there is no term.
    criterion : float64 array, shape (kernel, hypothesis)
        Infinite where there is no such hypothesis.
    weights : float64 array, shape (kernel, point)
        Of the fit; their sum is 1, and 0 stands where there is no measurement.
    """

    parameters: tuple[str, ...]
    space: SearchSpace
    observations: Observations
    terms: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    criterion: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.terms.shape[0])

    def predict(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of all functions.

        Parameters
        ----------
        at : float64 array, shape (target, parameter)

        Returns
        -------
        float64 array, shape (kernel, target)
        """
        axes = tabulate(self.space, self._targets(at))
        terms, factors = self.terms[:, 0], self.coefficients[:, 0]
        numbers = digits(terms, axes.shape[1], axes.shape[0])
        values = np.repeat(factors[:, :1], axes.shape[2], axis=1)
        for one in range(terms.shape[1]):
            grown = factors[:, one + 1, None]
            for axis, column in enumerate(axes):
                grown = grown * column[numbers[:, one, axis]]
            values += grown
        return values

    def interval(
        self, at: NDArray[np.float64], *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where a new measurement of each kernel lies with the given probability.

        Parameters
        ----------
        at : float64 array, shape (target, parameter)
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
        targets = self._targets(at)
        low = np.empty((len(self), targets.shape[0]))
        high = np.empty_like(low)
        for there, kernels in patterns(self.observations.values):
            low[kernels], high[kernels] = predict_intervals(
                Fitted(
                    points=self.observations.points[there],
                    values=np.ascontiguousarray(self.observations.values[kernels][:, there]),
                    weights=np.ascontiguousarray(self.weights[kernels][:, there]),
                    gamma=self.observations.noise.kind.gamma,
                    terms=self.terms[kernels],
                    criterion=self.criterion[kernels],
                    space=self.space,
                ),
                targets,
                level=level,
            )
        return low, high

    def __getitem__(self, kernel: int) -> ScalingModel:
        there = np.isfinite(self.observations.values[kernel])
        shown = np.flatnonzero(np.isfinite(self.criterion[kernel]))[:SHOWN]
        behind = self.criterion[kernel, shown] - self.criterion[kernel, 0]
        alone = self._only(kernel)
        return ScalingModel(
            parameters=self.parameters,
            points=self.observations.points[there],
            values=self.observations.values[kernel, there],
            form=self._form(kernel, 0),
            noise=self.observations.noise,
            runners_up=tuple(
                Alternative(form=self._form(kernel, int(rank)), behind=float(by))
                for rank, by in zip(shown[1:], behind[1:], strict=True)
            ),
            intervals=lambda at, level: tuple(side[0] for side in alone.interval(at, level=level)),
        )

    def _targets(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        targets = np.atleast_2d(np.asarray(at, np.float64))
        if targets.shape[1] != len(self.parameters) or not (targets > 0.0).all():
            raise UsageError(
                f"Targets of shape {np.shape(at)}; they must be (target, parameter), of "
                f"{', '.join(self.parameters)}, and above 0."
            )
        return targets

    def _form(self, kernel: int, rank: int) -> Form:
        pairs: tuple[Exponents, ...] = (ABSENT, *self.space.exponents)
        numbers = digits(self.terms[kernel, rank], len(pairs), len(self.parameters))
        used = [
            (tuple(pairs[number] for number in row), float(factor))
            for term, row, factor in zip(
                self.terms[kernel, rank], numbers, self.coefficients[kernel, rank, 1:], strict=True
            )
            if term != NO_TERM
        ]
        used.sort(key=lambda each: growth(each[0]))
        return Form(
            constant=float(self.coefficients[kernel, rank, 0]),
            coefficients=tuple(factor for _, factor in used),
            terms=tuple(Term(exponents=exponents) for exponents, _ in used),
        )

    def _only(self, kernel: int) -> ParameterModels:
        """Return the models of one kernel only."""
        one = slice(kernel, kernel + 1 or None)
        observations = Observations(
            points=self.observations.points,
            values=self.observations.values[one],
            shares=self.observations.shares[one],
            noise=self.observations.noise,
        )
        return replace(
            self,
            observations=observations,
            terms=self.terms[one],
            coefficients=self.coefficients[one],
            criterion=self.criterion[one],
            weights=self.weights[one],
        )


def growth(
    exponents: tuple[Exponents, ...],
) -> tuple[Fraction, Fraction, tuple[Exponents, ...]]:
    """Return by what terms are ordered: their growth where all parameters grow alike."""
    power = sum((power for power, _ in exponents), Fraction(0))
    of_logarithm = sum((log for _, log in exponents), Fraction(0))
    return power, of_logarithm, exponents
