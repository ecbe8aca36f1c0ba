"""Charts on a page: gaps stay gaps, detours survive pooling, and small numbers keep digits."""

import base64
import re
import zlib
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
from tests.analysis.browser import Browser

from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.heat_map import Callout, HeatMap, heat_map
from hindmost.analysis.show.html_charts import colour_of, curve_data, live_chart
from hindmost.analysis.show.html_maps import LOG_STEP, map_data, map_legend
from hindmost.analysis.show.html_renderer import write_page
from hindmost.analysis.show.page import Page, Widget
from hindmost.analysis.show.palette import FILLS

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


def drawn(part: Widget, folder: Path, browser: Browser) -> str:
    """Return what a chart draws in a browser, as SVG."""
    page = write_page(folder / "page.html", Page(title="", subtitle="", parts=[part]))
    browser.window(800, 600)
    browser.open(page.as_uri(), "document.documentElement.dataset.charts")
    browser.evaluate(
        "window.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };"
        "document.querySelector('.downloads button').click()"
    )
    assert not browser.errors
    return str(browser.evaluate("saved[0].text()"))


def test_names_of_lines_that_are_close_stand_in_two_rows(tmp_path: Path, browser: Browser) -> None:
    marks = {"begin": 1.0, "extrapolated": 14.0, "target": 16.0}
    part = live_chart(
        replace(chart(logarithmic=False), marks=marks), "growth", "", count(1), height=2
    )
    texts = re.findall(
        r'<text[^>]* y="([\d.]+)"[^>]*>(extrapolated|target)<', drawn(part, tmp_path, browser)
    )
    assert len({y for y, _ in texts}) == len(texts) == 2


def test_a_detour_survives_pooling_and_is_marked(tmp_path: Path, browser: Browser) -> None:
    times = np.random.default_rng(0).uniform(50e-6, 60e-6, (3000, 1024))
    assert "○" not in map_legend(heat_map(times, title=""))
    times[1717, 333] = 5e-3
    whole = heat_map(times, title="")
    assert "○ longest, over 1.5 times that" in map_legend(whole)
    svg = drawn(live_chart(whole, "map", "", count(1), height=2), tmp_path, browser)
    assert svg.count("a4.5 4.5 ") == 4  # two halves of a circle and of its outline


def test_the_numbers_of_a_map_travel_within_a_thousandth() -> None:
    random = np.random.default_rng(0)
    times = random.lognormal(-10.0, 1.0, (3000, 512))
    times[17, 3] = 0.0
    times[1717, 333] = 1.0  # a detour
    whole = heat_map(times, title="")
    data = map_data(whole)
    assert len(data["times"]) < 400_000
    codes = np.frombuffer(zlib.decompress(base64.b64decode(data["times"])), "<u2")
    told = np.where(codes > 0, data["least"] * np.exp((codes - 1.0) * LOG_STEP), 0.0)
    shape = (data["columns"], data["rows"])
    assert shape == (500, 256)
    expected = times.reshape(500, 6, 256, 2).max(axis=(1, 3))
    np.testing.assert_allclose(told.reshape(shape), expected, rtol=1.01e-3)


def test_a_gap_is_no_value_on_any_axis() -> None:
    for logarithmic in (False, True):
        (series,) = curve_data(chart(logarithmic=logarithmic))["series"]
        assert [each is None for each in series["y"]] == np.isnan(TIMES_S).tolist()


def test_lines_end_at_gaps_and_ticks_of_small_times_differ(
    tmp_path: Path, browser: Browser
) -> None:
    part = live_chart(chart(logarithmic=False), "growth", "", count(1), height=2)
    svg = drawn(part, tmp_path, browser)
    paths = [re.sub(r"[^ML]", "", each) for each in re.findall(r' d="([^"]*)"', svg)]
    assert "MLML" in paths
    numbers = [each for each in re.findall(r">([\d.]+)<", svg) if each.startswith("0.000")]
    assert len(set(numbers)) == len(numbers) >= 3


def test_a_band_with_a_gap_is_closed_on_both_sides_of_it(tmp_path: Path, browser: Browser) -> None:
    with_gap = chart(logarithmic=True)
    (line,) = with_gap.series
    band = replace(line, look="band", base=0.5 * line.y)
    part = live_chart(replace(with_gap, series=(band,)), "growth", "", count(1), height=2)
    svg = drawn(part, tmp_path, browser)
    paths = [re.sub(r"[^ML]", "", each) for each in re.findall(r' d="([^"]*)" fill="#', svg)]
    assert paths.count("MLLL") == 2  # two points above, two below


def colours(*names: str) -> dict[str, str]:
    """Return the colours of a chart of areas."""
    series = tuple(
        Series(name=name, look="area", x=np.array([0.0, 1.0]), y=np.array([1.0])) for name in names
    )
    chart = Chart(
        title="", x=Quantity("x"), y=Quantity("y"), series=series, y_limits=(0.0, 1.0), marks={}
    )
    return dict(zip(names, colour_of(chart), strict=True))


def test_a_phase_has_the_same_fill_in_every_chart_and_none_that_another_has() -> None:
    phases = ("local", "post", "unclassified", "halo", "wait", "injected")
    every = colours(*phases)
    assert len(set(every.values())) == len(phases) == len(FILLS)
    few = colours("local", "injected", "waiting")
    assert few["injected"] == every["injected"]
    assert few["waiting"] == every["wait"]
    own = colours("assembly", "local", "output")
    assert len(set(own.values())) == 3
    assert own["local"] == every["local"]


def many_ranks() -> HeatMap:
    """Return a map of 97 ranks that says something of one of them, whose number is no tick."""
    callout = Callout(text="rank 41 works twice as long", ranks=(41,), iterations=(9, 19))
    return replace(heat_map(np.ones((40, 97)), title=""), callouts=(callout,))


def test_what_was_found_is_drawn_at_its_rank_which_is_never_left_out(
    tmp_path: Path, browser: Browser
) -> None:
    svg = drawn(live_chart(many_ranks(), "map", "", count(1), height=2), tmp_path, browser)
    texts = dict(re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>(rank 41 works twice as long|41)<', svg))
    assert sorted(texts.values()) == ["41", "rank 41 works twice as long"]
    tick, label = sorted(map(float, texts))
    assert label - tick < 30.0
    triangles = re.findall(r'd="M[\d.]+ [\d.]+L[\d.]+ [\d.]+L[\d.]+ [\d.]+"', svg)
    assert len(triangles) == 3  # the rank, and two iterations


def test_first_points_lie_inside_the_axes() -> None:
    for logarithmic in (False, True):
        (line,) = chart(logarithmic=logarithmic).series
        points = replace(chart(logarithmic=logarithmic), series=(replace(line, look="points"),))
        data = curve_data(points)
        low, high = data["x"]["limits"]
        assert low < data["series"][0]["x"][0] < data["series"][0]["x"][-1] < high
