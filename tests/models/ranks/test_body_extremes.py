"""Sums and extremes of all ranks, held against plain numpy over the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.models.laws.law import fit_johnsonsu
from hindmost.models.noise.digest import Digest
from hindmost.models.ranks.body_extremes import digest_of_ranks

BODIES, RANKS = 60, 7
FILL = np.arange(BODIES) < 5


def bodies() -> NDArray[np.float64]:
    random = np.random.default_rng(1)
    work = 1e-4 * (1.0 + random.gamma(1.0, 0.2, (BODIES, RANKS)))
    return np.asarray(work + random.exponential(2e-5, work.shape))


def test_bodies_are_those_of_all_ranks() -> None:
    durations = bodies()
    found = digest_of_ranks(durations, FILL)
    np.testing.assert_array_equal(found.fastest, durations.min(axis=1))
    np.testing.assert_array_equal(found.slowest, durations.max(axis=1))
    np.testing.assert_allclose(found.middle, durations.mean(axis=1), rtol=1e-14)


def test_the_histogram_has_the_moments_and_the_law_of_all_bodies() -> None:
    durations = bodies()
    sample = digest_of_ranks(durations, FILL).sample
    counted = durations[~FILL]
    assert sample.size == counted.size
    assert (sample.smallest, sample.largest) == (counted.min(), counted.max())
    assert sample.mean == pytest.approx(counted.mean(), rel=1e-14)
    assert sample.std == pytest.approx(counted.std(), rel=1e-12)
    law, true = fit_johnsonsu(sample), fit_johnsonsu(counted)
    assert law.mean == pytest.approx(true.mean, rel=1e-9)
    assert law.variance == pytest.approx(true.variance, rel=1e-6)


@pytest.mark.parametrize("level", [1e-4, 0.0])
def test_bodies_that_are_all_the_same_have_one_bin(level: float) -> None:
    same = np.full((10, 3), level + 1e-6)
    found = digest_of_ranks(same, np.zeros(10, bool)).sample
    assert found.count.tolist() == [30]
    assert found.point == pytest.approx([level + 1e-6])
    assert np.sqrt(found.variance) == pytest.approx([0.0], abs=1e-15)


def test_processes_find_together_what_one_finds() -> None:
    durations = bodies()

    def on_one(spread: Spread) -> Digest:
        return digest_of_ranks(durations[:, spread.mine], FILL, reductions=spread)

    alone = digest_of_ranks(durations, FILL)
    for found in on_processes(3, RANKS, on_one):
        for name in ("fastest", "slowest", "middle"):
            np.testing.assert_allclose(getattr(found, name), getattr(alone, name), rtol=1e-12)
        for name in ("point", "count", "variance", "smallest", "largest"):
            one, other = getattr(found.sample, name), getattr(alone.sample, name)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
