import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import detect
from hindmost.models.changepoint.observations import check
from hindmost.models.changepoint.report.loops import moments, t_statistic
from hindmost.models.changepoint.report.method import candidate_p_values

DATA = os.environ.get("HINDMOST_EVALUATION_DATA")


@pytest.mark.skipif(not DATA, reason="HINDMOST_EVALUATION_DATA names no folder")
def test_all_published_changes_are_found_date_for_date() -> None:
    page = json.loads(
        (Path(str(DATA)) / "ali-blake-published-changepoints.json").read_text(encoding="utf-8")
    )
    assert len(page["series"]) == 121
    for series in page["series"]:
        found = detect(series["seconds"], method="report")
        places = sorted(change.index for change in found.changes)
        dates = [series["dates"][place] for place in places]
        assert dates == series["changepoints"], (series["case"], series["timer"])


def test_the_test_is_that_of_scipy() -> None:
    random = np.random.default_rng(5)
    x, y = random.normal(0.0, 1.0, 7), random.normal(0.8, 3.0, 11)
    sides = [(float(s.mean()), float(s.var(ddof=1))) for s in (x, y)]
    expected = stats.ttest_ind(x, y).statistic
    assert t_statistic(sides[0], sides[1], 7, 11) == pytest.approx(abs(expected), rel=1e-12)


def test_at_most_a_tenth_and_only_far_observations_are_trimmed() -> None:
    x = np.append(np.linspace(-1.0, 1.0, 18), [30.0, 40.0])
    assert moments(x, True) == pytest.approx((0.0, float(x[:18].var())), abs=1e-12)
    assert moments(x[1:], True)[0] == pytest.approx(float(x[1:-1].mean()))
    assert moments(x[10:19], True)[0] == pytest.approx(float(x[10:19].mean()))
    mad = stats.median_abs_deviation(x, scale="normal")
    assert np.all(np.abs(x[18:] - np.median(x)) > 3.0 * mad)


def sequential(x: NDArray[np.float64], alpha: float, k: int, m: int, window: int) -> list[int]:
    """Do algorithm 3 without trimming, with scipy's test, candidates kept as sets."""
    changes: list[int] = []
    votes: list[dict[int, float]] = []
    i = j = 0
    while j < x.size:
        part = x[i : j + 1]
        vote: dict[int, float] = {}
        if part.size > 2:
            largest = np.argsort(-np.abs(np.diff(part)), kind="stable")[:k] + 1
            for place in largest:
                left, right = part[:place], part[place:]
                n, a, b = part.size, left.size, right.size
                pooled = (((left - left.mean()) ** 2).sum() / a * (a - 1)) + (
                    ((right - right.mean()) ** 2).sum() / b * (b - 1)
                )
                error = np.sqrt(pooled / (n - 2) * (1 / a + 1 / b))
                t = abs(left.mean() - right.mean()) / error if error > 0.0 else np.inf
                if 2.0 * stats.t.sf(t, n - 2) < alpha / k:
                    vote[int(place) + i] = float(t)
        votes = [*votes, vote][-m:]
        common = set.intersection(*(set(v) for v in votes)) if len(votes) == m else set()
        if common:
            best = max(common, key=lambda place: sum(v[place] for v in votes))
            changes.append(best)
            i, j, votes = best, best + 1, []
        else:
            j += 1
            i = max(i, j - window + 1)
    return changes


@pytest.mark.parametrize("seed", range(6))
def test_algorithm_3_is_what_a_plain_reading_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    levels = np.repeat(np.cumsum(random.normal(0.0, 0.1, 5)), random.integers(9, 25, 5))
    x = levels + random.normal(0.0, 0.03, levels.size)
    # Sides below 10 are not trimmed, and k = 4 keeps the window from having longer ones often.
    expected = sequential(x, 0.005, 4, 3, 9)
    found = detect(np.exp(x), method="report", k=4, window=9)
    places = sorted(change.index for change in found.changes)
    assert places == expected


@pytest.mark.parametrize("algorithm", [1, 2, 3])
def test_every_algorithm_finds_a_plain_step(algorithm: int) -> None:
    random = np.random.default_rng(11)
    values = np.exp(random.normal(0.0, 0.01, 40) + 0.3 * (np.arange(40) >= 22))
    found = detect(values, method="report", algorithm=algorithm)
    assert min(abs(change.index - 22) for change in found.changes) <= 1


def test_a_change_is_reported_once_it_is_seen_often_enough() -> None:
    values = np.append(np.exp(np.random.default_rng(2).normal(0.0, 0.01, 30)), [1.5, 1.52])
    assert not detect(values, method="report").changes
    later = detect(np.append(values, [1.51, 1.49]), method="report")
    assert [change.index for change in later.changes] == [30]
    assert later.status() == "fail"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algorithm": 4}, "1, 2 or 3"),
        ({"alpha": 0.0}, "between 0 and 1"),
        ({"k": 0}, "1 or more"),
        ({"window": 2}, "at least 3"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        detect(np.ones(20), method="report", **settings)


@pytest.mark.parametrize("change", [1, 11])
def test_the_interval_of_a_change_next_to_one_observation_contains_it(change: int) -> None:
    from hindmost.models.changepoint.robust.method import place_interval

    y = np.where(np.arange(12) < change, 0.0, 5.0) + 0.01 * np.sin(np.arange(12))
    sigma = np.full(12, 0.01)
    found = place_interval(y, (0, change, 12), (0.0, 5.0), sigma, 0.95)
    assert found == (change, change)


def steps() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return thirty nights with a step at the fifteenth."""
    values = np.random.default_rng(7).normal(10.0, 0.1, 30)
    values[15:] += 1.0
    return values


def test_p_values_of_algorithm_1_are_those_of_scipy() -> None:
    values = steps()
    logs = np.log(values)
    (found,) = candidate_p_values(check(values), algorithm=1)
    assert found.change == 15
    assert found.places.tolist() == list(range(1, 30))
    # The variances are those of populations, which scipy divides by one less.
    expected = [
        stats.ttest_ind_from_stats(a.mean(), a.std(), a.size, b.mean(), b.std(), b.size).pvalue
        for a, b in ((logs[:at], logs[at:]) for at in range(1, 30))
    ]
    np.testing.assert_allclose(found.p_values, expected, rtol=1e-6)


@pytest.mark.parametrize("algorithm", [2, 3])
def test_moments_are_those_of_the_detection(algorithm: int) -> None:
    values = np.concatenate([steps(), steps()])
    changes = detect(values, method="report", algorithm=algorithm)
    moments = candidate_p_values(check(values), algorithm=algorithm)
    assert [moment.change for moment in moments[:-1]] == [
        change.index for change in changes.changes
    ]
    assert moments[-1].change is None
    for each in moments[:-1]:
        assert each.change in each.places
    assert moments[-1].places[-1] == values.size - 1


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(DataError, match="needs at least 3"):
        candidate_p_values(check([1.0, 2.0]))
    with pytest.raises(UsageError, match="algorithm 4"):
        candidate_p_values(check(steps()), algorithm=4)
