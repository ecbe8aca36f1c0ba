"""Exact sums against Python's own, which round once."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.harness.adaptive.physics.loops.exact_sums import (
    BINS,
    TERMS,
    exact_dots,
    rounded,
)

Values = NDArray[np.float64]


def bins_of(a: Values, b: Values) -> NDArray[np.int64]:
    terms = np.empty(TERMS)
    bins = np.empty((2, BINS), np.int64)
    exact_dots(a, b, np.ones_like(a), a.size, terms, terms.view(np.int64), bins)
    return bins


def wide(size: int, seed: int) -> Values:
    """Return numbers of both signs from 1e-300 to 1e300."""
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, size) * 10.0 ** random.integers(-300, 300, size)


@pytest.mark.parametrize("size", [1, 5, 1024, 1025, 7000])
@pytest.mark.parametrize("seed", [1, 2])
def test_they_are_exact(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = wide(size, seed), random.standard_normal(size)
    first, second = (rounded(row) for row in bins_of(a, b))
    assert first == pytest.approx(fsum(a), rel=5e-16, abs=0)
    assert second == pytest.approx(fsum(b), rel=5e-16, abs=0)


def test_what_cancels_leaves_the_smallest_term() -> None:
    a = np.concatenate([wide(500, 3), [3e-320, 1e-310]])
    a = np.concatenate([a, -a[:-1]])
    for random in (np.random.default_rng(seed) for seed in range(5)):
        mixed = random.permutation(a)
        bins = bins_of(mixed, -mixed)
        assert (rounded(bins[0]), rounded(bins[1])) == (1e-310, -1e-310)


def test_neither_order_nor_parts_change_a_bit() -> None:
    a, b = wide(3000, 4), np.random.default_rng(4).standard_normal(3000)
    whole = [rounded(row) for row in bins_of(a, b)]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(a.size)
        parts = np.array_split(order, [0, 10, 1700, 2999])
        total = sum(bins_of(a[part], b[part]) for part in parts)
        assert isinstance(total, np.ndarray)
        assert [rounded(row) for row in total] == whole
    # Plain sums do change.
    assert (
        len({float(np.cumsum(b[np.random.default_rng(s).permutation(3000)])[-1]) for s in range(5)})
        > 1
    )


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_not_hidden(value: float) -> None:
    bins = bins_of(np.array([1.0, value]), np.array([1.0, 2.0]))
    assert np.isnan(rounded(bins[0]))
    assert rounded(bins[1]) == 3.0


def test_nothing_is_zero() -> None:
    assert [rounded(row) for row in bins_of(np.zeros(3), np.array([0.0, -0.0, 0.0]))] == [0, 0]
