import numpy as np
import pytest
from benchmarks.synthetic.nightly import SimulatedNights, draw_nightly
from benchmarks.synthetic.scores import Score, detection_delays, score_changes
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import UsageError
from hindmost.models.changepoint import ChangePoint, detect
from hindmost.models.changepoint.robust import segments
from hindmost.models.changepoint.robust.fits import Fit, cost, fit
from hindmost.models.changepoint.robust.noise import correlation_of_steps, step_scale
from hindmost.models.changepoint.robust.segments import Segment, compare, long_run_factor
from hindmost.records import to_document

SERIES = 120


def places(values: NDArray[np.float64]) -> list[int]:
    return [change.index for change in detect(values).changes]


def scored(kind: str, first: int) -> Score:
    total = Score()
    for seed in range(first, first + SERIES):
        series = draw_nightly(kind, seed)
        total += score_changes(
            places(series.values), series.changes.tolist(), nights=series.values.size
        )
    return total


def ar1(random: np.random.Generator, nights: int, rho: float, sigma: float) -> NDArray[np.float64]:
    x = np.empty(nights)
    x[0] = random.normal(0.0, sigma)
    for i in range(1, nights):
        x[i] = rho * x[i - 1] + random.normal(0.0, sigma * np.sqrt(1.0 - rho**2))
    return x


@pytest.mark.parametrize(
    ("kind", "least"), [("shifts", 0.86), ("short segments", 0.80), ("double outliers", 0.83)]
)
def test_known_changes_are_found(kind: str, least: float) -> None:
    # The table of benchmarks/changepoints.py is on more series; these allow for fewer.
    assert scored(kind, 50_000).f1 > least


@pytest.mark.parametrize(("kind", "most"), [("noise", 0.1), ("drift", 0.5)])
def test_what_does_not_change_raises_no_alarm(kind: str, most: float) -> None:
    assert scored(kind, 60_000).false_per_1000 <= most


def test_changes_are_seen_within_days() -> None:
    delays: list[int] = []
    for seed in range(70_000, 70_025):
        series = draw_nightly("shifts", seed)
        delays += detection_delays(places, series.values, series.changes.tolist())
    assert np.median(delays) <= 2
    assert np.percentile(delays, 90) <= 6


def test_drift_is_a_trend_of_its_size() -> None:
    random = np.random.default_rng(7)
    values = np.exp(random.normal(0.0, 0.02, 200) + np.linspace(0.0, 0.3, 200))
    found = detect(values)
    assert not found.changes
    (trend,) = found.trends
    low, high = trend.effect_interval
    assert low < np.expm1(0.3) < high
    assert high - low < 0.1
    assert "rifts by" in found.explain()


def test_a_step_on_a_drift_is_a_step_between_trends() -> None:
    random = np.random.default_rng(8)
    logs = np.linspace(0.0, 0.4, 240) + 0.25 * (np.arange(240) >= 130)
    found = detect(np.exp(logs + random.normal(0.0, 0.02, 240)))
    (change,) = found.changes
    assert change.index == 130
    assert change.effect_interval[0] < np.expm1(0.25) < change.effect_interval[1]
    assert len(found.trends) == 2


def test_noise_on_a_drift_adds_no_step() -> None:
    logs = np.linspace(0.0, 0.4, 240) + 0.25 * (np.arange(240) >= 130)
    found = []
    for seed in range(50):
        noise = np.random.default_rng([8, seed]).normal(0.0, 0.02, 240)
        found += places(np.exp(logs + noise))
    assert len(found) == 50
    assert all(abs(place - 130) <= 2 for place in found)


@pytest.mark.parametrize("rho", [0.0, 0.3])
@pytest.mark.parametrize("sigma", [0.002, 0.05])
def test_two_years_of_steady_nights_raise_no_alarm(sigma: float, rho: float) -> None:
    random = np.random.default_rng(9)
    for _ in range(6):
        assert not places(np.exp(ar1(random, 730, rho, sigma)))


def test_a_drift_begins_without_a_step() -> None:
    random = np.random.default_rng(9)
    night = np.arange(200)
    logs = np.where(night >= 100, 0.004 * (night - 100), 0.0)
    found = detect(np.exp(logs + random.normal(0.0, 0.02, 200)))
    assert not found.changes
    (trend,) = found.trends
    assert abs(trend.start - 100) < 15


@pytest.mark.parametrize("nights", [1, 2, 3])
def test_nights_that_come_back_are_an_outlier_run(nights: int) -> None:
    values = np.exp(np.random.default_rng(nights).normal(0.0, 0.02, 60))
    values[25 : 25 + nights] *= 1.5
    found = detect(values)
    assert not found.changes
    assert (25, 25 + nights) in [(run.start, run.stop) for run in found.outliers]
    run = next(run for run in found.outliers if run.start == 25)
    assert run.effect == pytest.approx(0.5, abs=0.06)


def test_longer_runs_are_outliers_when_they_scatter_and_steps_when_they_do_not() -> None:
    values = np.exp(np.random.default_rng(1).normal(0.0, 0.02, 60))
    steady, wild = values.copy(), values.copy()
    steady[25:30] *= 1.5
    wild[25:30] *= [1.4, 2.1, 1.3, 2.6, 1.7]
    assert [change.index for change in detect(steady).changes] == [25, 30]
    assert not detect(wild).changes


def test_three_nights_make_a_change() -> None:
    values = np.exp(np.random.default_rng(2).normal(0.0, 0.02, 33))
    values[30:] *= 1.3
    assert not detect(values[:32]).changes
    found = detect(values)
    assert [change.index for change in found.changes] == [30]
    assert not found.changes[0].confirmed
    assert found.status() == "warn"
    assert detect(np.append(values, [1.31, 1.28])).status() == "fail"


def test_correlated_noise_raises_few_alarms() -> None:
    found = nights = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        found += len(places(np.exp(ar1(random, 200, 0.5, 0.05))))
        nights += 200
    assert 1000.0 * found / nights < 1.0


def test_the_correlation_is_that_of_the_noise() -> None:
    for rho in (0.0, 0.4, 0.7):
        random = np.random.default_rng(1)
        series = ar1(random, 4000, rho, 0.1)
        series[2000:] += 1.0
        scale = step_scale(np.abs(np.diff(series)))
        assert correlation_of_steps(series, scale) == pytest.approx(rho, abs=0.06)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("nights", [1, 3, 40])
def test_the_long_run_factor_is_that_of_the_covariances(rho: float, nights: int) -> None:
    lags = np.abs(np.subtract.outer(np.arange(nights), np.arange(nights)))
    expected = float((rho**lags).sum()) / nights
    assert long_run_factor(nights, rho) == pytest.approx(expected, rel=1e-12)


def test_without_a_prior_and_wander_the_comparison_is_welch_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hindmost.models.changepoint.robust import segments

    monkeypatch.setattr(segments, "PRIOR_NIGHTS", 0.0)
    monkeypatch.setattr(segments, "WANDER", 0.0)
    random = np.random.default_rng(3)
    sides = random.normal(0.0, 1.0, 9), random.normal(2.0, 2.0, 14)
    seam = compare(*(side_of(side) for side in sides))
    expected = stats.ttest_ind(sides[1], sides[0], equal_var=False)
    assert (seam.after - seam.before) / seam.error == pytest.approx(expected.statistic, rel=1e-9)
    assert seam.freedom == pytest.approx(expected.df, rel=1e-9)
    assert seam.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def side_of(x: NDArray[np.float64]) -> Segment:
    square = float(((x - x.mean()) ** 2).sum())
    level = Fit(0, x.size, float(x.mean()), 0.0, square, x.size)
    return Segment(fit=level, sigma=100.0, rho=0.0)


def test_regimes_may_differ_in_noise() -> None:
    random = np.random.default_rng(5)
    logs = np.concatenate(
        (random.normal(0.0, 0.005, 60), random.normal(0.3, 0.08, 60), random.normal(0.4, 0.005, 60))
    )
    found = detect(np.exp(logs))
    assert [change.index for change in found.changes] == [60, 120]
    deviations = [regime.deviation for regime in found.regimes]
    assert deviations[1] > 4.0 * deviations[0]
    assert deviations[1] > 4.0 * deviations[2]


def found_with_truth() -> list[tuple[SimulatedNights, int, ChangePoint]]:
    pairs = []
    for seed in range(80_000, 80_150):
        series = draw_nightly("shifts", seed)
        changes = detect(series.values).changes
        if len(changes) != series.changes.size:
            continue
        for i, change in enumerate(changes):
            if abs(change.index - series.changes[i]) <= 15:
                pairs.append((series, i, change))
    return pairs


def test_intervals_hold_what_they_state() -> None:
    # Where all changes are found: a missed neighbour biases what lies beside it.
    pairs = found_with_truth()
    assert len(pairs) > 90
    place = [c.interval[0] <= s.changes[i] <= c.interval[1] for s, i, c in pairs]
    effect = [c.effect_interval[0] <= s.effects[i] <= c.effect_interval[1] for s, i, c in pairs]
    width = [c.interval[1] - c.interval[0] + 1 for _, _, c in pairs]
    assert np.mean(place) > 0.93
    assert np.median(width) <= 3
    assert 0.90 < np.mean(effect) <= 1.0


def test_a_line_is_fitted_through_outliers() -> None:
    random = np.random.default_rng(6)
    y = 0.01 * np.arange(80) + random.normal(0.0, 0.02, 80)
    clean = np.polyfit(np.arange(80), y, 1)
    hit = y.copy()
    hit[::9] += 1.0
    sigma = np.full(80, 0.02)
    line = fit(hit, 0, 80, sigma, line=True)
    assert line.slope == pytest.approx(clean[0], rel=0.05)
    assert line.values[0] == pytest.approx(clean[1], abs=0.01)
    assert cost(hit, line, sigma) > 9 * 9.0


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_time_does_not_matter(factor: float) -> None:
    values = draw_nightly("shifts", 12).values
    assert places(values) == places(values * factor)


def test_settings_are_checked_by_name_and_range() -> None:
    with pytest.raises(UsageError, match="choose alpha, least"):
        detect(np.ones(20), alhpa=0.1)
    with pytest.raises(UsageError, match="must not be negative"):
        detect(np.ones(20), least=-0.1)
    for alpha in (np.nan, np.inf):
        with pytest.raises(UsageError, match=r"alpha = .* between 0 and 1"):
            detect(np.ones(20), alpha=alpha)
    with pytest.raises(UsageError, match="between 0 and 1"):
        detect(np.ones(20), keep=0.0)
    with pytest.raises(UsageError, match="between 0 and 1"):
        detect(np.ones(20), level=1.5)
    with pytest.raises(UsageError, match="1 or more"):
        detect(np.ones(20), confirmations=0)


def test_times_of_two_decimals_scatter_by_their_rounding() -> None:
    """Most nights are equal, and yet the others are neither outliers nor changes."""
    changed = outliers = 0
    for seed in range(12):
        logs = 0.1 * np.random.default_rng(seed).standard_normal(120)
        flat = detect(np.round(0.05 * np.exp(logs), 2))
        changed += bool(flat.changes)
        outliers += sum(run.stop - run.start for run in flat.outliers)
        slower = np.where(np.arange(120) >= 100, 2.0, 1.0)
        (change,) = detect(np.round(0.05 * slower * np.exp(0.5 * logs), 2)).changes
        assert abs(change.index - 100) <= 1
    assert (changed, outliers) <= (1, 12)
    few = [
        detect(np.where(draw.random(120) < 0.4, 0.02, 0.01))
        for draw in map(np.random.default_rng, range(6))
    ]
    assert not any(found.changes or found.outliers for found in few)
    # A count that never moves but once is exact, not rounded.
    (step,) = detect(np.where(np.arange(60) >= 50, 105.0, 100.0)).changes
    assert step.effect_interval == pytest.approx((0.05, 0.05), abs=0.004)


def noise(nights: int, seed: int = 0) -> NDArray[np.float64]:
    """Return quiet nights at a level of 1."""
    return np.asarray(np.exp(np.random.default_rng(seed).normal(0.0, 0.03, nights)))


def test_a_spike_that_went_back_to_the_level_before_passes() -> None:
    values = noise(72)
    values[60:64] *= 9.0
    assert detect(values).status() == "pass"


def test_a_slowdown_that_left_little_is_undone() -> None:
    values = noise(90)
    values[40:60] *= 1.5
    values[60:] *= 1.05
    found = detect(values)
    assert found.is_undone(found.changes[0])
    values[60:] *= 1.1
    found = detect(values)
    assert not found.is_undone(found.changes[0])


def test_a_long_run_that_scatters_is_no_pass() -> None:
    values = noise(80)
    values[70:] *= np.exp(np.random.default_rng(1).uniform(0.3, 3.0, 10))
    assert detect(values).status() in ("fail", "unknown")


DWELL = 25
HEIGHT = 0.15


def alternating(switches: int, seed: int = 0, more: int = 0) -> NDArray[np.float64]:
    """Return times that switch between two levels, and more nights of the last one."""
    nights = DWELL * (switches + 1)
    modes = HEIGHT * (np.arange(nights) // DWELL % 2)
    logs = np.append(modes, np.full(more, modes[-1]))
    noise = np.random.default_rng(seed).normal(0.0, 0.02, logs.size)
    return np.asarray(np.exp(logs + noise), np.float64)


def false_in_1000() -> float:
    total = Score()
    for seed in range(90_000, 90_060):
        values = draw_nightly("two modes", seed).values
        found = [change.index for change in detect(values).changes]
        total += score_changes(found, [], nights=values.size)
    return total.false_per_1000


def test_two_modes_raise_few_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    found = false_in_1000()
    monkeypatch.setattr(segments, "SWITCHES", 1000)
    assert found < 0.25 * false_in_1000()


def test_the_modes_are_one_regime_and_it_is_said() -> None:
    values = alternating(6)
    found = detect(values)
    assert not found.changes
    (regime,) = found.regimes
    assert regime.switching
    # Half of the nights on either level.
    expected = np.hypot(0.5 * HEIGHT, 0.02)
    assert abs(regime.deviation - expected) < 0.25 * expected
    assert "switch between two levels" in found.explain()
    assert to_document(regime)["switching"]


def test_a_slowdown_that_is_undone_and_comes_back_is_three_changes() -> None:
    found = detect(alternating(3))
    assert len(found.changes) == 3
    assert not any(regime.switching for regime in found.regimes)


def test_a_new_level_beside_the_modes_is_a_change() -> None:
    values = alternating(6, more=40)
    values[-40:] *= 1.6
    (change,) = detect(values).changes
    assert abs(change.index - (values.size - 40)) <= 2


def test_a_new_level_with_one_night_in_four_at_the_old_one_is_a_change() -> None:
    logs = np.random.default_rng(5).normal(0.0, 0.006, 88)
    logs[[80, 81, 83, 84, 85, 87]] -= 0.12
    (change,) = detect(np.exp(logs)).changes
    assert change.index == 80
