"""A function that is far from values that repeat well is said not to fit."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.model import ScalingModel

POINTS = 2.0 ** np.arange(2, 10)
CHANGED = np.where(POINTS < 64.0, 1.0 + 0.05 * np.log2(POINTS), 0.06 * POINTS)


def repeated(truth: NDArray[np.float64], noise: float, seed: int = 0) -> NDArray[np.float64]:
    """Return five measurements of each value."""
    random = np.random.default_rng(seed)
    return truth[None, :, None] * (1.0 + noise * random.standard_normal((1, truth.size, 5)))


def fitted(values: NDArray[np.float64]) -> ScalingModel:
    """Fit one function under multiplicative noise."""
    return fit(POINTS, values, noise="multiplicative")[0]


def test_one_function_over_a_change_does_not_fit() -> None:
    model = fitted(repeated(CHANGED, 0.02))
    assert model.misfit is not None
    assert model.misfit.at in {(32.0,), (64.0,)}
    assert model.misfit.off > 0.15
    assert model.misfit.ratio > 10.0
    (doubt,) = [doubt for doubt in model.doubts() if "does not fit" in doubt]
    assert f"at p = {model.misfit.at[0]:g}" in doubt
    assert "does not fit" in model.explain()


def test_true_functions_fit() -> None:
    for seed in range(20):
        for truth in (2.0 + 0.01 * POINTS, 0.1 + 200.0 / POINTS, np.full(8, 5.0)):
            assert fitted(repeated(truth, 0.02, seed)).misfit is None


def test_wide_scatter_explains_a_misfit() -> None:
    assert fitted(repeated(CHANGED, 0.3)).misfit is None


def test_without_repetitions_nothing_is_said() -> None:
    assert fitted(CHANGED[None]).misfit is None
    assert fitted(np.repeat(CHANGED[None, :, None], 3, axis=2)).misfit is None


def test_a_small_misfit_is_accurate_enough_however_small_the_scatter() -> None:
    waves = (2.0 + 0.01 * POINTS) * (1.0 + 0.02 * np.cos(np.pi * np.arange(8)))
    assert fitted(repeated(waves, 1e-4)).misfit is None


def test_each_kernel_is_held_against_its_own_repetitions() -> None:
    steady, noisy = repeated(CHANGED, 0.01)[0], repeated(CHANGED, 0.3, seed=1)[0]
    models = fit(POINTS, np.stack([noisy, noisy, noisy, steady]), noise="multiplicative")
    assert [models[kernel].misfit is None for kernel in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("points", "values"),
    [
        # Small values that a relative fit of the large ones misses by a factor.
        ([1, 2, 4, 6, 8], [36.0, 32.1, 56.0, 510.0, 1398.0]),
        ([1, 2, 4, 8, 16], [9.0, 3.0, 1.0, 3.0, 9.0]),
        ([1, 2, 4, 8, 16, 32], [1.0, 5.0, 1.0, 5.0, 1.0, 5.0]),
    ],
)
def test_a_model_that_misses_its_own_points_by_half_does_not_fit(
    points: list[float], values: list[float]
) -> None:
    model = fit(np.array(points, float), np.array(values)[None])[0]
    fitted = model.predict(np.array(points, float))
    factors = np.exp(np.abs(np.log(fitted / np.array(values))))
    assert model.largest_miss == pytest.approx(factors.max())
    assert factors.max() > 1.5
    assert model.misfit is not None
    assert points.index(model.misfit.at[0]) == factors.argmax()
    assert f"off by a factor of {factors.max():.2g} at p = " in model.misfit.explain(("p",))
    assert np.isnan(model.misfit.ratio)
    assert model.misfit.standard_errors() is None
    assert "grows like" not in model.explain()


def test_noise_of_a_tenth_is_no_misfit_without_repetitions() -> None:
    random = np.random.default_rng(7)
    points = 2.0 ** np.arange(1, 10)
    values = (5.0 + points**1.5) * np.exp(0.1 * random.standard_normal((40, points.size)))
    models = fit(points, values, noise="multiplicative")
    assert sum(models[kernel].misfit is not None for kernel in range(40)) <= 1


def test_small_values_beside_additive_noise_are_no_misfit() -> None:
    random = np.random.default_rng(7)
    points = 2.0 ** np.arange(1, 10)
    values = 10.0 + points**2 + 8.0 * random.standard_normal((20, points.size))
    models = fit(points, np.abs(values), noise="additive")
    assert all(models[kernel].misfit is None for kernel in range(20))
