"""A fitted scaling model of one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.noise import Noise
from hindmost.models.pmnf.space import ABSENT, Exponents, Term
from hindmost.text import percent


def write_term(term: Term, names: Sequence[str]) -> str:
    """Write a term without its coefficient: ``p^(1/2) * log2(p)``."""
    factors = []
    for name, (power, of_logarithm) in zip(names, term.exponents, strict=True):
        for base, exponent in ((name, power), (f"log2({name})", of_logarithm)):
            if exponent:
                factors.append(base if exponent == 1 else f"{base}^{fraction(exponent)}")
    return " * ".join(factors)


def write_model(
    constant: float, coefficients: Sequence[float], terms: Sequence[Term], names: Sequence[str]
) -> str:
    """Write a whole model; a constant of 0 is left out if there are terms."""
    parts = [
        (coefficient, f"{number(coefficient)} * {write_term(term, names)}")
        for coefficient, term in zip(coefficients, terms, strict=True)
    ]
    if constant or not parts:
        parts.insert(0, (constant, number(constant)))
    (first, text), *others = parts
    signed = (f" {'-' if value < 0.0 else '+'} {part}" for value, part in others)
    return f"{'-' if first < 0.0 else ''}{text}{''.join(signed)}"


def number(value: float) -> str:
    """Write the size of a coefficient with four digits."""
    digits, exponent, power = f"{abs(value):.4g}".partition("e")
    return digits + (f"e{int(power)}" if exponent else "")


def fraction(value: Fraction) -> str:
    """Write an exponent: 2, (1/2), (-1)."""
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"


FAR_OFF = 5.0
"""Standard errors of the values by which a function is off, on root mean square, that does not fit.
Repetitions within one run scatter less than runs do, so that a factor of 2 or 3 says little."""
FACTOR_OFF = 1.5
"""Factor by which a function is off at some point that does not fit, whatever the repetitions say,
unless the noise is additive: beside that, small values are far off by chance."""


Values = NDArray[np.float64]
Intervals = Callable[[Values, float], tuple[Values, Values]]
"""Of points of shape (target, parameter) and a level: low and high, each (target,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A function in performance model normal form: c_0 + sum_k c_k prod_l x_l^i_kl log2^j_kl(x_l).

    Attributes
    ----------
    constant : float
        In the metric's unit, as are the coefficients.
    coefficients : tuple of float
    terms : tuple of Term
        The term that grows fastest is the last.
    """

    constant: float
    coefficients: tuple[float, ...]
    terms: tuple[Term, ...]

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's values at points of shape (..., parameter)."""
        value = np.full(points.shape[:-1], self.constant)
        for coefficient, term in zip(self.coefficients, self.terms, strict=True):
            value = value + coefficient * term(points)
        return value

    @property
    def leading(self) -> tuple[Exponents, ...]:
        """The exponents of each parameter's fastest growth; (0, 0) if it does not occur."""
        if not self.terms:
            return ()
        grown = [term.exponents for term in self.terms]
        return tuple(max(each, default=grown[0][0]) for each in zip(*grown, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A runner-up.

    Attributes
    ----------
    form : Form
    behind : float
        By how much its criterion exceeds the best one's; above 10 the data contradict it.
    """

    form: Form
    behind: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneValue:
    """A value far from what its neighbours suggest.

    Attributes
    ----------
    at : tuple of float
        The point.
    ratio : float
        Over what the neighbours suggest.
    left_out : bool
        Whether the model is that of the other values.
    """

    at: tuple[float, ...]
    ratio: float
    left_out: bool

    def explain(self, parameters: tuple[str, ...]) -> str:
        """Say where it is, how far off, and what to do."""
        place = ", ".join(
            f"{name} = {value:.12g}" for name, value in zip(parameters, self.at, strict=True)
        )
        out = " and is left out" if self.left_out else ""
        return (
            f"the value at {place} is {self.ratio:.3g} times what its neighbours suggest{out}: "
            "repeat the measurement"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """How a function fails to fit.

    Attributes
    ----------
    at : tuple of float
        The point at which it is farthest off, in standard errors.
    off : float
        By how much there, as a share of the value.
    factor : float
        By what factor, above 1; infinite where the function is not above 0.
    ratio : float
        Root mean square of its distances from the values, in standard errors; NaN where nothing
        was repeated.
    """

    at: tuple[float, ...]
    off: float
    factor: float
    ratio: float

    JSON = "at off standard_errors"

    def standard_errors(self) -> float | None:
        """Return `ratio` for JSON, which has no NaN."""
        return None if np.isnan(self.ratio) else self.ratio

    def explain(self, parameters: tuple[str, ...]) -> str:
        """Say how far it is off, and where."""
        place = ", ".join(
            f"{name} = {value:.12g}" for name, value in zip(parameters, self.at, strict=True)
        )
        much = percent(self.off)
        if FACTOR_OFF <= self.factor < np.inf:
            much = f"a factor of {self.factor:.2g}"
        said = f"the model does not fit: it is off by {much} at {place}"
        if self.ratio >= FAR_OFF:
            said += f", and on average by {self.ratio:.2g} times the standard error of repetitions"
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingModel:
    """How a metric of a kernel grows: a function, its uncertainty and its runners-up.

    Attributes
    ----------
    parameters : tuple of str
    points : float64 array, shape (point, parameter)
    values : float64 array, shape (point,)
        Values that the function was fitted to, in the metric's unit.
    form : Form
    noise : Noise
    runners_up : tuple of Alternative
    intervals : Intervals
    lone : tuple of LoneValue
    steepest : tuple of str
        Parameters with whose steepest growth in the search space the function grows; the metric
        may grow faster.
    misfit : Misfit or None
        How the function fails to fit, where repetitions scatter far less than it is off.
    """

    parameters: tuple[str, ...]
    points: NDArray[np.float64]
    values: NDArray[np.float64]
    form: Form
    noise: Noise
    runners_up: tuple[Alternative, ...]
    intervals: Intervals
    lone: tuple[LoneValue, ...] = ()
    steepest: tuple[str, ...] = ()
    misfit: Misfit | None = None

    def predict(self, at: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the function's values.

        Parameters
        ----------
        at : float64 array, shape (target,) or (target, parameter)

        Returns
        -------
        float64 array, shape (target,)
        """
        return self.form(columns_of(at))

    def interval(
        self, at: NDArray[np.float64] | float, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the interval in which a new measurement lies with the given probability.

        Parameters
        ----------
        at : float64 array, shape (target,) or (target, parameter)
        level : float

        Returns
        -------
        low, high : float64 array, shape (target,)
        """
        return self.intervals(columns_of(at), level)

    @property
    def range(self) -> tuple[tuple[float, float], ...]:
        """The smallest and the largest measured value of each parameter."""
        return tuple(
            (float(low), float(high))
            for low, high in zip(self.points.min(axis=0), self.points.max(axis=0), strict=True)
        )

    @property
    def smape(self) -> float:
        """Symmetric mean absolute percentage error (SMAPE) of the fit, as in Extra-P."""
        fitted = self.form(self.points)
        size = np.abs(fitted) + np.abs(self.values)
        off = np.divide(np.abs(fitted - self.values), size, out=np.zeros_like(size), where=size > 0)
        return float(200.0 * off.mean())

    @property
    def largest_miss(self) -> float:
        """Factor, 1 or more, by which the function is off where it is farthest off.

        Infinite where it is not above 0 and the value is.
        """
        return float(factors_off(self.form(self.points), self.values).max())

    @property
    def adjusted_r2(self) -> float:
        """Share of the variance that the function explains, adjusted for its number of terms."""
        count = self.values.size
        rest = float(((self.form(self.points) - self.values) ** 2).sum())
        all_of_it = float(((self.values - self.values.mean()) ** 2).sum())
        free = count - len(self.form.terms) - 1
        if all_of_it == 0.0 or free <= 0:
            return 1.0 if rest == 0.0 else 0.0
        return 1.0 - rest / all_of_it * (count - 1) / free

    def expression(self) -> str:
        """Write the function."""
        form = self.form
        return write_model(form.constant, form.coefficients, form.terms, self.parameters)

    def alternatives(self) -> list[tuple[str, float]]:
        """Return the runners-up: expression, and by how much the criterion is worse."""
        return [
            (
                write_model(
                    other.form.constant, other.form.coefficients, other.form.terms, self.parameters
                ),
                other.behind,
            )
            for other in self.runners_up
        ]

    def doubts(self) -> list[str]:
        """Say what the points leave open; runners-up are reported separately."""
        found = []
        if self._scattered():
            found.append("the values differ widely, so that their mean is a poor prediction")
        elif self.misfit:
            found.append(self.misfit.explain(self.parameters))
        if self.steepest:
            of = f" of {' and '.join(self.steepest)}" if len(self.parameters) > 1 else ""
            found.append(f"the search space has no steeper term{of}: it may grow faster")
        return found + self.lone_values()

    def _scattered(self) -> bool:
        """Whether the model is a constant although the values differ by a factor."""
        low, high = float(self.values.min()), float(self.values.max())
        return not self.form.terms and low > 0.0 and high > 2.0 * low

    def lone_values(self) -> list[str]:
        """Name the values far from their neighbours."""
        return [each.explain(self.parameters) for each in self.lone]

    def explain(self) -> str:
        """Say in a sentence how the metric grows."""
        return "; ".join([self._growth(), *self.doubts()])

    def _growth(self) -> str:
        if self._scattered() or self.misfit:
            low, high = self.values.min(), self.values.max()
            return f"between {low:.4g} and {high:.4g} over {self.values.size} points"
        if not self.form.terms:
            return f"constant over {self.values.size} points"
        leading = write_term(self.form.terms[-1], self.parameters)
        doubt = next((other for other in self.runners_up if other.behind < 2.0), None)
        text = f"grows like {leading} over {self.values.size} points"
        if self.form.terms[-1].exponents < (ABSENT,) * len(self.parameters):
            text = f"falls like {leading} over {self.values.size} points"
            if self.form.coefficients[-1] < 0.0:
                bound = f"{self.form.constant:.4g}"
                text = f"approaches {bound} like {leading} over {self.values.size} points"
        if doubt is None:
            return text
        other = (
            write_term(doubt.form.terms[-1], self.parameters) if doubt.form.terms else "a constant"
        )
        return f"{text}; {other} fits as well"


def columns_of(at: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return points of one parameter as a column, others as they are."""
    targets = np.atleast_1d(np.asarray(at, np.float64))
    return targets[:, None] if targets.ndim == 1 else targets


def misfit(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    fitted: NDArray[np.float64],
    *,
    gamma: float,
    scatter: float,
    coefficients: int,
) -> Misfit | None:
    """Return how a function fails to fit; None where it fits.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
    values, shares, fitted : float64 array, shape (point,)
        Measured values, what they weigh apart from the noise, and the function's.
    gamma : float
        The noise's standard deviation grows like the value to gamma.
    scatter : float
        Standard error of the values, as a share of them; NaN where nothing was repeated.
    coefficients : int
        Of the function.
    """
    free = values.size - coefficients
    if free <= 0:
        return None
    factors, ratio = factors_off(fitted, values), np.nan
    worst = int(factors.argmax())
    far = gamma == 1.0 and factors[worst] >= FACTOR_OFF
    level = np.abs(values).mean()
    size = np.abs(values) ** gamma * level ** (1.0 - gamma)
    if scatter > 0.0 and (size > 0.0).all():
        off = np.sqrt(shares / shares.mean()) * np.abs(fitted - values) / size
        ratio = float(np.sqrt((off**2).sum() / free)) / scatter
        if ratio >= FAR_OFF and off.max() >= 0.05:
            far, worst = True, int(off.argmax())
    if not far:
        return None
    of_value = abs(fitted[worst] - values[worst]) / max(abs(values[worst]), np.finfo(float).tiny)
    return Misfit(
        at=tuple(points[worst].tolist()),
        off=float(of_value),
        factor=float(factors[worst]),
        ratio=ratio,
    )


def factors_off(fitted: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by what factors, 1 or more, a function is off: shape (point,).

    Infinite where it has not the sign of the value; 1 where both are 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = fitted / values
        factors = np.maximum(ratio, 1.0 / ratio)
    return np.where(fitted == values, 1.0, np.where(ratio > 0.0, factors, np.inf))
