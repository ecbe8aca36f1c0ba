"""Kernels whose growth everybody knows: dense factorisations, and what does not grow at all."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.pmnf import fit_segments
from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import fit_parameters
from hindmost.models.pmnf.space import SEARCH_SPACES

CUBE = (Fraction(3), Fraction(0))
SIZES = {
    "doubling": 2.0 ** np.arange(7, 14),
    "even": np.arange(256.0, 2305.0, 256.0),
    "uneven": np.array([128.0, 256.0, 512.0, 1024.0, 1536.0, 2048.0, 3072.0]),
    "five": 100.0 * 2.0 ** np.arange(5),
}
HOMME = np.array([600.0, 1176.0, 2400.0, 4056.0, 7776.0, 11616.0, 13824.0])
RANKS = {"doubling": 2.0 ** np.arange(1, 8), "even": np.arange(1.0, 8.0), "homme": HOMME}


@pytest.mark.parametrize("space", list(SEARCH_SPACES))
@pytest.mark.parametrize("sizes", SIZES.values(), ids=list(SIZES))
def test_a_dense_factorisation_is_cubic(sizes: NDArray[np.float64], space: str) -> None:
    found = fit(sizes, 2e-9 * sizes**3, space=space, parameter="n")[0]
    assert found.expression() == "2e-9 * n^3"
    far = 4.0 * sizes[-1]
    assert float(found.predict(far)[0]) == pytest.approx(2e-9 * far**3, rel=1e-6)


@pytest.mark.parametrize("noise", [0.02, 0.05])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=list(SIZES))
def test_a_dense_factorisation_is_cubic_under_noise(
    sizes: NDArray[np.float64], noise: float
) -> None:
    random = np.random.default_rng(11)
    truth = np.tile(0.01 + 2e-9 * sizes**3, (40, 1))
    found = fit(sizes, measured(random, truth, noise=noise, repetitions=3))
    assert np.mean([found[k].form.leading == (CUBE,) for k in range(len(found))]) >= 0.95


def test_a_dense_factorisation_has_one_behaviour() -> None:
    sizes = SIZES["uneven"]
    truth = np.tile(0.01 + 2e-9 * sizes**3, (40, 1))
    values = measured(np.random.default_rng(11), truth, noise=0.05, repetitions=3)
    found = fit_segments(sizes, np.concatenate([truth[:1, :, None].repeat(3, axis=2), values]))
    assert not found.changed
    assert found[0].whole.form.leading == (CUBE,)


def test_a_factorisation_after_a_change_is_cubic() -> None:
    sizes = 100.0 * np.arange(1.0, 11.0)
    values = np.where(sizes < 450.0, 4e-5 * sizes, 5.0 + 2e-8 * sizes**3)
    found = fit_segments(sizes, values, noise="multiplicative")[0]
    assert len(found.segmentation.changes) == 1
    assert found.model_at([1000.0]).form.leading == (CUBE,)


def test_a_factorisation_shared_by_ranks_is_cubic() -> None:
    ranks, sizes = (axis.ravel() for axis in np.meshgrid(2.0 ** np.arange(5), SIZES["five"]))
    points = np.column_stack([ranks, sizes])
    truth = np.tile(0.01 + 2e-9 * sizes**3 / ranks, (4, 1))
    values = measured(np.random.default_rng(12), truth, noise=0.05, repetitions=3)
    models = fit_parameters(points, values, parameters=("p", "n"))
    leading = ((Fraction(-1), Fraction(0)), CUBE)
    assert all(models[k].form.leading == leading for k in range(4))


@pytest.mark.parametrize("squares", [0.1, 1.0])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=list(SIZES))
def test_intervals_know_of_a_second_term(sizes: NDArray[np.float64], squares: float) -> None:
    """Of n^3 + n^2, few points with noise show one term whose exponent lies between."""
    random = np.random.default_rng(13)
    further = np.append(sizes, 4.0 * sizes[-1]) / sizes[-1]
    truth = np.tile(0.001 + further**3 + squares * further**2, (100, 1))
    values = measured(random, truth, noise=0.05)[..., 0]
    low, high = fit(sizes, values[:, :-1], noise="multiplicative").interval(4.0 * sizes[-1:])
    held = (low[:, 0] <= values[:, -1]) & (values[:, -1] <= high[:, 0])
    assert held.mean() > (0.5 if sizes.size == 5 else 0.7)


@pytest.mark.parametrize("ranks", RANKS.values(), ids=list(RANKS))
@pytest.mark.parametrize("noise", [0.02, 0.05, 0.15])
def test_the_interval_of_a_constant_is_within_its_noise(
    ranks: NDArray[np.float64], noise: float
) -> None:
    random = np.random.default_rng(14)
    values = measured(random, np.full((400, ranks.size), 49.75), noise=noise)
    low, high = fit(ranks, values, noise="multiplicative").interval(np.array([54150.0]))
    width = (high - low)[:, 0] / 49.75
    # One in ten is allowed to look as if it grew: noise makes it.
    assert np.quantile(width, 0.85) < 3.5 * noise
    new = 49.75 * (1.0 + noise * random.uniform(-1.0, 1.0, 400))
    assert ((low[:, 0] <= new) & (new <= high[:, 0])).mean() > 0.86


@pytest.mark.parametrize("repetitions", [1, 5])
@pytest.mark.parametrize("value", [49.75, 0.1, 1.0 / 3.0])
@pytest.mark.parametrize("ranks", RANKS.values(), ids=list(RANKS))
def test_what_is_constant_stays_so_far_out(
    ranks: NDArray[np.float64], value: float, repetitions: int
) -> None:
    values = np.full((1, ranks.size, repetitions), value)
    one_off = values.copy()
    one_off[0, -1] = np.nextafter(value, np.inf)  # a unit of rounding
    for each in (values, one_off):
        model = fit(ranks, each)[0]
        assert model.form.terms == ()
        low, high = model.interval(54150.0)
        np.testing.assert_allclose([low[0], high[0]], value, rtol=1e-12)


@pytest.mark.parametrize("power", [1.0 / 3.0, 0.5, 1.0, 2.0])
def test_what_falls_towards_nothing_stays_above_it(power: float) -> None:
    ranks = RANKS["doubling"]
    truth = np.tile(100.0 * ranks**-power, (200, 1))
    values = measured(np.random.default_rng(15), truth, noise=0.05)
    far = fit(ranks, values, noise="multiplicative").predict(np.array([1e6]))
    assert (far > 0.0).all()


def doubts_of(values: NDArray[np.float64]) -> list[str]:
    return fit(RANKS["doubling"], values, noise="multiplicative")[0].doubts()


def test_a_mean_of_values_far_apart_is_doubted() -> None:
    (doubt,) = doubts_of(np.array([5.0, 50.0, 7.0, 60.0, 4.0, 45.0, 6.0]))
    assert "their mean is a poor prediction" in doubt
    assert doubts_of(np.array([5.0, 5.2, 4.9, 5.1, 5.0, 4.8, 5.1])) == []


@pytest.mark.parametrize("space", ["paper", "fine"])
@pytest.mark.parametrize("points", [2.0 ** np.arange(6), 2.0 ** np.arange(8), np.arange(1.0, 13.0)])
def test_functions_of_values_above_zero_are_above_zero(
    space: str, points: NDArray[np.float64]
) -> None:
    """At the measured points, between them, and up to 64 times the largest."""
    random = np.random.default_rng(5)
    work, cost = 10.0 ** random.uniform(-2.0, 2.0, (2, 300, 1))
    falls, grows = random.uniform([[[0.3]], [[0.0]]], [[[1.5]], [[1.5]]], (2, 300, 1))
    values = work / points**falls + cost * points**grows
    values *= np.exp(random.choice([0.02, 0.1, 0.3], (300, 1)) * random.normal(size=values.shape))
    models = fit(points, values, space=space)
    assert (models.predict(np.geomspace(points[0], 64.0 * points[-1], 50)) > 0.0).all()


def test_the_steepest_term_may_not_be_steep_enough() -> None:
    told = doubts_of(RANKS["doubling"] ** 4.0)
    assert any("it may grow faster" in each for each in told)
