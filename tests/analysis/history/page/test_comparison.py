"""Two series compared in the page: it shows what the library found."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.analysis.browser import Browser
from tests.analysis.history.page.planted import (
    HOSTILE,
    NIGHTS,
    STEP,
    series_of,
    show,
    text,
)

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.page import ratios as history_ratios
from hindmost.analysis.history.page.data import history_data, packed
from hindmost.analysis.history.page.ratios import pairs_to_find
from hindmost.analysis.history.page.regime_statistics import SHOWN_LEVELS, mean_interval
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.history import History, NightlySeries
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.show.html_renderer import write_page
from hindmost.models.changepoint import Regime, detect
from hindmost.models.changepoint.robust.fits import Fit
from hindmost.models.changepoint.robust.method import LEVEL
from hindmost.models.changepoint.robust.segments import Segment, with_shared_noise


def one(series: NightlySeries) -> History:
    return History(source="one", series=(series,), failures=(), parents={}, warnings=())


def compared(browser: Browser) -> list[float]:
    return [
        float(each)
        for each in json.loads(
            browser.evaluate("document.querySelector('#comparison').dataset.numbers")
        )
    ]


def test_two_cases_are_compared_in_the_page(
    browser: Browser, page: Path, study: HistoryStudy
) -> None:
    show(browser, page, "#blake/beam/Jacobian")
    assert not browser.evaluate("document.querySelector('#comparison').dataset.pairs")
    browser.evaluate("document.querySelector('#other-search').focus()")
    browser.write("weaver jacobian")
    browser.key("Enter")
    assert browser.evaluate("document.querySelector('#comparison').dataset.pairs") == str(NIGHTS)
    by_name = {(s.name.machine, s.name.case, s.name.timer): s for s in study.history.series}
    first, second = by_name["blake", "beam", "Jacobian"], by_name["weaver", HOSTILE, "Jacobian"]
    (each,) = compare_histories(one(second), one(first)).series
    ratio = each.ratio
    assert each.history is not None
    assert ratio.interval is not None
    expected = [*np.log([ratio.value, *ratio.interval]), ratio.freedom, ratio.p_value]
    assert compared(browser) == pytest.approx(expected, rel=1e-3)
    logs = np.log(first.values / second.values)[STEP:][each.history.plain[STEP:]]
    test = stats.ttest_1samp(logs, 0.0)
    assert compared(browser)[4] == pytest.approx(test.pvalue, rel=1e-3)
    words = text(browser, "#pair-words")
    assert "since the last change of the ratio, 2021-04-24" in words
    assert re.search(r"The first is 1\.[23]\d?x slower", words)
    assert text(browser, "#pair-histogram figcaption") == "Log ratio since the last change"
    assert browser.evaluate("document.querySelector('#ratio-chart canvas').dataset.drawn")
    browser.evaluate("document.querySelector('#ratio-chart canvas').focus()")
    browser.key("ArrowUp")
    assert text(browser, "#ratio-chart .hover").startswith("From 2021-04-24 on: mean ratio ")
    address = browser.evaluate("location.hash")
    assert "&with=weaver/" in address
    show(browser, page, address)
    assert compared(browser) == pytest.approx(expected, rel=1e-3)
    # The other way round it is the same ratio, turned.
    first_address, second_address = address[1:].split("&with=")
    show(browser, page, f"#{second_address}&with={first_address}")
    turned = [-expected[0], -expected[2], -expected[1], *expected[3:]]
    assert compared(browser) == pytest.approx(turned, rel=1e-3)
    assert re.search(r"The first is 1\.[23]\d?x faster", text(browser, "#pair-words"))


def test_a_change_of_both_is_none_of_the_ratio(browser: Browser, page: Path) -> None:
    show(browser, page, "#blake/beam/Jacobian&with=blake/other/Jacobian")
    words = text(browser, "#pair-words")
    assert "over all nights" in words
    assert f"{NIGHTS} paired nights" in words
    browser.evaluate("document.querySelector('#other-case').focus()")
    browser.key("ArrowUp")
    assert text(browser, "#pair-words") == "This is the same series: choose another one."


def test_pairs_that_nobody_asked_for_are_drawn_and_not_judged(
    browser: Browser, study: HistoryStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = len(study.judged) * (len(study.judged) - 1) // 2
    assert len(pairs_to_find(study.judged)) == everything
    monkeypatch.setattr(history_ratios, "MOST_PAIRS", everything - 1)
    same = pairs_to_find(study.judged)
    assert len(same) == 12
    names = [each.series.name.timer for each in study.judged]
    assert all(names[first] == names[second] for first, second in same)
    monkeypatch.setattr(history_ratios, "MOST_PAIRS", 11)
    assert pairs_to_find(study.judged) == []
    write_page(tmp_path / "page.html", report_page(Contents(history=study)))
    show(browser, tmp_path / "page.html", "#blake/beam/Jacobian&with=blake/other/Jacobian")
    words = text(browser, "#pair-words")
    assert f"{NIGHTS} paired nights" in words
    assert "hindmost compare" in words
    assert not browser.evaluate("document.querySelector('#comparison').dataset.numbers")


TRIALS = 1000
TRUNCATED = 0.008
"""What nights beyond three standard deviations cost, which are left out as outliers."""


def regimes(nights: int, rho: float) -> list[Regime]:
    """Return the regimes of series around 1 in which no change was found."""
    draw = np.random.default_rng([nights, round(10 * rho)])
    noise = draw.normal(0.0, 1.0, (TRIALS, nights))
    noise[:, 1:] *= math.sqrt(1.0 - rho**2)
    for night in range(1, nights):
        noise[:, night] += rho * noise[:, night - 1]
    found = [detect(values) for values in np.exp(0.02 * noise)]
    return [each.regimes[0] for each in found if len(each.regimes) == 1 and not each.trends]


@pytest.mark.parametrize(
    ("nights", "rho", "estimated"),
    [pytest.param(12, 0.0, 0.0, marks=pytest.mark.slow), (60, 0.5, 0.04)],
)
def test_intervals_cover_as_often_as_they_say(nights: int, rho: float, estimated: float) -> None:
    # How much nights resemble the last is estimated, from below: that costs a little more.
    found = regimes(nights, rho)
    assert len(found) > 0.9 * TRIALS
    for level in SHOWN_LEVELS:
        ends = [mean_interval(each, LEVEL, level) for each in found]
        covered = sum(low <= 1.0 <= high for low, high in ends) / len(ends)
        tolerance = 3.0 * math.sqrt(level * (1.0 - level) / len(ends)) + TRUNCATED
        assert level - tolerance - estimated < covered < level + tolerance + 0.01


def test_another_level_is_the_same_law() -> None:
    regime = Regime(
        start=0, stop=9, mean=1.0, interval=(1 / 1.1, 1.1), n=9, deviation=0.1, freedom=3.7
    )
    low, high = mean_interval(regime, 0.95, 0.99)
    wider = stats.t.ppf(0.995, 3.7) / stats.t.ppf(0.975, 3.7)
    assert (low, high) == pytest.approx((1.1**-wider, 1.1**wider), rel=1e-4)
    assert mean_interval(regime, 0.95, 0.95) == pytest.approx(regime.interval, rel=1e-4)


def segments(*counts: int, rho: float = 0.0) -> list[Segment]:
    return [
        Segment(fit=Fit(0, count, 0.0, 0.0, 1.0, count), sigma=1.0, rho=rho) for count in counts
    ]


def freedoms(segments: list[Segment]) -> list[float]:
    return [each.freedom for each in with_shared_noise(segments)]


def test_no_level_is_known_better_than_all_nights_tell() -> None:
    # The noise counts as 40 nights in the variance of a segment.
    assert freedoms(segments(10, 12)) == [20.0, 20.0]
    assert freedoms(segments(10, 200)) == [49.0, 208.0]
    assert freedoms(segments(10, 200, rho=0.5)) == pytest.approx([29.4, 124.8])


def test_changes_by_1e200_have_a_page() -> None:
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal((3, 60)))
    steps = np.repeat([[1.0, 1e-200], [1.0, 1.0], [1.0, 1e200]], 30, axis=1)
    series = [
        series_of("blake", case, "Total", values)
        for case, values in zip(("down", "level", "up"), noise * steps, strict=True)
    ]
    history = History(source="x", series=tuple(series), failures=(), parents={}, warnings=())
    text = zlib.decompress(base64.b64decode(packed(history_data(judge_history(history)))))
    data = json.loads(text, parse_constant=pytest.fail)
    for each in data["series"]:
        for regime in each["regimes"]:
            for low, high in regime["intervals"]:
                assert 0.0 < low < regime["mean"] < high < math.inf
    assert [len(each["changes"]) for each in data["series"]] == [1, 0, 1]
    # The ratio of the first and the last, 1e400, is no number.
    assert [each["of"] for each in data["pairs"]] == [[0, 1], [1, 2]]
