"""Single values far from their neighbours: left out and named, or only named."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.pmnf import fit_segments
from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.observations import lone_ratios
from hindmost.models.pmnf.segments.segmentation import SegmentVerdict
from hindmost.models.pmnf.several import fit_parameters

POINTS = 2.0 ** np.arange(1, 9)
GRID = np.array([(p, n) for p in POINTS[:5] for n in (10.0, 20.0, 40.0, 80.0, 160.0)])


def disturbed(at: int, factor: float = 1000.0) -> NDArray[np.float64]:
    """Return p / 2 with 1 % of noise, one value of which is far off."""
    values = 0.5 * POINTS * np.exp(0.01 * np.random.default_rng(3).standard_normal(POINTS.size))
    values[at] *= factor
    return np.asarray(values)


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("at", [1, 3, 6])
def test_one_value_a_thousand_times_off_changes_neither_model_nor_verdict(
    at: int, factor: float
) -> None:
    model = fit_segments(POINTS, disturbed(at, factor))[0]
    assert model.segmentation.verdict is SegmentVerdict.ONE
    assert model.evaluate(1024.0)[0] == pytest.approx(512.0, rel=0.05)
    (doubt,) = model.whole.doubts()
    assert f"the value at p = {POINTS[at]:g} is" in doubt
    assert "is left out: repeat the measurement" in doubt


def test_a_value_that_was_repeated_stays() -> None:
    values = disturbed(3)[:, None] * np.array([0.99, 1.0, 1.01])
    model = fit(POINTS, values[None])[0]
    assert model.values[3] == pytest.approx(8000.0, rel=0.05)
    assert any("what its neighbours suggest: repeat" in doubt for doubt in model.doubts())


def test_a_value_that_five_points_need_stays() -> None:
    model = fit(POINTS[:5], disturbed(2)[:5])[0]
    assert model.values.size == 5
    assert any("what its neighbours suggest: repeat" in doubt for doubt in model.doubts())


def test_under_additive_noise_small_values_stay() -> None:
    values = 100.0 + np.array([1.0, 2.0, -1.0, -95.0, 3.0, 0.0, 1.0, 2.0])
    assert fit(POINTS, values, noise="additive")[0].values.size == POINTS.size


def test_what_jumps_to_and_fro_has_no_lone_values() -> None:
    values = np.where(np.arange(8) % 2, 100.0, 1.0)
    assert np.isnan(lone_ratios(POINTS[:, None], values[None])).all()


def test_a_step_has_no_lone_values() -> None:
    values = np.where(POINTS < 20.0, POINTS, 1000.0 * POINTS)
    assert np.isnan(lone_ratios(POINTS[:, None], values[None])).all()


@pytest.mark.parametrize("at", [(8.0, 40.0), (2.0, 40.0)])
def test_one_value_of_a_grid_is_left_out(at: tuple[float, float]) -> None:
    values = 1.0 + 0.1 * GRID[:, 0] * GRID[:, 1]
    values[(np.array(at) == GRID).all(axis=1)] *= 1000.0
    model = fit_parameters(GRID, values)[0]
    assert model.predict(np.array([[128.0, 640.0]]))[0] == pytest.approx(8193.0, rel=0.01)
    (doubt,) = model.doubts()
    assert f"the value at p = {at[0]:g}, n = {at[1]:g} is" in doubt


def test_a_ridge_of_a_grid_is_not_alone() -> None:
    """All values of one p are far from those of the others, and like each other along n."""
    values = np.where(GRID[:, 0] == 8.0, 1000.0, 1.0) * GRID[:, 1]
    assert np.isnan(lone_ratios(GRID, values[None])).all()


def test_the_steepest_term_of_one_of_several_parameters_is_named() -> None:
    told = fit_parameters(GRID, 1.0 + GRID[:, 0] ** 4.0 * GRID[:, 1])[0].doubts()
    assert told == ["the search space has no steeper term of p: it may grow faster"]
