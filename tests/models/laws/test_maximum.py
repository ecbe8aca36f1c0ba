from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from hindmost.models.laws.maximum import maximum_moments

RANKS = [1, 2, 3, 64, 8192, 10**6]


@pytest.mark.parametrize("ranks", RANKS)
def test_maximum_of_uniforms_is_p_over_p_plus_1(ranks: int) -> None:
    mean, variance = maximum_moments(special.ndtr, ranks)
    assert mean == pytest.approx(ranks / (ranks + 1), rel=1e-12)
    assert variance == pytest.approx(ranks / ((ranks + 1) ** 2 * (ranks + 2)), rel=1e-9)


@pytest.mark.parametrize("ranks", RANKS)
def test_maximum_of_exponentials_is_the_harmonic_number(ranks: int) -> None:
    mean, variance = maximum_moments(lambda z: -special.log_ndtr(-z), ranks)
    k = np.arange(1, ranks + 1)
    assert mean == pytest.approx(np.sum(1.0 / k), rel=1e-11)
    assert variance == pytest.approx(np.sum(1.0 / k**2), rel=1e-9)


def test_maximum_of_one_is_the_mean_of_the_law() -> None:
    law = stats.johnsonsu(-1.5, 0.9, loc=2.0, scale=0.5)
    mean, variance = maximum_moments(lambda z: 2.0 + 0.5 * np.sinh((z + 1.5) / 0.9), 1)
    assert mean == pytest.approx(law.mean(), rel=1e-9)
    assert variance == pytest.approx(law.var(), rel=1e-6)
