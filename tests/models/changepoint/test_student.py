from __future__ import annotations

import math

import pytest
from scipy import stats

from hindmost.models.changepoint.student import two_sided


@pytest.mark.parametrize("freedom", [1.0, 2.5, 7.0, 28.0, 333.3, 1e4])
@pytest.mark.parametrize("t", [0.0, 1e-6, 0.3, 1.0, 2.1, 4.5, 12.0, 60.0])
def test_both_tails_are_those_of_scipy(t: float, freedom: float) -> None:
    assert two_sided(t, freedom) == pytest.approx(2.0 * stats.t.sf(t, freedom), rel=1e-9)
    assert two_sided(-t, freedom) == two_sided(t, freedom)


def test_an_infinite_statistic_is_never_chance() -> None:
    assert two_sided(math.inf, 5.0) == 0.0
