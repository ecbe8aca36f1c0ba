"""Forecasts of kernels with known truth, and what makes an interval wide."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.pmnf.forecast import MeasuredKernels, Predictions, forecast_kernels
from hindmost.models.pmnf.forecast.candidates import Candidate, hold_out
from hindmost.models.pmnf.predictive import weighted_quantile

POINTS = 2.0 ** np.arange(2, 11)


def forecast(values: NDArray[np.float64], at: float = 4096.0) -> Predictions:
    """Foretell kernels that were measured at `POINTS`."""
    (found,) = forecast_kernels([MeasuredKernels(points=POINTS, values=np.atleast_2d(values))], at)
    return found


def noisy(truth: NDArray[np.float64], noise: float, seed: int = 1) -> NDArray[np.float64]:
    """Multiply by lognormal noise."""
    return np.asarray(
        truth * np.exp(noise * np.random.default_rng(seed).standard_normal(truth.shape))
    )


@pytest.mark.parametrize(
    ("growth", "at"),
    [
        (lambda p: 0.001 * p**3, 4096.0),
        (lambda p: 5.0 + 0.0 * p, 1e6),
        (lambda p: 40.0 + 3.0 * p, 4096.0),
        (lambda p: 300.0 / p**0.8, 4096.0),
        (lambda p: 2.0 + 300.0 / p + 0.4 * p**0.5, 4096.0),
        (lambda p: 8.0 * p, 1e6),
    ],
)
def test_growth_without_noise_is_foretold_exactly(growth, at: float) -> None:  # type: ignore[no-untyped-def]
    found = forecast(growth(POINTS), at)
    assert found.predicted[0] == pytest.approx(growth(at), rel=1e-6)
    assert found.low[0] < growth(at) < found.high[0]


@pytest.mark.parametrize("growth", [lambda p: 5.0 + p * np.log2(p), lambda p: 100.0 + p**2])
def test_other_growth_is_foretold_nearly(growth) -> None:  # type: ignore[no-untyped-def]
    found = forecast(growth(POINTS))
    assert found.predicted[0] == pytest.approx(growth(4096.0), rel=0.03)
    assert found.low[0] < growth(4096.0) < found.high[0]


def test_dense_factorisations_stay_cubic() -> None:
    sizes = np.array([500.0, 1000.0, 2000.0, 4000.0, 8000.0])
    truth = np.tile(0.01 + 2e-9 * sizes**3, (200, 1))
    kernels = MeasuredKernels(points=sizes, values=noisy(truth, 0.02))
    (found,) = forecast_kernels([kernels], 32000.0)
    error = np.abs(found.predicted / (0.01 + 2e-9 * 32000.0**3) - 1.0)
    assert np.median(error) < 0.06
    assert np.percentile(error, 90) < 0.15


def test_forecasts_know_no_units_and_no_order() -> None:
    values = noisy(np.stack([POINTS**0.8, 50.0 + POINTS, 300.0 / POINTS + 2.0]), 0.1)
    one, scaled = forecast(values), forecast(1e-6 * values)
    np.testing.assert_allclose(scaled.predicted, 1e-6 * one.predicted)
    np.testing.assert_allclose(scaled.high, 1e-6 * one.high)
    turned = forecast(values[::-1])
    np.testing.assert_allclose(turned.predicted[::-1], one.predicted)
    np.testing.assert_allclose(turned.low[::-1], one.low)
    np.testing.assert_array_equal(forecast(values).weights, one.weights)


def test_kernels_learn_from_one_another() -> None:
    """A kernel that says little itself is continued as the others of its experiment are."""
    start = np.geomspace(1.0, 900.0, 30)[:, None]
    steady = start * POINTS / POINTS[0]
    stuck = np.where(POINTS < 1000.0, 7.0, 14.0)[None]
    alone = forecast(stuck).predicted[0]
    among = forecast(np.concatenate([stuck, noisy(steady, 0.01)])).predicted[0]
    assert among > alone


def test_a_surprise_widens_the_interval() -> None:
    calm = noisy(POINTS, 0.02)
    shaken = calm.copy()
    shaken[-1] *= 3.0
    width = [float(np.log(each.high / each.low)[0]) for each in (forecast(calm), forecast(shaken))]
    assert width[1] > 2.0 * width[0]


def test_slower_than_foretold_is_the_likelier_surprise() -> None:
    shared = noisy(300.0 / POINTS + 2.0, 0.03)
    found = forecast(np.stack([shared, noisy(POINTS**0.7, 0.03), noisy(0.0 * POINTS + 4.0, 0.03)]))
    assert (found.high / found.predicted > found.predicted / found.low).all()


def test_a_line_that_falls_to_zero_before_the_target_foretells_nothing() -> None:
    points = 2.0 ** np.arange(1, 11)
    values = (100.0 - 0.05 * points)[None]
    near, far = (
        forecast_kernels([MeasuredKernels(points=points, values=values)], at)[0]
        for at in (1500.0, 4096.0)
    )
    assert near.predicted[0] == pytest.approx(25.0)
    line, form = (list(Candidate).index(each) for each in (Candidate.LINE, Candidate.FORM))
    assert near.weights[0, form] == 1.0
    assert far.weights[0, line] == far.weights[0, form] == 0.0
    assert far.high[0] > 2.0 * far.low[0]


def test_intervals_grow_with_the_distance() -> None:
    values = noisy(POINTS**0.7 + 5.0, 0.1)
    widths = [
        float(np.log(each.high / each.low)[0])
        for at in (2e3, 8e3, 1e6, 1e15)
        for each in [forecast(values, at)]
    ]
    assert widths == sorted(widths)
    assert widths[-1] > np.log(1000.0)


@pytest.mark.parametrize("exponent", [-1.0, 0.0, 1.0])
def test_two_points_of_a_plain_growth_are_continued(exponent: float) -> None:
    values = np.where(POINTS[2] > POINTS, POINTS**exponent, np.nan)[None]
    (found,) = forecast_kernels([MeasuredKernels(points=POINTS, values=values)], 4.0 * POINTS[1])
    assert found.low[0] < (4.0 * POINTS[1]) ** exponent < found.high[0]


@pytest.mark.parametrize("at", [40.0, 160.0])
def test_exact_growth_is_predicted_exactly(at: float) -> None:
    points = np.arange(1.0, 11.0)
    growths: list[Callable[[Any], Any]] = [
        lambda x: 3.0 + x**2,
        lambda x: 40.0 + x * np.log2(x),
        lambda x: 1.0 + 9.0 / x,
    ]
    for growth in growths:
        (found,) = forecast_kernels(
            [MeasuredKernels(points=points, values=growth(points)[None])], at
        )
        assert found.predicted[0] == pytest.approx(growth(at))
        assert found.low[0] < growth(at) < found.high[0]


def test_groups_are_one_experiment() -> None:
    values = noisy(np.stack([POINTS, 3.0 * POINTS, 9.0 * POINTS**0.5, POINTS + 70.0]), 0.1)
    together = forecast(values)
    parts = [MeasuredKernels(points=POINTS, values=each) for each in (values[:1], values[1:])]
    found = forecast_kernels(parts, 4096.0)
    np.testing.assert_allclose(
        np.concatenate([each.predicted for each in found]), together.predicted
    )
    np.testing.assert_allclose(np.concatenate([each.high for each in found]), together.high)


def test_only_the_last_behaviour_counts_after_a_change() -> None:
    values = np.where(POINTS < 500.0, POINTS, 1e5)[None]
    (found,) = forecast_kernels(
        [MeasuredKernels(points=POINTS, values=values, recent=np.array([2.0]))], 4096.0
    )
    assert found.weights[0, list(Candidate).index(Candidate.PARTS)] == 0.0
    assert 0.5e5 < found.predicted[0] < 5e5


@pytest.mark.parametrize(
    ("values", "at", "told"),
    [
        ([1.0, *[np.nan] * 8], 4096.0, "measure 1 more"),
        ([0.0, *[1.0] * 8], 4096.0, "not above 0"),
        ([1.0] * 9, 1024.0, "not beyond the largest point, 1024"),
        ([1.0] * 9, np.inf, "not beyond"),
    ],
)
def test_what_cannot_be_foretold_is_refused(values: list[float], at: float, told: str) -> None:
    with pytest.raises(DataError, match=told):
        forecast(np.array(values), at)


def test_weighted_quantiles_agree_with_repeated_values() -> None:
    random = np.random.default_rng(5)
    values, counts = random.normal(size=(50, 7)), random.integers(0, 4, (50, 7))
    counts[:, 0] += 1
    weights = counts / counts.sum(axis=1, keepdims=True)
    found = weighted_quantile(values, weights)
    for row, times, median in zip(values, counts, found, strict=True):
        repeated = np.sort(np.repeat(row, times))
        # Between the values on both sides of the middle, with interpolation.
        low, high = np.quantile(repeated, [0.25, 0.75], method="inverted_cdf")
        assert low - 1e-12 <= median <= high + 1e-12
    one = np.zeros((1, 7))
    one[0, 3] = 1.0
    assert weighted_quantile(values[:1], one)[0] == values[0, 3]


def test_what_the_last_point_would_have_been_missed_by() -> None:
    """A power law foretells its last point; one whose last value jumps misses it by the jump."""
    points = 2.0 ** np.arange(3, 11)
    values = np.stack([points**1.5, points**1.5])
    values[1, -1] *= 5.0
    (forecast,) = forecast_kernels([MeasuredKernels(points=points, values=values)], 2048.0)
    assert forecast.missed[0] == pytest.approx(1.0, abs=0.01)
    assert 3.0 < forecast.missed[1] < 8.0


def test_a_series_alone_counts_its_own_held_out_points_once() -> None:
    """Weights are products of the densities of its errors; those of others join them."""
    values = noisy(np.stack([POINTS**0.8 + 4.0, 90.0 / POINTS + 0.2 * POINTS]), 0.1)
    trials = hold_out(POINTS, values, 4096.0)
    there = trials.distance[0] > 0.0
    density = 1.0 / (np.minimum(np.abs(trials.errors[:, there]), 1.5) + 0.02)
    density[..., list(Candidate).index(Candidate.FORM)] = 0.0  # it foretold not all
    alone = density[0].prod(axis=0)
    np.testing.assert_allclose(forecast(values[0]).weights[0], alone / alone.sum())
    # One other kernel counts as one held-out point more, of its geometric mean density.
    both = alone * density[1].prod(axis=0) ** (1.0 / there.sum())
    np.testing.assert_allclose(forecast(values).weights[0], both / both.sum())


def test_slopes_between_near_points_are_not_continued_far() -> None:
    """Noise of 1 % between 9 and 10 ranks says nothing of 40."""
    points = np.arange(1.0, 11.0)
    values = noisy(np.tile(points**1.5, (200, 1)), 0.01)
    (found,) = forecast_kernels([MeasuredKernels(points=points, values=values)], 40.0)
    error = np.abs(found.predicted / 40.0**1.5 - 1.0)
    assert np.median(error) < 0.05
    assert np.percentile(error, 90) < 0.12
    assert ((found.low < 40.0**1.5) & (found.high > 40.0**1.5)).mean() > 0.9


def test_slopes_keep_to_the_last_behaviour() -> None:
    points = np.arange(1.0, 11.0)
    values = np.where(points < 9.0, 500.0 - 10.0 * points, 10.0 * points)[None]
    (found,) = forecast_kernels(
        [MeasuredKernels(points=points, values=values, recent=np.array([2.0]))], 40.0
    )
    trials = hold_out(points, values, 40.0, np.array([2.0]))
    line = list(Candidate).index(Candidate.LINE)
    assert np.exp(trials.predicted[0, line]) == pytest.approx(400.0)
    assert found.high[0] > 400.0
