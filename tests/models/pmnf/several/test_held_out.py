"""How well outermost points are foretold, and intervals that are as wide as that needs."""

import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import AXES, cross, grid
from numpy.typing import NDArray

from hindmost.models.pmnf.several import fit_parameters, foretell_outermost
from hindmost.models.pmnf.several.averaging import widened

GRID = grid(*AXES[:2])


def noisy(truth: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return 12 kernels of one function."""
    random = np.random.default_rng(4)
    return np.asarray(truth * np.exp(noise * random.standard_normal((12, truth.size))))


def test_a_function_of_the_search_space_is_foretold_within_its_noise() -> None:
    found = foretell_outermost(fit_parameters(GRID, noisy(1.0 + GRID.prod(axis=1), 0.02)))
    assert found is not None
    assert (found.points, found.errors.size) == (9, 108)
    assert found.median < 0.03
    assert found.within > 0.8
    assert found.wider < 1.5


def test_what_no_term_foretells_needs_wider_intervals() -> None:
    """A step between the last two values of a parameter."""
    truth = np.where(GRID[:, 0] == GRID[:, 0].max(), 3.0, 1.0) * GRID.prod(axis=1)
    found = foretell_outermost(fit_parameters(GRID, noisy(truth, 0.02)))
    assert found is not None
    assert found.within < 0.7
    assert found.wider > 3.0
    assert "made" in found.explain()
    assert "times as wide" in found.explain()


def test_intervals_are_wider_beyond_the_parameter_that_is_hard_to_foretell() -> None:
    truth = np.where(GRID[:, 0] == GRID[:, 0].max(), 3.0, 1.0) * GRID.prod(axis=1)
    found = foretell_outermost(fit_parameters(GRID, noisy(truth, 0.02)))
    assert found is not None
    first, second = (found.wider_beyond(np.array(each)) for each in ((True, False), (False, True)))
    assert first > 3.0
    assert second < 1.5
    assert found.wider_by_parameter == {"p": first, "n": second}
    assert f"made {first:.2g} (p)" in found.explain()


def test_lines_have_too_few_points() -> None:
    points = cross(*AXES[:2])
    assert foretell_outermost(fit_parameters(points, points.prod(axis=1))) is None


def test_intervals_are_widened_in_logarithms() -> None:
    one = np.array([10.0, 10.0])
    low, high = widened(one, np.array([5.0, -1.0]), np.array([20.0, 20.0]), 2.0)
    assert low.tolist() == pytest.approx([2.5, 0.0])
    assert high.tolist() == pytest.approx([40.0, 40.0])


@pytest.mark.parametrize("kind", ["exact", "constant", "step", "zero"])
def test_one_kernel_does_not_widen_the_intervals_of_others(kind: str) -> None:
    """Counts are exact, constant, jump at the outermost points, or are 0, beside noisy times."""
    times = noisy(4.0 + 1e-3 * GRID.prod(axis=1), 0.02)
    last = GRID[:, 0] == GRID[:, 0].max()
    counts = {
        "exact": 3.0 * GRID[:, 0] ** 2,
        "constant": np.full(len(GRID), 7.0),
        "step": np.where(last, 900.0, 100.0) * GRID[:, 0],
        "zero": np.zeros(len(GRID)),
    }[kind]
    repeated = np.stack([times[:3], times[3:6], times[6:9]], axis=2)
    alone, beside = (
        foretell_outermost(
            fit_parameters(GRID, values, noise="multiplicative" if np.all(values) else "additive")
        )
        for values in (repeated, np.concatenate([repeated, np.repeat(counts, 3).reshape(1, -1, 3)]))
    )
    assert alone is not None
    assert beside is not None
    assert beside.of_kernel(0).wider <= 1.3 * max(alone.of_kernel(0).wider, 1.0)
    if kind == "step":
        assert beside.of_kernel(3).wider > 3.0


def test_an_exact_count_keeps_its_interval_and_a_constant_with_noise_its_noise() -> None:
    """Every point of the constant has the same five repetitions: its mean is known, they differ."""
    repeated = np.stack(
        [
            np.repeat(1e6 * GRID[:, 1] ** 2, 5).reshape(-1, 5),
            np.tile([5.1, 4.9, 5.0, 5.0, 5.1], (len(GRID), 1)),
        ]
    )
    models = fit_parameters(GRID, repeated)
    at = 4.0 * GRID.max(axis=0)[None]
    low, high = models.interval(at)
    assert low[0, 0] == pytest.approx(high[0, 0], rel=1e-6)
    assert low[1, 0] == pytest.approx(5.02 - 1.645 * 0.0837, abs=0.05)
    assert high[1, 0] == pytest.approx(5.02 + 1.645 * 0.0837, abs=0.05)
    found = foretell_outermost(models)
    assert found is not None
    assert found.of_kernel(0).wider == found.of_kernel(1).wider == 1.0
