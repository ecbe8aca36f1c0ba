"""P-values in words, and tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hindmost.models.significance import binomial_tail, p_number, p_words


@pytest.mark.parametrize(
    ("p_value", "told"),
    [(0.0, "p < 1e-15"), (1e-300, "p < 1e-15"), (2e-15, "p = 2e-15"), (0.0213, "p = 0.021")],
)
def test_no_p_value_is_told_to_be_zero(p_value: float, told: str) -> None:
    assert p_words(p_value) == told


def test_digits_are_those_asked_for() -> None:
    assert p_number(0.0213, 1) == "0.02"


def test_the_binomial_tail_is_that_of_scipy() -> None:
    for of, share in ((40, 1 / 3), (5000, 1 / 8192), (100_000, 1 / 64)):
        counts = np.unique(np.geomspace(1, of + 2, 60).astype(int)) - 1.0
        expected = stats.binom.sf(counts - 1.0, of, share)
        np.testing.assert_allclose(binomial_tail(counts, of, share), expected, rtol=1e-12)
    assert binomial_tail(0, 5, 0.5) == 1.0
    assert binomial_tail(6, 5, 0.5) == 0.0
