"""Fitted models of many kernels, over one or several parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hindmost.errors import UsageError
from hindmost.models.inference import LEVEL
from hindmost.models.pmnf.hypotheses import Hypotheses, patterns
from hindmost.models.pmnf.model import (
    Alternative,
    Form,
    LoneValue,
    Misfit,
    ScalingModel,
    misfit,
)
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.search import KEPT
from hindmost.models.pmnf.space import ABSENT, Exponents, SearchSpace, Term, tabulate

Average = Callable[["ScalingModels", NDArray[np.float64], float], tuple[Any, Any]]
"""Of models of kernels that have all points, targets of shape (target, parameter) and a level: low
and high, float64 arrays of shape (kernel, target)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingModels:
    """Models of many kernels: arrays, and one object a kernel on demand.

    Attributes
    ----------
    parameters : tuple of str
    space : SearchSpace
    observations : Observations
    hypotheses : Hypotheses
    average : Average
        Predicts with an interval by averaging over hypotheses.
    """

    parameters: tuple[str, ...]
    space: SearchSpace
    observations: Observations
    hypotheses: Hypotheses
    average: Average

    def __len__(self) -> int:
        return len(self.hypotheses)

    @property
    def there(self) -> NDArray[np.bool_]:
        """Whether each kernel has a value at each point: shape (kernel, point)."""
        return np.isfinite(self.observations.values)

    def predict(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of all functions.

        Parameters
        ----------
        at : float64 array, shape (target, parameter); (target,) of one parameter

        Returns
        -------
        float64 array, shape (kernel, target)
        """
        axes = tabulate(self.space, self._targets(at))
        terms, factors = self.hypotheses.terms[:, 0], self.hypotheses.coefficients[:, 0]
        values = np.repeat(factors[:, :1], axes.shape[2], axis=1)
        for one in range(terms.shape[1]):
            grown = factors[:, one + 1, None]
            for axis, column in enumerate(axes):
                grown = grown * column[terms[:, one, axis]]
            values += grown
        return values

    def interval(
        self, at: NDArray[np.float64], *, level: float = LEVEL
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where a new measurement of each kernel lies with the given probability.

        Parameters
        ----------
        at : float64 array, shape (target, parameter); (target,) of one parameter
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
            found = self.hypotheses.rows(kernels)
            alike = replace(
                self,
                observations=self.observations.part(kernels, np.flatnonzero(there)),
                hypotheses=replace(found, weights=np.ascontiguousarray(found.weights[:, there])),
            )
            low[kernels], high[kernels] = self.average(alike, targets, level)
        predicted, half = self.predict(targets), self.noise_half_width(targets, level)
        return np.minimum(low, predicted - half), np.maximum(high, predicted + half)

    def noise_half_width(self, at: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """Return what a new measurement is off by for its noise alone: shape (kernel, target).

        No interval is narrower on either side, however sure the function is. The noise of a kernel
        is that of its repetitions, or what its function leaves of its values if that is more; of
        counts that a function gives exactly, it is 0.
        """
        seen, gamma = self.observations, self.observations.noise.kind.gamma
        values = np.where(self.there, seen.values, np.nan)
        level_of = np.nanmean(np.abs(values), axis=1, keepdims=True)
        predicted = np.abs(self.predict(at))
        fitted = self.predict(seen.table)
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (fitted - values) / (np.abs(values) ** gamma * level_of ** (1.0 - gamma))
        left = np.sqrt(np.nanmean(np.where(np.isfinite(off), off, 0.0) ** 2, axis=1))
        if seen.own_spread is not None:
            left = np.fmax(left, seen.own_spread)
        return np.asarray(
            ndtri(0.5 + 0.5 * level) * left[:, None] * predicted**gamma * level_of ** (1.0 - gamma)
        )

    def __getitem__(self, kernel: int) -> ScalingModel:
        there = np.isfinite(self.observations.values[kernel])
        form = self._form(kernel, 0)
        criterion = self.hypotheses.criterion[kernel, :KEPT]
        others = [rank for rank in range(1, criterion.size) if np.isfinite(criterion[rank])]
        alone = self.rows(slice(kernel, kernel + 1 or None))
        return ScalingModel(
            parameters=self.parameters,
            points=self.observations.table[there],
            values=self.observations.values[kernel, there],
            form=form,
            noise=self.observations.noise,
            runners_up=tuple(
                Alternative(
                    form=self._form(kernel, rank), behind=float(criterion[rank] - criterion[0])
                )
                for rank in (others if np.isfinite(criterion[0]) else ())
            ),
            intervals=lambda at, level: tuple(side[0] for side in alone.interval(at, level=level)),
            lone=self._lone(kernel),
            misfit=self._misfit(kernel, form),
            steepest=tuple(
                name
                for name, exponents in zip(self.parameters, form.leading, strict=False)
                if exponents == max(self.space.exponents)
            ),
        )

    def _lone(self, kernel: int) -> tuple[LoneValue, ...]:
        """Return the values of a kernel that are far from their neighbours."""
        ratios, values = self.observations.lone[kernel], self.observations.values[kernel]
        return tuple(
            LoneValue(
                at=tuple(self.observations.table[point].tolist()),
                ratio=float(ratios[point]),
                left_out=bool(np.isnan(values[point])),
            )
            for point in np.flatnonzero(np.isfinite(ratios))
        )

    def _misfit(self, kernel: int, form: Form) -> Misfit | None:
        """Return how the function of a kernel fails to fit; None where it fits."""
        seen = self.observations
        there = np.isfinite(seen.values[kernel])
        points = seen.table[there]
        return misfit(
            points,
            seen.values[kernel, there],
            seen.shares[kernel, there],
            form(points),
            gamma=seen.noise.kind.gamma,
            scatter=np.nan if seen.own_scatter is None else float(seen.own_scatter[kernel]),
            coefficients=1 + len(form.terms),
        )

    def rows(self, kernels: slice | NDArray[np.intp]) -> ScalingModels:
        """Return the models of some kernels."""
        return replace(
            self,
            observations=self.observations.part(kernels),
            hypotheses=self.hypotheses.rows(kernels),
        )

    def _targets(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        targets = np.atleast_1d(np.asarray(at, np.float64))
        if targets.ndim == 1:
            targets = targets[:, None] if len(self.parameters) == 1 else targets[None]
        if targets.shape[1] != len(self.parameters) or not (targets > 0.0).all():
            raise UsageError(
                f"Targets of shape {np.shape(at)}; they must be (target, parameter), of "
                f"{', '.join(self.parameters)}, and above 0."
            )
        return targets

    def _form(self, kernel: int, rank: int) -> Form:
        pairs: tuple[Exponents, ...] = (ABSENT, *self.space.exponents)
        factors = self.hypotheses.coefficients[kernel, rank].tolist()
        used = [
            (tuple(pairs[number] for number in term), factor)
            for term, factor in zip(
                self.hypotheses.terms[kernel, rank].tolist(), factors[1:], strict=True
            )
            if any(term)
        ]
        used.sort(key=lambda each: growth(each[0]))
        largest = float(np.nanmax(np.abs(self.observations.values[kernel])))
        return Form(
            constant=factors[0] if abs(factors[0]) > 1e-12 * largest else 0.0,
            coefficients=tuple(factor for _, factor in used),
            terms=tuple(Term(exponents=exponents) for exponents, _ in used),
        )


def growth(
    exponents: tuple[Exponents, ...],
) -> tuple[Fraction, Fraction, tuple[Exponents, ...]]:
    """Return by what terms are ordered: their growth where all parameters grow alike."""
    power = sum((power for power, _ in exponents), Fraction(0))
    of_logarithm = sum((log for _, log in exponents), Fraction(0))
    return power, of_logarithm, exponents
