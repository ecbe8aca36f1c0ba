"""The steps in local noise are as large as they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.local_steps import LOCAL, shares, with_local_step


@pytest.mark.parametrize("size", [4, 8])
def test_a_step_is_of_some_standard_errors_of_the_noise_beside_it(size: int) -> None:
    random = np.random.default_rng(3)
    ratios = []
    for number in range(200):
        quiet = np.exp(random.normal(0.0, 0.02, 40))
        series = with_local_step("quiet", quiet, size, number)
        place = int(series.changes[0])
        sides = [min(place, LOCAL), min(quiet.size - place, LOCAL)]
        error = 0.02 * np.sqrt(sum(1.0 / side for side in sides))
        ratios.append(abs(series.effects[0]) / (size * error))
        step = np.log(series.values / quiet)
        assert np.allclose(step[:place], 0.0)
        assert np.allclose(step[place:], series.effects[0])
    assert np.median(ratios) == pytest.approx(1.0, abs=0.06)


def test_only_what_is_found_near_the_step_counts() -> None:
    values = np.exp(np.random.default_rng(4).normal(0.0, 0.02, 80))
    every = [with_local_step("one", values, size, 0) for size in (1, 60)]
    small, large = (int(series.changes[0]) for series in every)
    least = abs(float(every[1].effects[0]))
    assert shares(lambda _: ([[small + 3], [large - 2]], 0.0), every, least) == (0.5, 1.0, 1)
