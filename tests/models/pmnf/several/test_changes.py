"""Changes of behaviour at a value of one of several parameters."""

import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import AXES, FAMILIES, balanced, cross, draw, grid
from numpy.typing import NDArray

from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import find_joint_changes, fit_parameters

GRID = grid((2.0, 4.0, 8.0, 16.0, 32.0), (10.0, 20.0, 40.0, 80.0, 160.0, 320.0))
P, N = GRID.T
KINDS = {
    "n": np.where(N <= 80.0, 1.0 + 0.01 * N * np.log2(P), 5.0 + 0.05 * N * np.log2(P)),
    "p": np.where(P <= 4.0, 0.1 * P * N, 20.0 + 0.3 * N),
}
PLACES = {"n": (80.0, 160.0), "p": (4.0, 8.0)}


def noisy(truth: NDArray[np.float64], count: int, noise: float) -> NDArray[np.float64]:
    """Return kernels of one function with multiplicative noise."""
    random = np.random.default_rng(8)
    return np.asarray(truth * np.exp(noise * random.standard_normal((count, truth.size))))


@pytest.mark.parametrize("parameter", KINDS)
@pytest.mark.parametrize("noise", [None, "multiplicative"])
def test_a_change_in_one_parameter_is_found(parameter: str, noise: str | None) -> None:
    values = noisy(KINDS[parameter], 10, 0.05)
    found = find_joint_changes(fit_parameters(GRID, values, noise=noise))
    right = [(each.parameter, each.changes[0].low, each.changes[0].high) for each in found.values()]
    assert len(right) >= 9
    assert right.count((parameter, *PLACES[parameter])) >= 9


def test_each_side_has_its_function() -> None:
    change = find_joint_changes(fit_parameters(GRID, noisy(KINDS["p"], 1, 0.02)))[0]
    at = np.array([[4.0, 100.0], [16.0, 100.0], [3.0, 640.0], [64.0, 640.0]])
    assert change.numbers_at(at).tolist() == [0, 1, 0, 1]
    assert change.evaluate(at)[2:] == pytest.approx([192.0, 212.0], rel=0.05)
    assert change.places() == "between p = 4 and 8"
    assert change.advice() == (
        "only 2 values of p from 2 to 4: how it grows with p there is open; measure 3 more; "
        "only 3 values of p from 8 to 32: how it grows with p there is open; measure 2 more"
    )


def test_few_values_after_a_change_leave_the_growth_beyond_them_open() -> None:
    """Three values of p fix no exponent, however many points have them; six of n do."""
    change = find_joint_changes(fit_parameters(GRID, noisy(KINDS["p"], 1, 0.002)))[0]
    at = np.array([[32.0, 320.0], [128.0, 320.0], [32.0, 1280.0]])
    low, high = change.interval(at)
    inside, beyond_p, beyond_n = np.log(high / low)
    assert beyond_p > inside + np.log(4.0) * 0.99
    assert beyond_n < 0.3
    # What goes on with a higher exponent than the model's from the last point on is inside.
    assert low[1] < change.evaluate(at)[1] * 4.0**0.4 < high[1]


@pytest.mark.parametrize("kind", [NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE])
def test_one_behaviour_is_rarely_taken_for_two(kind: NoiseKind) -> None:
    random = np.random.default_rng(9)
    points = grid(*AXES[:2])
    found = 0
    for family in FAMILIES:
        drawn = balanced(random, draw(random, family, 15), points)
        values = measured(random, drawn(points), noise=0.05, kind=kind)[..., 0]
        values = np.maximum(values, 1e-3 * values.mean(axis=1, keepdims=True))
        found += len(find_joint_changes(fit_parameters(points, values)))
    assert found <= 1


def test_lines_are_too_few_points() -> None:
    points = cross(*AXES[:2])
    values = np.where(points[:, 1] < 25.0, 1.0, 50.0) * points[:, 0]
    assert find_joint_changes(fit_parameters(points, values)) == {}


def test_kernels_without_some_points_are_judged_on_those_they_have() -> None:
    values = noisy(KINDS["p"], 2, 0.02)
    values[1, ::7] = np.nan
    found = find_joint_changes(fit_parameters(GRID, values))
    assert {each.parameter for each in found.values()} == {"p"}
    assert sorted(found) == [0, 1]
    assert sum(part.points for part in found[1].segments) == np.isfinite(values[1]).sum()
