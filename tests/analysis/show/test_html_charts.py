"""Curves on a page: gaps stay gaps, on logarithmic axes too, and small numbers keep digits."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
from tests.analysis.browser import Browser, need_browser

from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.html_charts import curve_data, live_chart
from hindmost.analysis.show.html_renderer import write_page
from hindmost.analysis.show.page import Page

TIMES_S = np.array([2e-4, 4e-4, np.nan, 6e-4, 8e-4])


def chart(*, logarithmic: bool) -> Chart:
    """Return a line with a gap."""
    ranks = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    return Chart(
        title="growth",
        x=Quantity(text="ranks"),
        y=Quantity(text="time", unit="s"),
        series=(Series(name="model", look="line", x=ranks, y=TIMES_S),),
        y_limits=(1e-4, 1e-3),
        marks={},
        logarithmic=(logarithmic, logarithmic),
    )


def test_a_gap_is_no_value_on_any_axis() -> None:
    for logarithmic in (False, True):
        (series,) = curve_data(chart(logarithmic=logarithmic))["series"]
        assert [each is None for each in series["y"]] == np.isnan(TIMES_S).tolist()


def test_lines_end_at_gaps_and_ticks_of_small_times_differ(tmp_path: Path) -> None:
    part = live_chart(chart(logarithmic=False), "growth", "", count(1), height=2)
    page = write_page(tmp_path / "page.html", Page(title="", subtitle="", parts=[part]))
    with Browser(need_browser(), tmp_path / "profile") as browser:
        browser.window(800, 600)
        browser.open(page.as_uri(), "document.documentElement.dataset.charts")
        browser.evaluate(
            "window.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };"
            "document.querySelector('.downloads button').click()"
        )
        svg = str(browser.evaluate("saved[0].text()"))
    paths = [re.sub(r"[^ML]", "", each) for each in re.findall(r' d="([^"]*)"', svg)]
    assert "MLML" in paths
    numbers = [each for each in re.findall(r">([\d.]+)<", svg) if each.startswith("0.000")]
    assert len(set(numbers)) == len(numbers) >= 3


def test_a_band_with_a_gap_is_closed_on_both_sides_of_it(tmp_path: Path) -> None:
    with_gap = chart(logarithmic=True)
    (line,) = with_gap.series
    band = replace(line, look="band", base=0.5 * line.y)
    part = live_chart(replace(with_gap, series=(band,)), "growth", "", count(1), height=2)
    page = write_page(tmp_path / "page.html", Page(title="", subtitle="", parts=[part]))
    with Browser(need_browser(), tmp_path / "profile") as browser:
        browser.window(800, 600)
        browser.open(page.as_uri(), "document.documentElement.dataset.charts")
        browser.evaluate(
            "window.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };"
            "document.querySelector('.downloads button').click()"
        )
        svg = str(browser.evaluate("saved[0].text()"))
    paths = [re.sub(r"[^ML]", "", each) for each in re.findall(r' d="([^"]*)" fill="#', svg)]
    assert paths.count("MLLL") == 2  # two points above, two below
