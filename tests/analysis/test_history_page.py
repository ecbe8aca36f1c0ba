"""The page on a history in a real browser: choosers, pointing, keyboard, comparison, no request."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.analysis.browser import Browser, need_browser

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.history.ratio import paired_ratio
from hindmost.analysis.history.records import FailedRun, History, NightlySeries, SeriesName
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.page.document import LIVE
from hindmost.analysis.page.history import write_history_page
from hindmost.analysis.page.history_data import history_data
from hindmost.analysis.page.history_normality import mean_interval

HOSTILE = '</script><script>document.title = "taken"</script><b>&"\''
NIGHTS, STEP = 120, 113
FIRST_DAY = 18628  # 2021-01-01
READY = "document.documentElement.dataset.series"
PARENTS = {"Fill": "Total", "Solve": "Total", "Jacobian": "Fill"}
KNOWN = Acknowledgement(date="2021-04-24", case="other", reason="agreed <b>upon</b>")


def series_of(
    machine: str, case: str, timer: str, values: NDArray[np.float64], first: int = FIRST_DAY
) -> NightlySeries:
    nights = np.arange(values.size)
    parts = tuple({"Albany": f"a{night:03d}", "Trilinos": "t000"} for night in nights)
    return NightlySeries(
        name=SeriesName(machine=machine, case=case, timer=timer),
        unit="s",
        smaller_is_better=True,
        times=(first + nights) * 86400.0 + 3600.0,
        values=values,
        commits=tuple(f"Albany {each['Albany']}, Trilinos t000" for each in parts),
        commit_parts=parts,
        spread=None,
    )


def synthetic() -> History:
    """Return a history of known truth: one part of the total is 30 % slower in the last week."""
    random = np.random.default_rng(6)
    series = []
    for machine, case in (("blake", "beam"), ("blake", "other"), ("weaver", HOSTILE)):
        jacobian = random.lognormal(np.log(4.0), 0.01, NIGHTS)
        if machine == "blake":
            jacobian[STEP:] *= 1.3
        fill = jacobian + random.lognormal(np.log(2.0), 0.01, NIGHTS)
        solve = random.lognormal(np.log(3.0), 0.01, NIGHTS)
        if case == "other":
            solve[40] *= 1.5
        total = fill + solve
        for timer, values in (("Total", total), ("Fill", fill), ("Solve", solve)):
            series.append(series_of(machine, case, timer, values))
        series.append(series_of(machine, case, "Jacobian", jacobian))
    failed = FailedRun(
        time=FIRST_DAY * 86400.0, machine="blake", case="beam", reason=HOSTILE, file="a/b.json"
    )
    return History(
        source="nights",
        series=tuple(series),
        failures=(failed,),
        parents=PARENTS,
        warnings=(HOSTILE,),
    )


@pytest.fixture(scope="module")
def study() -> HistoryStudy:
    return judge_history(synthetic(), acknowledged=[KNOWN])


@pytest.fixture(scope="module")
def page(study: HistoryStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "page.html"
    write_history_page(study, path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(need_browser(), tmp_path_factory.mktemp("profile")) as started:
        started.window(1400, 1000)
        yield started


def text(browser: Browser, selector: str) -> str:
    return str(browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))


def show(browser: Browser, page: Path, address: str = "") -> None:
    browser.open(page.as_uri() + address, READY)
    assert browser.errors == []


def place(browser: Browser, expression: str) -> tuple[float, float]:
    """Return where something is in the window: its middle."""
    frame = browser.evaluate(
        f"(() => {{ const f = {expression}.getBoundingClientRect();"
        " return [f.left, f.top, f.width, f.height]; })()"
    )
    return frame[0] + frame[2] / 2, frame[1] + frame[3] / 2


def chart_place(
    browser: Browser, time: float, value: float, values: Sequence[float]
) -> tuple[float, float]:
    """Return where a night is in the chart of a series without outliers, from the axes' rules."""
    browser.evaluate("document.querySelector('#series-chart canvas').scrollIntoView()")
    left, top, width, height = browser.evaluate(
        "(() => { const f = document.querySelector('#series-chart canvas').getBoundingClientRect();"
        " return [f.left, f.top, f.width, f.height]; })()"
    )
    first, last = FIRST_DAY + 1 / 24, FIRST_DAY + NIGHTS - 1 + 1 / 24
    room = 0.02 * (last - first)
    across = (time - first + room) / (last - first + 2 * room)
    low, high = min(values), max(values)
    up = (value - low + 0.08 * (high - low)) / (1.16 * (high - low))
    return left + 54 + across * (width - 74), top + 8 + (1 - up) * (height - 46)


def test_the_page_asks_for_nothing_and_keeps_foreign_text_dead(page: Path) -> None:
    html = page.read_text()
    assert not re.search(r"https?://|url\(|@import", html)
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert "default-src 'none'" in html
    assert HOSTILE not in html
    assert html.count("<script") == 2


def test_recent_changes_stand_by_cause_and_hierarchy(study: HistoryStudy, page: Path) -> None:
    section = page.read_text().split("Changes of the last 10 days")[1].split("<section")[0]
    assert section.count("<details") == 1
    assert "Albany a112..a113, Trilinos t000" in section
    rows = [
        [re.sub(r"<[^>]+>", "|", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in section.split("<tr>")[2:]
    ]
    timers = [row[1].strip("|").split("|")[-1] for row in rows]
    assert timers == ["Total", "Fill", "Jacobian"] * 2
    assert sorted(row[0].strip("|") for row in rows) == ["fail"] * 3 + ["known"] * 3
    failing = rows[:3] if "fail" in rows[0][0] else rows[3:]
    judged = {
        each.series.name.timer: each.detection.changes[-1]
        for each in study.judged
        if each.series.name.case == "beam" and each.detection.changes
    }
    size = {timer: change.after - change.before for timer, change in judged.items()}
    assert failing[1][6] == f"{100 * size['Fill'] / size['Total']:.0f} % of that above"
    assert "in Fill, of which" in failing[0][6]
    assert "agreed &lt;b&gt;upon" in section


def test_it_opens_on_the_newest_change_and_sends_nothing(browser: Browser, page: Path) -> None:
    show(browser, page)
    assert browser.evaluate("document.title") == "What changed, night by night"
    assert {url for url in browser.requests if not url.startswith("about:")} == {page.as_uri()}
    assert browser.evaluate("document.querySelectorAll('.cell').length") == 12
    assert "fail" in text(browser, "#chosen-title")
    assert browser.evaluate("document.querySelector('#series-chart canvas').dataset.drawn")


def test_series_are_chosen_by_lists_and_the_address_keeps_them(
    browser: Browser, page: Path
) -> None:
    show(browser, page, "#blake/beam/Total")
    assert text(browser, "#chosen-title") == "fail blake · beam · Total"
    browser.evaluate("document.querySelector('#chosen-case').focus()")
    browser.key("ArrowDown")
    assert text(browser, "#chosen-title") == "known blake · other · Total"
    browser.evaluate("document.querySelector('#chosen-machine').focus()")
    browser.key("ArrowDown")
    assert text(browser, "#chosen-title") == f"pass weaver · {HOSTILE} · Total"
    assert browser.evaluate("document.title") == "What changed, night by night"
    address = browser.evaluate("location.hash")
    show(browser, page, address)
    assert text(browser, "#chosen-title") == f"pass weaver · {HOSTILE} · Total"
    assert text(browser, "#changes") == "No change."


def test_series_are_found_by_words_and_keys(browser: Browser, page: Path) -> None:
    show(browser, page, "#blake/beam/Total")
    browser.key("/")
    assert browser.evaluate("document.activeElement.id") == "chosen-search"
    browser.write("other bla")
    found = browser.evaluate(
        "[...document.querySelectorAll('#chosen-list [role=option]')].map((e) => e.innerText)"
    )
    assert len(found) == 4
    assert all("blake · other" in each for each in found)
    browser.key("ArrowDown")
    browser.key("ArrowDown")
    browser.key("Enter")
    assert text(browser, "#chosen-title") == found[2]
    assert browser.evaluate("document.querySelector('#chosen-list').hidden")


def test_pointing_tells_nights_and_changes(
    browser: Browser, page: Path, study: HistoryStudy
) -> None:
    show(browser, page, "#blake/beam/Jacobian")
    judged = next(each for each in study.judged if str(each.series.name) == "blake, beam, Jacobian")
    assert not judged.detection.outliers
    values = judged.series.values.tolist()
    night = 30
    time = FIRST_DAY + 1 / 24
    browser.point(*chart_place(browser, time + night, values[night], values))
    told = text(browser, "#series-chart .hover")
    assert told.startswith(f"2021-01-31 01:00: {values[night]:.4g} s, ")
    assert told.endswith("Albany a030, Trilinos t000")
    change = judged.detection.changes[-1]
    assert change.index == STEP
    middle = (min(values) + max(values)) / 2
    browser.point(*chart_place(browser, time + STEP, middle, values))
    told = text(browser, "#series-chart .hover")
    assert told.startswith("fail From 2021-04-24 on 1.3x slower: ")
    low, high = (100 * end for end in change.effect_interval)
    numbers = re.search(r": \+([\d.]+) % \(\+([\d.]+) to \+([\d.]+)\), p < 1e-15, confirmed", told)
    assert numbers is not None
    expected = (100 * change.effect, low, high)
    assert [float(each) for each in numbers.groups()] == pytest.approx(expected, rel=6e-3)
    assert told.endswith("commits to look at: Albany a112..a113, Trilinos t000")
    browser.point(5, 5)
    assert text(browser, "#series-chart .hover").startswith("Point at a night")


def test_keys_walk_from_night_to_night_and_from_change_to_change(
    browser: Browser, page: Path
) -> None:
    show(browser, page, "#blake/beam/Jacobian")
    browser.evaluate("document.querySelector('#series-chart canvas').focus()")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    assert text(browser, "#series-chart .hover").startswith("2021-01-02")
    browser.key("ArrowUp")
    assert "From 2021-04-24 on" in text(browser, "#series-chart .hover")
    browser.key("ArrowLeft")
    assert text(browser, "#series-chart .hover").startswith("2021-04-23")


def test_regimes_are_told_with_intervals_and_histograms(
    browser: Browser, page: Path, study: HistoryStudy
) -> None:
    show(browser, page, "#blake/beam/Jacobian")
    judged = next(each for each in study.judged if str(each.series.name) == "blake, beam, Jacobian")
    regime = judged.detection.regimes[0]
    cards = browser.evaluate(
        "[...document.querySelectorAll('.regime')].map((each) => each.innerText)"
    )
    assert len(cards) == 2
    for choice, level in (("1", 0.99), ("0", 0.90)):
        browser.evaluate(
            "(() => { const s = document.querySelector('#level');"
            f" s.value = '{choice}'; s.dispatchEvent(new Event('change')); }})()"
        )
        card = browser.evaluate("[...document.querySelectorAll('.regime')].at(-1).innerText")
        low, high = mean_interval(regime, 0.95, level)
        assert f"{100 * level:g} % interval {low:.4g} to {high:.4g}" in card
    assert "2021-01-01 to 2021-04-23" in card
    normal = stats.shapiro(judged.series.values[:STEP]).pvalue
    told = re.search(r"values: p ([\d.e-]+)", card)
    assert told is not None
    assert float(told[1]) == pytest.approx(normal, rel=0.05)
    assert browser.evaluate("document.querySelectorAll('.regime canvas').length") >= 2


def test_the_interval_of_a_mean_at_another_level(study: HistoryStudy) -> None:
    regime = study.judged[0].detection.regimes[0]
    values = np.log(np.random.default_rng(0).lognormal(0.0, 0.1, regime.n))
    mean, error = float(values.mean()), float(stats.sem(values))
    at = {level: stats.t.interval(level, regime.n - 1, mean, error) for level in (0.95, 0.99)}
    known = replace(regime, interval=(float(np.exp(at[0.95][0])), float(np.exp(at[0.95][1]))))
    assert mean_interval(known, 0.95, 0.99) == pytest.approx(np.exp(at[0.99]), rel=1e-4)


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


def test_the_grid_is_sorted_drawn_when_seen_and_chooses(browser: Browser, page: Path) -> None:
    browser.window(420, 600)
    try:
        show(browser, page)
        newest = browser.evaluate(
            "[...document.querySelectorAll('.cell')].map((cell) => cell.series.newest)"
        )
        browser.evaluate("window.scrollTo(0, 0)")
        assert [each or 0.0 for each in newest] == sorted(
            (each or 0.0 for each in newest), reverse=True
        )
        assert not browser.evaluate("document.querySelectorAll('.cell[data-drawn]').length")
        browser.evaluate("document.querySelector('#all').scrollIntoView()")
        browser.wait("document.querySelector('.cell').dataset.drawn")
        assert browser.evaluate("document.querySelectorAll('.cell:not([data-drawn])').length")
        wanted = text(browser, ".cell:nth-child(3) .cell-name").split(" ", 1)[1]
        browser.click(*place(browser, "document.querySelector('.cell:nth-child(3) canvas')"))
        browser.wait("document.querySelector('.cell:nth-child(3)').ariaCurrent")
        assert text(browser, "#chosen-title").endswith(f" · {wanted}")
        browser.evaluate("document.querySelector('#grid-words').focus()")
        browser.write("weaver")
        assert text(browser, "#grid-count") == "4 of 12 series"
    finally:
        browser.window(1400, 1000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_windows_and_dark_pages(browser: Browser, page: Path, scheme: str) -> None:
    browser.window(420, 800, scheme)
    try:
        show(browser, page, "#blake/beam/Total&with=blake/other/Total")
        assert browser.evaluate("document.documentElement.scrollWidth") == 420
        paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        for name in ("series", "ratio"):
            seen = browser.evaluate(
                f"(() => {{ const c = document.querySelector('#{name}-chart canvas');"
                " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
            )
            assert seen > 1000
    finally:
        browser.window(1400, 1000)


def test_it_can_be_printed_with_all_series_in_the_colours_of_paper(
    browser: Browser, page: Path
) -> None:
    browser.window(1400, 600, "dark")
    try:
        show(browser, page)
        assert browser.evaluate("document.querySelectorAll('.cell:not([data-drawn])').length")
        browser.call("Emulation.setEmulatedMedia", media="print")
        browser.wait("!document.querySelector('.cell:not([data-drawn])')")
        dots = "document.querySelector('#series-chart canvas').getContext('2d')"
        darkest = browser.evaluate(
            f"(() => {{ const c = {dots}, d = c.getImageData(0, 0, c.canvas.width, 200).data;"
            " let least = 255; for (let i = 0; i < d.length; i += 4)"
            " if (d[i + 3] > 250) least = Math.min(least, d[i] + d[i + 1] + d[i + 2]);"
            " return least; })()"
        )
        assert darkest < 0x1B + 0x2A + 0x41 + 30
        assert base64.b64decode(browser.call("Page.printToPDF")["data"]).startswith(b"%PDF")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="screen")
        browser.window(1400, 1000)


def test_503_series_of_400_nights_are_under_4_mb(study: HistoryStudy, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    nights = 400
    many = []
    for number in range(503):
        series = series_of(
            "blake",
            f"case-{number // 11}",
            f"timer {number % 11}",
            random.lognormal(1.0, 0.3, nights),
        )
        model = study.judged[number % len(study.judged)]
        many.append(replace(model, series=series, labels=model.labels * 4))
    large = replace(study, judged=tuple(many))
    assert sum(len(each["values"]) for each in history_data(large)["series"]) == 503 * nights
    write_history_page(large, tmp_path / "page.html")
    assert 200_000 < (tmp_path / "page.html").stat().st_size < 4_000_000
