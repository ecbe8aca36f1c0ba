"""Two series compared in the page: it shows what the library found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.analysis.browser import Browser
from tests.analysis.history.page.planted import (
    HOSTILE,
    NIGHTS,
    STEP,
    show,
    text,
)

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.page import ratios as history_ratios
from hindmost.analysis.history.page.ratios import pairs_to_find
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.history import History, NightlySeries
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.show.html_renderer import write_page


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
