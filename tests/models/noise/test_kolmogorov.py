from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal, stats

from hindmost.errors import DataError, UsageError
from hindmost.models.noise.kolmogorov import (
    MOST_RANKS,
    compare_ranks,
    critical_distance,
)


def correlated(phi: float, shape: tuple[int, int], seed: int) -> NDArray[np.float64]:
    """Return lognormal times (iteration, rank) whose logs are AR(1) series of one law."""
    noise = np.random.default_rng(seed).standard_normal((shape[0] + 200, shape[1]))
    logs = signal.lfilter([1.0], [1.0, -phi], noise, axis=0)[200:] * np.sqrt(1.0 - phi**2)
    return np.asarray(1e-4 * np.exp(0.2 * logs))


@pytest.mark.parametrize("resolution", [0.0, 0.05, 1.0])
def test_distances_are_those_of_scipy(resolution: float) -> None:
    times = np.random.default_rng(1).gamma(2.0, 1.0, (300, 7))
    times[:, 3] *= 1.3
    if resolution:
        times = np.round(times / resolution) * resolution
    comparison = compare_ranks(times)
    assert comparison.pairs == comparison.possible == 21
    for p, q, distance in zip(
        comparison.first, comparison.second, comparison.distance, strict=True
    ):
        scipys = stats.ks_2samp(times[:, p], times[:, q], method="asymp").statistic
        assert distance == pytest.approx(scipys, abs=1e-12)


def test_critical_distance_is_the_limit_law_of_kolmogorov() -> None:
    # The paper prints 0.024 and 0.023, which are those of alpha = 0.10.
    assert critical_distance(0.05, 5000, 5000) == pytest.approx(0.0272, abs=5e-5)
    assert critical_distance(0.05, 5334, 5334) == pytest.approx(0.0263, abs=5e-5)
    assert critical_distance(0.10, 5000, 5000) == pytest.approx(0.0245, abs=5e-5)
    for alpha in (0.001, 0.05, 0.1):
        c = critical_distance(alpha, 1.0, 1.0) / np.sqrt(2.0)
        assert stats.kstwobign.sf(c) == pytest.approx(alpha, rel=1e-3)


@pytest.mark.parametrize("phi", [0.5, 0.7, 0.9])
def test_serial_correlation_is_allowed_for(phi: float) -> None:
    # No rank is in two pairs, so the tests are independent.
    pairs = 400
    times = correlated(phi, (2000, 2 * pairs), seed=int(10 * phi)).reshape(2000, pairs, 2)
    found = [compare_ranks(times[:, pair]) for pair in range(pairs)]
    plain, corrected = (
        sum(each.rejected for each in found),
        int(sum(each.rejected_corrected for each in found)),
    )
    assert plain > 0.15 * pairs
    # Seldom at one law, and not never.
    assert stats.binomtest(corrected, pairs, 0.05, alternative="greater").pvalue > 0.01
    assert corrected > 0


def test_ranks_of_unlike_law_are_told_apart_in_spite_of_correlation() -> None:
    times = correlated(0.7, (5000, 20), seed=5)
    times[:, 7] *= 1.1  # half a standard deviation
    comparison = compare_ranks(times)
    differs = comparison.distance > comparison.corrected
    with_7 = (comparison.first == 7) | (comparison.second == 7)
    assert differs[with_7].all()
    assert differs[~with_7].mean() < 0.1


def test_of_many_ranks_some_are_compared_and_that_is_said() -> None:
    times = correlated(0.0, (50, 400), seed=6)
    comparison = compare_ranks(times)
    assert comparison.pairs == MOST_RANKS * (MOST_RANKS - 1) // 2
    assert comparison.possible == 400 * 399 // 2
    assert {0, 399} < {*comparison.first.tolist(), *comparison.second.tolist()}
    assert f"{comparison.pairs:,} pairs of ranks, a sample of 79,800" in comparison.explain()


def test_constant_and_equal_ranks_are_alike() -> None:
    comparison = compare_ranks(np.full((40, 3), 1e-4))
    assert comparison.rejected == comparison.rejected_corrected == 0.0
    assert comparison.explain().endswith(".")
    figures = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    assert figures["distance_largest"] == 0.0


@pytest.mark.parametrize(
    ("times", "options", "error", "word"),
    [
        (np.ones((5, 1)), {}, DataError, "at least 2"),
        (np.ones(5), {}, DataError, "at least 2"),
        (np.full((5, 2), np.nan), {}, DataError, "not a number"),
        (np.ones((5, 2)), {"alpha": 1.0}, UsageError, "between 0 and 1"),
    ],
)
def test_what_cannot_be_tested_is_refused(
    times: NDArray[np.float64], options: dict[str, float], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        compare_ranks(times, **options)
