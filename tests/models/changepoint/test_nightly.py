import numpy as np
import pytest
from benchmarks.synthetic.nightly import KINDS, draw_nightly
from benchmarks.synthetic.scores import Score, detection_delays, score_changes
from numpy.typing import NDArray


@pytest.mark.parametrize("kind", KINDS)
def test_series_are_as_stated(kind: str) -> None:
    shares = []
    for seed in range(60):
        series = draw_nightly(kind, seed)
        nights = series.values.size
        assert 60 <= nights <= 365
        assert np.all(series.values > 0.0)
        assert series.changes.size == series.effects.size <= 4
        bounds = [0, *series.changes, nights]
        assert min(np.diff(bounds)) >= 3
        assert np.all(np.maximum(series.effects, 1.0 / (1.0 + series.effects) - 1.0) <= 0.5)
        assert np.all(np.maximum(series.effects, 1.0 / (1.0 + series.effects) - 1.0) >= 0.03 - 1e-9)
        shares.append(series.outliers.mean())
        again = draw_nightly(kind, seed)
        np.testing.assert_array_equal(series.values, again.values)
    assert 0.02 < np.mean(shares) < 0.05
    assert any(draw_nightly(kind, seed).changes.size for seed in range(60)) == (
        kind not in ("noise", "drift", "two modes")
    )


def test_levels_change_by_the_effects() -> None:
    found, expected = [], []
    for seed in range(200):
        series = draw_nightly("shifts", seed)
        bounds = [0, *series.changes, series.values.size]
        for i in range(1, len(bounds) - 1):
            if min(bounds[i] - bounds[i - 1], bounds[i + 1] - bounds[i]) >= 40:
                before = np.median(series.values[bounds[i - 1] : bounds[i]])
                after = np.median(series.values[bounds[i] : bounds[i + 1]])
                found.append(after / before - 1.0)
                expected.append(series.effects[i - 1])
    assert len(found) > 40
    assert np.abs(np.array(found) - expected).mean() < 0.02


def test_scores_pair_one_to_one() -> None:
    score = score_changes([10, 11, 50, 93], [12, 52, 90], nights=200)
    assert (score.hits, score.false, score.missed) == (2, 2, 1)
    assert score.precision == pytest.approx(0.5)
    assert score.recall == pytest.approx(2.0 / 3.0)
    assert score.f1 == pytest.approx(4.0 / 7.0)
    assert score.false_per_1000 == pytest.approx(10.0)
    double = score + score
    assert (double.hits, double.nights, double.f1) == (4, 400, score.f1)
    assert np.isnan(Score().f1)


def test_delays_count_from_the_first_night_of_a_change() -> None:
    values = np.ones(40)

    def after_three(nights: NDArray[np.float64]) -> list[int]:
        return [20] if nights.size >= 23 else []

    assert detection_delays(after_three, values, [20]) == [2]
    assert detection_delays(after_three, values, [10]) == []
    assert detection_delays(after_three, values, []) == []
