import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import AXES, FAMILIES, balanced, cross, draw, grid
from numpy.typing import NDArray

from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import fit_parameters
from hindmost.models.pmnf.several.averaging import lacking_together

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


def test_points_on_lines_hold_values_where_only_products_grow() -> None:
    """Products show at one point of 14; weights of a constant would make it outweigh all others."""
    random, points = np.random.default_rng(23), cross(*AXES[:3])
    drawn = balanced(random, draw(random, "multiplicative", 60, parameters=3), points)
    values = measured(random, drawn(points), noise=0.05)
    models = fit_parameters(points, values, noise="multiplicative", parameters=("p", "n", "q"))
    largest = points.max(axis=0)[None]
    new = measured(random, drawn(largest), noise=0.05)[:, 0, 0]
    low, high = models.interval(largest)
    assert np.mean((low[:, 0] <= new) & (new <= high[:, 0])) >= 0.8  # 0.92 measured


@pytest.mark.parametrize(
    ("points", "lacking"),
    [
        (grid(*AXES[:2]), 0),
        (cross(*AXES[:2]), 0),
        (cross(*AXES[:2])[:-1], 1),
        (cross(*AXES[:3]), 3),
        (np.concatenate([cross(*AXES[:3]), [[64, 50, 2], [64, 10, 10], [4, 50, 10]]]), 0),
        (cross(*AXES), 10),
    ],
)
def test_beyond_lines_there_is_no_interval(points: NDArray[np.float64], lacking: int) -> None:
    """Each set of two parameters and more needs a point off the lines: 1, 4 and 11."""
    assert lacking_together(points) == lacking
    names = ("p", "n", "q", "r")[: points.shape[1]]
    models = fit_parameters(points, 1.0 + points.prod(axis=1), parameters=names)
    at = points.max(axis=0) * np.array([[1.0], [4.0]])
    low, high = models.interval(at)
    assert np.isfinite([low[0, 0], high[0, 0]]).all()
    assert np.isnan([low[0, 1], high[0, 1]]).all() == bool(lacking)
