"""Shan: the figures on changes in the nightly times of Albany."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.history.planted import TOTAL, day, write_nights
from tests.papers.conftest import Told, Values, drawn, holds, mean_of

NIGHTS = 90


def planted_nights(*steps: tuple[int, float], seed: int = 1, level: float = 10.0) -> Values:
    """Return nightly times with 1 % of noise and steps: night and factor from there on."""
    values: Values = level * np.exp(np.random.default_rng(seed).normal(0.0, 0.01, NIGHTS))
    for night, factor in steps:
        values[night:] *= factor
    return values


def steps_in(series: Any) -> list[tuple[int, float]]:
    """Return night and effect in percent of every change of a series in JSON."""
    return [(each["index"], each["effect_percent"]) for each in series["changes"]]


def write_case(folder: Path, **cases: Values) -> Path:
    folder.mkdir(parents=True)
    write_nights(folder, {case: {TOTAL: values} for case, values in cases.items()}, range(NIGHTS))
    return folder


@holds("Albany fig. 1", "Albany fig. 7")
def test_nights_are_drawn_with_the_levels_between_changes(tmp_path: Path) -> None:
    values = planted_nights((30, 1.2), (60, 0.7))
    folder = write_case(tmp_path / "nights", ant=values)
    figure = drawn(tmp_path / "n", folder, "--figure=nights", "--series=ant")
    np.testing.assert_allclose(figure["results"][:, -2], values, rtol=1e-9)
    level = figure["level"]
    for night, wanted in ((10, 10.0), (45, 12.0), (75, 8.4)):
        near = np.nanargmin(np.abs(level[:, 1] - night))
        assert level[near, -2] == pytest.approx(wanted, rel=0.01)
    histogram = drawn(tmp_path / "h", folder, "--figure=nights-histogram", "--series=ant")
    assert mean_of(histogram["results"]) == pytest.approx(values.mean(), rel=0.01)


def p_values(tmp_path: Path, values: Values, algorithm: int) -> tuple[Values, list[int]]:
    """Return night and p-value of the figure's curve, and the changes that it marks."""
    folder = write_case(tmp_path / f"nights-{algorithm}", ant=values)
    words = (folder, "--figure=p-values", "--series=ant")
    figure = drawn(tmp_path / f"p-{algorithm}", *words, file=f"*-algorithm-{algorithm}-*.csv")
    changes = figure.get("changes", np.empty((0, 5)))
    curve = figure["p-value of a change"][:, [1, 3]]
    return curve[np.isfinite(curve[:, 1])], sorted(set(changes[:, 1].astype(int).tolist()))


@holds("Albany fig. 2")
def test_p_values_are_least_at_a_change_and_pass_no_corrected_level_without_one(
    tmp_path: Path,
) -> None:
    curve, changes = p_values(tmp_path, planted_nights((45, 1.025)), 1)
    assert curve[curve[:, 0] == 45, 1] == curve[:, 1].min()
    assert curve[:, 1].min() < 0.005 / (NIGHTS - 1)
    assert 45 in changes
    curve, changes = p_values(tmp_path / "none", planted_nights(seed=4), 1)
    assert curve[:, 1].min() > 0.005 / 10  # the ten largest differences are tested
    assert not changes


@holds("Albany fig. 3")
def test_several_changes_are_found_one_after_another(tmp_path: Path) -> None:
    _, changes = p_values(tmp_path, planted_nights((30, 1.1), (60, 0.8)), 2)
    assert {30, 60} <= set(changes)
    assert len(changes) <= 4


@holds("Albany fig. 4")
def test_outliers_mislead_the_plain_algorithm_and_not_the_robust_one(tmp_path: Path) -> None:
    values = planted_nights((45, 1.1))
    values[[8, 25, 70]] *= 1.1
    _, plain = p_values(tmp_path, values, 2)
    _, robust = p_values(tmp_path, values, 3)
    assert robust == [45]
    assert set(plain) - {45}


@holds("Albany fig. 5")
def test_the_page_of_a_series_names_its_change_and_the_commits(tmp_path: Path, told: Told) -> None:
    folder = write_case(tmp_path / "nights", ant=planted_nights((60, 1.2)))
    page = tmp_path / "page.html"
    document = told("history", folder, "--report", page, status=1)  # it is still slower
    [series] = document["series"]
    [(night, effect)] = steps_in(series)
    assert night == 60
    assert effect == pytest.approx(20.0, abs=1.0)
    assert series["changes"][0]["commits"] == ["Albany a059", "Albany a060"]
    html = page.read_text()
    for words in (series["changes"][0]["date"], "a059", "a060"):
        assert words in html


@holds("Albany fig. 6")
def test_the_ratio_of_two_cases_loses_the_weather_that_they_share(
    tmp_path: Path, told: Told
) -> None:
    weather = np.exp(np.cumsum(np.random.default_rng(3).normal(0.0, 0.03, NIGHTS)))
    baseline, slower = planted_nights() * weather, planted_nights((60, 1.1), seed=2) * weather
    folders = [
        write_case(tmp_path / case, **{case: values})
        for case, values in (("ml", baseline), ("mu", slower))
    ]
    [ratio] = told("compare", *folders)["series"]
    [change] = ratio["ratio_changes"]
    assert change["date"] == day(60)
    assert change["after"] / change["before"] == pytest.approx(1.1, abs=0.01)
    low, high = ratio["interval"]
    assert low <= 1.1 <= high


@holds("Albany fig. A.1 to A.3")
def test_every_timer_of_every_case_is_a_series(tmp_path: Path, told: Told) -> None:
    # Eleven cases on Blake and eleven timers of each: figures A.1 and A.3
    cases = {
        f"case-{case}": {f"Timer {timer}": planted_nights(seed=11 * case + timer)[:8]
                         for timer in range(11)}
        for case in range(11)
    }  # fmt: skip
    write_nights(tmp_path / "nights", cases, range(8))
    found = {
        (each["case"], each["timer"]) for each in told("history", tmp_path / "nights")["series"]
    }
    assert found == {(case, timer) for case, timers in cases.items() for timer in timers}
