"""Intervals of replicas hold as many further ones as they say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.results import LEVEL, replica_interval

LAWS = {
    "lognormal": lambda random, shape: np.exp(0.05 * random.standard_normal(shape)),
    "skewed": lambda random, shape: 1.0 + 0.1 * random.gamma(2.0, size=shape),
    "heavy": lambda random, shape: 1.0 + 0.01 * random.pareto(1.5, shape),
    "bounded": lambda random, shape: 1.0 + random.random(shape),
}


def coverage(drawn: NDArray[np.float64]) -> float:
    """Return the share of last values that lie in the interval of those before them, by row."""
    held = [low <= row[-1] <= high for row in drawn for low, high in [replica_interval(row[:-1])]]
    return float(np.mean(held))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [19, 20, 60])
def test_many_replicas_hold_further_ones_whatever_their_law(law: str, count: int) -> None:
    """The smallest and largest of 20 hold 19 of 21; of 60, the third ones hold 54 of 61."""
    drawn = LAWS[law](np.random.default_rng(count), (4000, count + 1))
    assert coverage(drawn) == pytest.approx(LEVEL, abs=0.025)


@pytest.mark.parametrize("count", [2, 5, 10])
def test_few_replicas_hold_further_ones_if_these_are_lognormal(count: int) -> None:
    drawn = LAWS["lognormal"](np.random.default_rng(count), (4000, count + 1))
    assert coverage(drawn) == pytest.approx(LEVEL, abs=0.025)


def test_one_replica_has_no_width() -> None:
    assert replica_interval(np.array([3.0])) == (3.0, 3.0)
    assert replica_interval(np.full(30, 2.0)) == (2.0, 2.0)
