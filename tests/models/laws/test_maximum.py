from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from hindmost.models.laws.maximum import maximum_moments

RANKS = [1, 2, 3, 64, 8192, 10**6]


@pytest.mark.parametrize("ranks", RANKS)
def test_maximum_of_exponentials_is_the_harmonic_number(ranks: int) -> None:
    mean, variance = maximum_moments(lambda z: -special.log_ndtr(-z), ranks)
    k = np.arange(1, ranks + 1)
    assert mean == pytest.approx(np.sum(1.0 / k), rel=1e-11)
    assert variance == pytest.approx(np.sum(1.0 / k**2), rel=1e-9)
