"""The expected growth of kernels, and which of them grow worse.

A kernel grows worse than expected if both of these are true at the target:

- A leading exponent of its model exceeds the expectation's: (i, j) of p^i log2^j(p), powers before
  logarithms, for any of the parameters, or for all growing together. A constant counts as (0, 0),
  so that strong scaling that ends is worse than 1/p.
- The low end of its 90 % interval at the target, over its prediction at the largest measured point,
  exceeds the factor by which the expectation grows between the two.

So neither a steep term that is too small to matter counts, nor one that noise may have caused.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.scaling.formula import FLAT, Formula, Growth, parse
from hindmost.analysis.scaling.study import KernelAtTarget, MetricStudy, ScalingStudy
from hindmost.analysis.scaling.target import TargetScale, point_text
from hindmost.errors import UsageError
from hindmost.models.pmnf.kernels import KernelModel
from hindmost.text import choose

SAME = 1e-9
"""Difference of exponents and factors that is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The growth that is expected of some kernels.

    Attributes
    ----------
    pattern : str
        A name, or with ``*`` and ``?``; ``*`` for all.
    formula : Formula
    factor : float
        By how much it grows from the largest measured point to the target.
    """

    pattern: str
    formula: Formula
    factor: float

    def concerns(self, kernel: str) -> bool:
        """Say whether a kernel is meant."""
        return kernel == self.pattern or fnmatch.fnmatchcase(kernel, self.pattern)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnexpectedGrowth:
    """A kernel that grows worse than expected.

    Attributes
    ----------
    standing : KernelAtTarget
    expectation : Expectation
    parameters : tuple of str
        Those whose exponents exceed; ``p and n`` where they do so together.
    """

    standing: KernelAtTarget
    expectation: Expectation
    parameters: tuple[str, ...]

    JSON = (
        "kernel=standing.series.kernel metric=standing.series.metric "
        "expected=expectation.formula.text found parameters expected_growth=expectation.factor "
        "growth=standing.growth growth_at_least=low_growth text=explain"
    )

    @property
    def low_growth(self) -> float:
        """The growth at least; NaN without an interval: such a kernel only may grow worse."""
        return self.standing.growth_interval[0]

    @property
    def found(self) -> str:
        """The function that was found."""
        return self.standing.kernel.model_at(self.standing.target.at).expression()

    def explain(self) -> str:
        """Say what was expected and what was found."""
        series, target = self.standing.series, self.standing.target
        return (
            f"{series.kernel} ({series.metric}) grows worse than {self.expectation.formula.text}: "
            f"found {self.found}; from "
            f"{point_text(target.parameters, target.largest)} to {target.explain()} by "
            f"{self.standing.growth:.4g} (at 90 % at least {self.low_growth:.4g}), "
            f"expected {self.expectation.factor:.4g}."
        )


def read_expectation(text: str, study: ScalingStudy) -> Expectation:
    """Read an expectation: ``log2(p)``, or ``main->*: p*log2(p)`` for some kernels.

    Raises
    ------
    UsageError
        The formula has a mistake or is not above zero, or the kernel does not exist.
    """
    pattern, colon, formula_text = text.rpartition(":")
    pattern = pattern.strip() if colon else "*"
    kernels = list(dict.fromkeys(series.kernel for series in study.experiment.series))
    target = study.target
    if all(at <= last for at, last in zip(target.at, target.largest, strict=True)):
        raise UsageError(
            f"--expect needs a target beyond {point_text(target.parameters, target.largest)}, the "
            f"largest measured point; --at {target.explain()} is not. Choose a larger target."
        )
    formula = parse(formula_text.strip(), target.parameters)
    ends = []
    for point in (target.largest, target.at):
        value = formula(dict(zip(target.parameters, point, strict=True)))
        if not 0.0 < value < math.inf:
            raise UsageError(
                f"The expectation {formula.text} is {value:g} at "
                f"{point_text(target.parameters, point)}; an expectation must be above zero."
            )
        ends.append(value)
    found = Expectation(pattern=pattern, formula=formula, factor=ends[1] / ends[0])
    if not any(map(found.concerns, kernels)):
        raise UsageError(
            f"--expect names the kernel '{pattern}', which does not exist; "
            f"{choose(kernels, pattern)}. A pattern may have * and ?, as in 'main->*'."
        )
    return found


def expected_of(kernel: str, expectations: Sequence[Expectation]) -> Expectation | None:
    """Return what is expected of a kernel: the last one for it by name, else by pattern."""
    meant = [expectation for expectation in expectations if expectation.concerns(kernel)]
    meant.sort(key=lambda each: (each.pattern == kernel, each.pattern != "*"))
    return meant[-1] if meant else None


def leading_growth(kernel: KernelModel, target: TargetScale) -> dict[tuple[str, ...], Growth]:
    """Return the leading exponents of the model that is valid at the target.

    Of each parameter alone, and of several all together.
    """
    form = kernel.model_at(target.at).form
    names = target.parameters
    ways: list[tuple[int, ...]] = [(at,) for at in range(len(names))]
    if len(names) > 1:
        ways.append(tuple(range(len(names))))
    found = {}
    for way in ways:
        grown = [
            (
                float(sum(term.exponents[at][0] for at in way)),
                float(sum(term.exponents[at][1] for at in way)),
            )
            for term in form.terms
        ]
        found[tuple(names[at] for at in way)] = max(
            [*grown, FLAT] if form.constant or not grown else grown
        )
    return found


def exceeds(one: Growth, other: Growth) -> bool:
    """Say whether a growth is beyond another, by more than rounding."""
    for left, right in zip(one, other, strict=True):
        if abs(left - right) > SAME:
            return left > right
    return False


def find_worse(metric: MetricStudy, expectations: Sequence[Expectation]) -> list[UnexpectedGrowth]:
    """Return the kernels that grow worse than expected, the worst first."""
    expected = [expected_of(name, expectations) for name in metric.names()]
    factors = np.array([each.factor if each else np.inf for each in expected])
    steeper = metric.growth > factors * (1.0 + SAME)
    suspects: NDArray[np.intp] = metric.order[steeper[metric.order]]
    if not suspects.size:
        return []
    findings = []
    for number, standing in zip(suspects.tolist(), metric.at_target(suspects), strict=True):
        expectation = expected[number]
        assert expectation is not None
        low_growth, _ = standing.growth_interval
        worse = tuple(
            " and ".join(names)
            for names, grown in leading_growth(standing.kernel, metric.target).items()
            if exceeds(grown, expectation.formula.growth(*names))
        )
        if worse and not low_growth <= expectation.factor * (1.0 + SAME):
            findings.append(
                UnexpectedGrowth(standing=standing, expectation=expectation, parameters=worse)
            )
    return findings
