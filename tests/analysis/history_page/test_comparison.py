"""Two series compared in the page, and the statistics that scripts compute, against scipy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.analysis.browser import Browser
from tests.analysis.history_page.planted import (
    HOSTILE,
    NIGHTS,
    STEP,
    show,
    text,
)

from hindmost.analysis.history.ratio import paired_ratio
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.page.document import LIVE


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
    logs = np.log(first.values / second.values)[STEP:]
    test = stats.ttest_1samp(logs, 0.0)
    interval = test.confidence_interval(0.99)
    expected = [logs.mean(), interval.low, interval.high, test.statistic, logs.size - 1.0]
    assert compared(browser)[:5] == pytest.approx(expected, rel=1e-3)
    assert compared(browser)[5] == pytest.approx(test.pvalue, rel=2e-2)
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
    assert compared(browser)[:5] == pytest.approx(expected, rel=1e-3)


def test_a_change_of_both_is_none_of_the_ratio(browser: Browser, page: Path) -> None:
    show(browser, page, "#blake/beam/Jacobian&with=blake/other/Jacobian")
    words = text(browser, "#pair-words")
    assert "over all nights" in words
    assert f"{NIGHTS} nights in pairs" in words
    browser.evaluate("document.querySelector('#other-case').focus()")
    browser.key("ArrowUp")
    assert text(browser, "#pair-words") == "This is the same series: choose another one."


def in_javascript(browser: Browser, expression: str) -> Any:
    """Return the value of an expression that sees the page's statistics."""
    code = (LIVE / "statistics.js").read_text()
    return browser.evaluate(f"(() => {{ {code}\nreturn {expression}; }})()")


def test_the_statistics_agree_with_scipy(browser: Browser) -> None:
    grid = [(t, f) for t in (0.0, 1e-3, 0.5, 2.0, 7.0, 40.0, -3.0) for f in (1, 2, 3.7, 30, 400)]
    found = in_javascript(browser, f"{json.dumps(grid)}.map(([t, f]) => twoSided(t, f))")
    expected = [2 * stats.t.sf(abs(t), f) for t, f in grid]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    grid = [(level, f) for level in (0.5, 0.9, 0.99, 0.999) for f in (1, 2, 3.7, 30, 400)]
    found = in_javascript(browser, f"{json.dumps(grid)}.map(([p, f]) => studentQuantile(p, f))")
    np.testing.assert_allclose(found, [stats.t.ppf((1 + p) / 2, f) for p, f in grid], rtol=1e-9)


def test_tests_of_means_agree_with_scipy_and_with_compare(browser: Browser) -> None:
    random = np.random.default_rng(3)
    first, second = random.normal(0.3, 1.0, 12), random.normal(0.0, 3.0, 40)
    both = f"{json.dumps(first.tolist())}, {json.dumps(second.tolist())}"
    found = in_javascript(browser, f"welch({both})")
    assert found == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue, rel=1e-9)
    walk = np.convolve(random.normal(0.0, 1.0, 103), [1.0, 0.9, 0.7, 0.5], "valid") + 0.2
    for logs in (first, walk):
        ratio = paired_ratio(np.ones(logs.size), np.exp(logs), 0.99)
        assert (ratio.correlation > 0.0) == (logs is walk)
        assert ratio.interval is not None
        got = in_javascript(browser, f"meanOf({json.dumps(logs.tolist())}, 0.99)")
        assert np.exp([got["mean"], got["low"], got["high"]]) == pytest.approx(
            (ratio.value, *ratio.interval), rel=1e-9
        )
        assert (got["p"], got["freedom"]) == pytest.approx((ratio.p_value, ratio.freedom), rel=1e-9)


def own_changes(browser: Browser, logs: list[float]) -> list[int]:
    code = "".join((LIVE / name).read_text() for name in ("statistics.js", "history_pairs.js"))
    pairs = json.dumps([{"y": value, "hollow": False} for value in logs])
    found = browser.evaluate(f"(() => {{ {code}\nreturn ownChanges({pairs}); }})()")
    return [int(each) for each in found]


def test_a_change_of_the_ratio_alone_is_found(browser: Browser) -> None:
    random = np.random.default_rng(11)
    logs = random.normal(0.0, 0.02, 160) + 0.04 * (np.arange(160) >= 90)
    (place,) = own_changes(browser, logs.tolist())
    assert abs(place - 90) <= 4
    back = logs - 0.06 * (np.arange(160) >= 130)
    assert len(own_changes(browser, back.tolist())) == 2


@pytest.mark.parametrize("related", [0.0, 0.5])
def test_ratios_of_noise_alone_change_hardly_ever(browser: Browser, related: float) -> None:
    random = np.random.default_rng(12)
    changed = 0
    for _ in range(60):
        logs = random.normal(0.0, 0.02, 150)
        for night in range(1, 150):
            logs[night] += related * logs[night - 1]
        changed += bool(own_changes(browser, logs.tolist()))
    assert changed <= (1 if related == 0.0 else 3)
