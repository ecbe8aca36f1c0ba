from __future__ import annotations

import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import AXES, FAMILIES, draw, grid

from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import fit_parameters

GRID = grid(*AXES[:2])
FAR = 4.0 * GRID.max(axis=0)[None]


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_at_four_times_cover_what_they_say(family: str) -> None:
    random = np.random.default_rng(20)
    drawn = draw(random, family, 150)
    models = fit_parameters(GRID, measured(random, drawn(GRID), noise=0.05), noise="multiplicative")
    new = measured(random, drawn(FAR), noise=0.05)[:, 0, 0]
    low, high = models.interval(FAR)
    covered = np.mean((low[:, 0] <= new) & (new <= high[:, 0]))
    assert 0.80 <= covered <= 0.97  # 0.9 within three standard deviations of 150 sets, and a bit


def test_a_higher_level_is_wider() -> None:
    random = np.random.default_rng(21)
    values = measured(random, draw(random, "mixed", 20)(GRID), noise=0.1)
    models = fit_parameters(GRID, values, noise="multiplicative")
    narrow, wide = (models.interval(FAR, level=level) for level in (0.5, 0.95))
    assert (wide[0] < narrow[0]).all()
    assert (wide[1] > narrow[1]).all()


def test_of_constants_few_get_a_term() -> None:
    values = measured(np.random.default_rng(22), np.ones((300, 25)), noise=0.05)
    models = fit_parameters(GRID, values, noise="multiplicative")
    assert (~models.hypotheses.constant).mean() <= 0.08  # 0.04 measured
