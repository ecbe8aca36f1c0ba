"""Sums and extremes of all ranks, held against plain numpy over the whole matrix."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.models.laws.johnsonsu import fit_johnsonsu
from hindmost.models.noise.all_ranks import BodyExtremes
from hindmost.models.ranks.body_extremes import extremes_of_bodies

BODIES, RANKS = 60, 7
FILL = np.arange(BODIES) < 5


def bodies() -> NDArray[np.float64]:
    random = np.random.default_rng(1)
    work = 1e-4 * (1.0 + random.gamma(1.0, 0.2, (BODIES, RANKS)))
    return np.asarray(work + random.exponential(2e-5, work.shape))


def test_bodies_are_those_of_all_ranks() -> None:
    durations = bodies()
    found = extremes_of_bodies(durations, FILL)
    np.testing.assert_array_equal(found.least, durations.min(axis=1))
    np.testing.assert_array_equal(found.most, durations.max(axis=1))
    np.testing.assert_allclose(found.mean, durations.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(found.deviation, durations.std(axis=1), rtol=1e-12)
    assert found.mean_s == pytest.approx(durations.mean(), rel=1e-14)
    assert found.deviation_s == pytest.approx(durations.std(), rel=1e-12)


def test_the_histogram_has_the_moments_and_the_law_of_all_bodies() -> None:
    durations = bodies()
    sample = extremes_of_bodies(durations, FILL).sample(FILL)
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
    found = extremes_of_bodies(same, np.zeros(10, bool))
    assert found.bin_count.tolist() == [30]
    assert found.bin_mean == pytest.approx([level + 1e-6])
    assert found.bin_deviation == pytest.approx([0.0], abs=1e-15)


def test_processes_find_together_what_one_finds() -> None:
    durations = bodies()

    def on_one(spread: Spread) -> BodyExtremes:
        return extremes_of_bodies(durations[:, spread.mine], FILL, reductions=spread)

    alone = extremes_of_bodies(durations, FILL)
    for found in on_processes(3, RANKS, on_one):
        for field in fields(BodyExtremes):
            np.testing.assert_allclose(
                getattr(found, field.name), getattr(alone, field.name), rtol=1e-12, atol=1e-15,
                err_msg=field.name,
            )  # fmt: skip
