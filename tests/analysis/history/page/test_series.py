"""The page on a history in a real browser: choosers, pointing, keyboard, map, no request."""

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.browser import Browser
from tests.analysis.history.page.planted import (
    FIRST_DAY,
    HOSTILE,
    STEP,
    chart_place,
    series_of,
    show,
    text,
)

from hindmost.analysis.history.page.data import history_data
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.show.html_renderer import write_page
from hindmost.text import seconds


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
    section = page.read_text().split("<h2>Changes of the last 10 days")[1].split("<section")[0]
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
    assert failing[1][6] == f"{100 * size['Fill'] / size['Total']:.0f}\u00a0% of the above"
    assert "agreed &lt;b&gt;upon" in section


def test_it_opens_on_the_newest_change_and_sends_nothing(browser: Browser, page: Path) -> None:
    show(browser, page)
    assert browser.evaluate("document.title") == "Performance, night by night"
    assert {url for url in browser.requests if not url.startswith("about:")} == {page.as_uri()}
    assert browser.evaluate("document.documentElement.dataset.series") == "12"
    assert "fail" in text(browser, "#chosen-title")
    assert browser.evaluate("document.querySelector('#series-chart canvas').dataset.drawn")


def test_the_first_screen_draws_what_changed_and_all_series_over_time(
    browser: Browser, page: Path
) -> None:
    show(browser, page)
    drawn = "[...document.querySelectorAll('figure[data-series]')].map((e) => e.dataset.series)"
    leading = browser.evaluate(drawn)
    assert leading[0] == "blake/beam/Total"
    svg = browser.evaluate(
        "(() => { window.saved = [];"
        "URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };"
        "document.querySelector('#leading-0-chart .downloads button').click();"
        "return saved[0].text(); })()"
    )
    assert "%: Albany a112..a113, Trilinos t000" in svg
    assert browser.evaluate("document.querySelector('#matrix-chart canvas').dataset.drawn")
    box = "document.querySelector('#matrix-chart canvas').getBoundingClientRect().height"
    assert browser.evaluate(box) == pytest.approx(11 * 12 + 26, abs=1)


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
    assert browser.evaluate("document.title") == "Performance, night by night"
    address = browser.evaluate("location.hash")
    show(browser, page, address)
    assert text(browser, "#chosen-title") == f"pass weaver · {HOSTILE} · Total"
    assert text(browser, "#changes").startswith("No step up to 2021-04-30.")


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


def test_all_charts_have_one_time_range(browser: Browser, page: Path) -> None:
    def first_ticks() -> list[str]:
        """Return the begins of the charts: what their SVG and the map say."""
        begins: list[str] = browser.evaluate(
            "[document.querySelector('#matrix-chart canvas').dataset.from,"
            " ...[...document.querySelectorAll('figure.chart.live canvas[tabindex]')]"
            ".map((each) => each.dataset.from)]"
        )
        return begins

    show(browser, page, "#blake/beam/Total")
    whole = first_ticks()
    show(browser, page, "#blake/beam/Total&range=30")
    cut = first_ticks()
    assert len(cut) == len(whole) >= 3
    assert set(cut[1:]) == {cut[0]}
    assert all(after > before for before, after in zip(whole, cut, strict=True))
    browser.evaluate("document.querySelector('#range').focus()")
    browser.key("ArrowUp")
    assert first_ticks() == whole
    assert "range" not in browser.evaluate("location.hash")


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
    assert told.startswith(f"2021-01-31: {seconds(values[night])}, ")
    assert told.endswith("Albany a030, Trilinos t000")
    change = judged.detection.changes[-1]
    assert change.index == STEP
    middle = (min(values) + max(values)) / 2
    browser.point(*chart_place(browser, time + STEP, middle, values))
    told = text(browser, "#series-chart .hover")
    assert told.startswith("fail From 2021-04-24 on 1.30x slower: ")
    low, high = (100 * end for end in change.effect_interval)
    numbers = re.search(
        r": \+([\d.]+) % \(\+([\d.]+) to \+([\d.]+) %\), p < 1e-15, confirmed", told
    )
    assert numbers is not None
    expected = (100 * change.effect, low, high)
    assert [float(group) for group in numbers.groups()] == pytest.approx(expected, rel=6e-3)
    assert told.endswith("commits to inspect: Albany a112..a113, Trilinos t000")
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


def test_regimes_are_told_with_intervals(browser: Browser, page: Path, study: HistoryStudy) -> None:
    show(browser, page, "#blake/beam/Jacobian")
    judged = next(each for each in study.judged if str(each.series.name) == "blake, beam, Jacobian")
    regime = judged.detection.regimes[0]
    cards = browser.evaluate(
        "[...document.querySelectorAll('.regime')].map((each) => each.innerText)"
    )
    assert len(cards) == 2
    low, high = regime.interval
    assert f"interval {seconds(low)} to {seconds(high)}; noise " in cards[-1]
    assert "2021-01-01 to 2021-04-23" in cards[-1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_windows_and_dark_pages(browser: Browser, page: Path, scheme: str) -> None:
    browser.window(420, 800, scheme)
    try:
        show(browser, page, "#blake/beam/Total")
        assert browser.evaluate("document.documentElement.scrollWidth") == 420
        paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        for name in ("series", "matrix"):
            seen = browser.evaluate(
                f"(() => {{ const c = document.querySelector('#{name}-chart canvas');"
                " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
            )
            assert seen > 1000
    finally:
        browser.window(1400, 1000)


def test_it_can_be_printed_in_the_colours_of_paper(browser: Browser, page: Path) -> None:
    browser.window(1400, 600, "dark")
    try:
        show(browser, page)
        browser.call("Emulation.setEmulatedMedia", media="print")
        dots = "document.querySelector('#series-chart canvas').getContext('2d')"
        darkest = (
            f"(() => {{ const c = {dots}, d = c.getImageData(0, 0, c.canvas.width, 200).data;"
            " let least = 255; for (let i = 0; i < d.length; i += 4)"
            " if (d[i + 3] > 250) least = Math.min(least, d[i] + d[i + 1] + d[i + 2]);"
            " return least; })()"
        )
        browser.wait(f"{darkest} < {0x1B + 0x2A + 0x41 + 30}")
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
    write_page(tmp_path / "page.html", report_page(Contents(history=large)))
    assert 200_000 < (tmp_path / "page.html").stat().st_size < 4_000_000


def test_no_column_of_the_changes_is_cut_off_at_1200_pixels(browser: Browser, page: Path) -> None:
    browser.window(1200, 900)
    try:
        show(browser, page)
        boxes = "[...document.querySelectorAll('details[open] .scroll')]"
        cut = browser.evaluate(f"{boxes}.map((each) => each.scrollWidth - each.clientWidth)")
        assert cut == [0]
    finally:
        browser.window(1400, 1000)
