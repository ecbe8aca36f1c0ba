import json
import math
import re
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import METHODS, Detection, detect
from hindmost.models.changepoint.robust.fits import level_grid, partition
from hindmost.records import to_document


def noisy(nights: int, seed: int = 0) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.exp(np.random.default_rng(seed).normal(1.0, 0.01, nights))
    return values


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "no values"),
        ([1.0, float("nan"), 2.0], "index 1"),
        ([1.0, 2.0, 0.0], "leave out failed runs"),
        ([1.0, -2.0], "not positive finite numbers"),
        ([1.0, float("inf")], "not positive finite numbers"),
        ([[1.0, 2.0]], r"\(observation,\)"),
        (["a", "b"], "not numbers"),
    ],
)
def test_bad_values_are_refused(method: str, values: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        detect(values, method=method)  # type: ignore[arg-type]


def test_bad_times_and_labels_are_refused() -> None:
    values = noisy(4)
    with pytest.raises(DataError, match="argsort"):
        detect(values, times=[1.0, 3.0, 2.0, 4.0])
    with pytest.raises(DataError, match="not finite"):
        detect(values, times=[1.0, np.nan, 2.0, 4.0])
    with pytest.raises(DataError, match="3 times for 4 values"):
        detect(values, times=[1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="2 nights for 4 values"):
        detect(values, nights=["a", "b"])
    with pytest.raises(UsageError, match="robust or report"):
        detect(values, method="other")


@pytest.mark.parametrize(("method", "nights"), [("robust", 7), ("report", 2)])
def test_short_series_are_too_short_to_tell(method: str, nights: int) -> None:
    found = detect(noisy(nights), method=method)
    assert found.too_short == nights + 1
    assert found.status() == "unknown"
    assert "Too short to judge" in found.explain()
    assert detect(noisy(nights + 1), method=method).too_short == 0


@pytest.mark.parametrize("method", METHODS)
def test_equal_times_have_no_change_and_one_step_is_found(method: str) -> None:
    assert not detect(np.full(40, 2.0), method=method).changes
    stepped = np.where(np.arange(40) < 25, 2.0, 2.5)
    (change,) = detect(stepped, method=method).changes
    assert change.index == 25
    assert change.effect == pytest.approx(0.25)
    assert change.interval[0] <= 25 <= change.interval[1]


def test_runs_of_one_day_are_one_night() -> None:
    values = noisy(60)
    values[30:33] *= 1.5
    values[57:] *= 1.5
    days = np.repeat(np.arange(20), 3)
    assert not detect(values, nights=days).changes
    assert 57 in [change.index for change in detect(values).changes]


def test_regimes_cover_all_nights_between_changes() -> None:
    values = noisy(90)
    values[30:] *= 1.2
    values[60:] *= 0.7
    for method in METHODS:
        found = detect(values, method=method)
        bounds = [(regime.start, regime.stop) for regime in found.regimes]
        starts = [0, *(change.index for change in found.changes)]
        assert bounds == list(zip(starts, [*starts[1:], 90], strict=True))
        assert {30, 60} <= set(starts)
        for (start, stop), regime in zip(bounds, found.regimes, strict=True):
            assert regime.mean == pytest.approx(np.exp(np.log(values[start:stop]).mean()), rel=5e-3)
            assert regime.interval[0] < regime.mean < regime.interval[1]
        assert [change.before for change in found.changes] == pytest.approx(
            [regime.mean for regime in found.regimes[:-1]], rel=1e-6
        )


def stepped(at: int, factor: float, nights: int = 60) -> Detection:
    values = noisy(nights)
    values[at:] *= factor
    return detect(values, times=np.arange(nights) + 738_000.0)


def test_the_verdict_is_on_recent_slowdowns() -> None:
    assert stepped(54, 1.2).status() == "fail"
    assert stepped(57, 1.2).status() == "warn"
    assert stepped(54, 0.8).status() == "pass"
    assert stepped(30, 1.2).status() == "open"
    assert stepped(30, 1.2).status(last=40.0) == "fail"


def test_json_has_the_keys_of_the_contract() -> None:
    found = stepped(30, 1.2)
    (change,) = json.loads(json.dumps(to_document(found.changes)))
    assert {"before", "after", "effect_percent", "p_value", "verdict"} <= set(change)
    assert change["verdict"] == "step"
    assert change["effect_percent"] == pytest.approx(20.0, abs=1.0)
    assert found.observations == 60
    assert found.trends == ()


def test_words_say_how_much_and_which_way() -> None:
    words = stepped(30, 1.2).explain()
    assert re.match(r"\+(19|20)\.\d % .*from observation 30 ", words)
    assert "confirmed" in words
    assert stepped(30, 0.8).explain().startswith("-")
    assert "No change in 60" in stepped(60, 1.2).explain()


BOUND = 2.5


def segment_cost(
    y: NDArray[np.float64], sigma: NDArray[np.float64], levels: NDArray[np.float64]
) -> float:
    r = (y - levels[:, None]) / sigma
    loss = np.minimum(r * r, BOUND**2) + 0.02 * np.abs(r)
    return float(loss.sum(axis=1).min())


def least_cost(
    y: NDArray[np.float64],
    sigma: NDArray[np.float64],
    levels: NDArray[np.float64],
    penalty: float,
    shortest: int,
) -> float:
    """Try every set of changes."""
    best = np.inf
    for count in range(y.size // shortest):
        for changes in combinations(range(1, y.size), count):
            bounds = [0, *changes, y.size]
            if min(np.diff(bounds)) < shortest:
                continue
            best = min(best, cost_of(bounds, y, sigma, levels, penalty))
    return best


def cost_of(
    bounds: list[int],
    y: NDArray[np.float64],
    sigma: NDArray[np.float64],
    levels: NDArray[np.float64],
    penalty: float,
) -> float:
    parts = [slice(a, b) for a, b in pairwise(bounds)]
    return sum(segment_cost(y[part], sigma[part], levels) + penalty for part in parts)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shortest", [1, 3])
def test_no_set_of_changes_costs_less(seed: int, shortest: int) -> None:
    random = np.random.default_rng(seed)
    y = np.repeat(random.normal(0.0, 3.0, 3), [4, 5, 3]) + random.normal(0.0, 0.7, 12)
    y[random.integers(12)] += 8.0
    sigma = np.where(np.arange(12) < 6, 0.6, 0.9)
    levels = np.linspace(y.min(), y.max(), 60)
    for penalty in (2.0, 7.0, 20.0):
        starts = partition(y, sigma, levels, BOUND, np.full(12, penalty), shortest)
        assert starts[0] == 0
        assert min(np.diff([*starts, 12])) >= shortest
        found = cost_of([*starts.tolist(), 12], y, sigma, levels, penalty)
        assert found == pytest.approx(least_cost(y, sigma, levels, penalty, shortest), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_grid_loses_little_against_free_levels(seed: int) -> None:
    random = np.random.default_rng(seed)
    y = random.normal(0.0, 1.0, 40)
    y[::13] += 9.0
    fine = np.linspace(y.min(), y.max(), 20001)
    grid = level_grid(y, 1.0, 3.0)
    sigma = np.ones(40)
    lost = segment_cost(y, sigma, grid) - segment_cost(y, sigma, fine)
    assert 0.0 <= lost + 1e-9 <= 40 * 0.15**2


@pytest.mark.parametrize("sigma", [0.02, 0.1])
@pytest.mark.parametrize("after", [5, 12])
def test_a_visible_step_is_found_about_as_often_as_it_is_missed(sigma: float, after: int) -> None:
    logs = np.random.default_rng(5).normal(0.0, sigma, (40, 60))
    quiet = [found for found in map(detect, np.exp(logs)) if not found.changes]
    step = float(np.median([found.visible_steps[after - 1] for found in quiet]))

    def share(by: float) -> float:
        slower = logs + by * (np.arange(60) >= 60 - after)
        return float(np.mean([bool(detect(np.exp(each)).changes) for each in slower]))

    visible = math.log1p(step)
    assert share(0.6 * visible) < 0.25 < share(visible) < 0.75 < share(1.6 * visible)


def test_what_is_visible_grows_with_the_nights_and_needs_three() -> None:
    logs = np.random.default_rng(1).normal(0.0, 0.1, 80)
    steps = np.array(detect(np.exp(logs)).visible_steps)
    assert np.isinf(steps[:2]).all()
    assert (np.diff(steps[2:40]) <= 0.0).all()


def test_the_newest_nights_far_off_are_a_jump_until_they_are_a_step_or_return() -> None:
    values = np.exp(np.random.default_rng(2).normal(0.0, 0.02, 60))
    assert detect(values).jump is None
    values[20] *= 2.0
    values[-2:] *= 1.5
    found = detect(values)
    assert found.jump is not None
    assert (found.jump.index, found.jump.seen, found.jump.confirmed) == (58, 2, False)
    assert found.jump.precedents == 1
    assert found.jump.before == pytest.approx(1.0, rel=0.02)
    low, high = found.jump.effect_interval
    assert low < 0.5 < high
    assert not found.changes
    assert found.status() == "warn"
    assert detect(values, smaller_is_better=False).status() == "pass"
    assert detect(np.append(values, 1.0)).jump is None
    stepped = detect(np.append(values, [1.5, 1.5, 1.5]))
    assert stepped.jump is None
    assert [change.index for change in stepped.changes] == [58]
