"""Figures of ranks, and their page in a real browser: a click on a rank opens its timeline."""

import base64
import re
import time
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.browser import PATIENCE_S, Browser
from tests.analysis.ranks.conftest import RANKS, SLOW, reduced_values
from tests.analysis.ranks.test_rank_tables import CSV
from tests.conftest import LOCAL

import hindmost
from hindmost.analysis.ranks.figures import (
    hindmost_chart,
    outlier_chart,
    timeline_charts,
    timelines_of,
)
from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.runs.figures.one_run import make_map, make_rank_histograms
from hindmost.analysis.runs.figures.run_figure import FigureChoice, column_of
from hindmost.analysis.show.html_charts import choice_data
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile import reader
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks.lateness import lateness

CHOSEN = "document.querySelector('#chart-1 select').value"
SAID = "document.querySelector('#chart-{} .hover').textContent"


def opened(browser: Browser, page: Path) -> Browser:
    """Open a page and wait for its charts."""
    charts = page.read_text().count('<figure class="chart"')
    browser.open(page.as_uri(), f"document.documentElement.dataset.charts === '{charts}'")
    return browser


def place(browser: Browser, number: int, across: float, up: float) -> tuple[float, float]:
    """Return where on the screen a place within the axes of a chart is, 0 to 1 both ways."""
    box = browser.evaluate(
        f"(() => {{ const c = document.querySelector('#chart-{number} canvas');"
        "c.scrollIntoView({block: 'center'}); const r = c.getBoundingClientRect();"
        "return [r.x + 54, r.y + 8, r.width - 74, r.height - 46]; })()"
    )
    return box[0] + across * box[2], box[1] + (1 - up) * box[3]


def test_a_click_on_an_outlier_opens_its_timeline(
    run_path: Path, tmp_path: Path, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "ranks.html"
    assert main(["show", "--ranks", str(run_path), "--out", str(page)]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    opened(browser, page)
    assert browser.evaluate(CHOSEN) == str(SLOW)  # who is hindmost comes first
    for link in browser.evaluate("[...document.querySelectorAll('main td a')].map((a) => a.hash)"):
        assert re.fullmatch(r"#chart-1=\d+", link)
    # A rank in the table, by its link.
    other = browser.evaluate(
        "(() => { const all = [...document.querySelectorAll('td a')];"
        f"const it = all.find((a) => a.textContent !== '{SLOW}'); it.click();"
        "return it.textContent; })()"
    )
    browser.wait(f"{CHOSEN} === '{other}'")
    # The bar of the slow rank, by the pointer; what stands beside no rank worth a look opens none.
    x, y = place(browser, 2, (SLOW + 0.5) / RANKS, 0.5)
    browser.point(x, y)
    said = browser.evaluate(SAID.format(2))
    assert said.startswith(f"rank {SLOW}: wait time of all ranks that it causes ")
    assert said.endswith("a click or Enter opens its timeline")
    browser.click(x, y)
    browser.wait(f"{CHOSEN} === '{SLOW}'")
    assert browser.evaluate("location.hash") == f"#chart-1={SLOW}"
    # The chooser, and a bar by the keyboard: the arrows go there, Enter opens it.
    browser.evaluate(
        "(() => { const s = document.querySelector('#chart-1 select'); s.selectedIndex = 1;"
        "s.dispatchEvent(new Event('change')); })()"
    )
    second = browser.evaluate("document.querySelector('#chart-1 select').options[1].value")
    assert browser.evaluate("location.hash") == f"#chart-1={second}"
    browser.evaluate("document.querySelector('#chart-3 canvas').focus()")
    for _ in range(RANKS * 5):
        browser.key("ArrowLeft")  # from the middle to the first rank
    browser.wait(f"{SAID.format(3)}.startsWith('rank 0: ')")
    while not browser.evaluate(SAID.format(3)).startswith(f"rank {SLOW}: "):
        browser.key("ArrowRight")
    browser.key("Enter")
    browser.wait(f"{CHOSEN} === '{SLOW}'")
    assert browser.errors == []
    asked = [request for request in browser.requests if not request.startswith("data:")]
    assert {each.partition("#")[0] for each in asked} == {page.as_uri()}


def test_the_timeline_says_what_the_file_has(
    run_path: Path, tmp_path: Path, browser: Browser
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(run_path), "--out", str(page)]) == 0
    opened(browser, page)
    run = hindmost.open(run_path)
    # A row of the map of work, by the pointer.
    work = 2
    assert browser.evaluate(f"document.querySelector('#chart-{work}').dataset.kind") == "map"
    browser.click(*place(browser, work, 0.5, (SLOW + 0.5) / RANKS))
    browser.wait(f"{CHOSEN} === '{SLOW}'")
    body = 30
    end = time.monotonic() + PATIENCE_S
    told = ""
    while not told.startswith("body ") and time.monotonic() < end:  # the page may still scroll
        browser.point(*place(browser, 1, (body + 0.5) / run.bodies, 0.5))
        told = browser.evaluate(SAID.format(1))
    found = dict(re.findall(r"(local|post|unclassified|halo|wait) ([\d.]+)", told))
    assert told.startswith(f"body {body}: ")
    for name in PHASES:
        expected = 1e6 * run.phase(name)[body, SLOW]
        assert float(found[name]) == pytest.approx(expected, rel=2e-3)
    assert browser.errors == []


def test_timelines_are_means_and_the_longest(
    run_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hindmost.open(run_path)
    monkeypatch.setattr("hindmost.analysis.ranks.figures.INTERVALS", 8)
    found = timelines_of(run, [5, SLOW])
    assert found.bodies_a_step == 8
    assert found.edges.tolist() == [*np.arange(0, 60, 8) - 0.5, 59.5]
    local = run.phase("local")
    np.testing.assert_allclose(found.mean["local"][1][2], local[16:24, SLOW].mean())
    np.testing.assert_allclose(found.mean["local"][0][-1], local[56:, 5].mean())
    np.testing.assert_allclose(found.longest[1][2], run.durations[16:24, SLOW].max())
    monkeypatch.setattr(reader, "BLOCK_BYTES", 8 * RANKS * 7)
    parts = timelines_of(run, [5, SLOW])
    for name, mean in found.mean.items():
        np.testing.assert_allclose(parts.mean[name], mean, rtol=1e-12)
    np.testing.assert_array_equal(parts.longest, found.longest)


def test_timelines_travel_to_a_tenth_of_a_percent(run_path: Path) -> None:
    charts = timeline_charts(timelines_of(hindmost.open(run_path), [3, SLOW]), title="")
    data = choice_data({"3": charts[0], "17": charts[1]})
    codes = np.frombuffer(zlib.decompress(base64.b64decode(data["times"])), "<u2").astype(float)
    heights = np.where(codes, data["least"] * np.exp((codes - 1) * data["log_step"]), 0.0)
    tops = heights.reshape(2, len(PHASES), 60).cumsum(axis=1)
    for at, chart in enumerate(charts):
        assert chart.y_limits == charts[0].y_limits
        for level, series in enumerate(chart.series):
            np.testing.assert_allclose(tops[at, level], series.y, rtol=1.1e-3)


def test_who_is_hindmost_in_percent(run_path: Path, values: dict[str, object]) -> None:
    report = report_run(hindmost.open(run_path))
    caused, last = hindmost_chart(report).series
    work = np.asarray(values["phase_duration"])[:, :, LOCAL].astype(np.float32).astype(float)
    winner = work.argmax(axis=1)
    charged = lateness(work, ["n"] * RANKS).charged_s
    waiting = (work.max(axis=1)[:, None] - work).sum()
    assert charged.sum() == pytest.approx(waiting)
    np.testing.assert_allclose(caused.y, 100 * charged / waiting, rtol=1e-6, atol=1e-9)
    assert caused.y.argmax() == SLOW
    np.testing.assert_allclose(last.y, 100 * np.bincount(winner, minlength=RANKS) / 60)
    bars = outlier_chart(report)
    assert bars.names[:2] == ("all", str(SLOW))
    own = next(each for each in bars.series if each.name == "local")
    assert own.base is not None
    rows = (own.y - own.base) * 1e-3
    np.testing.assert_allclose(rows[:2], [work.sum(axis=0).mean(), work[:, SLOW].sum()], rtol=1e-6)
    assert len(report.worth_a_look()) == len(bars.names) - 1 <= 16


def test_ranks_that_were_kept_go_by_their_numbers(
    tmp_path: Path, header: Header, values: dict[str, object], browser: Browser
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    path = write_whole(tmp_path, header, reduced_values(values, [2, 5, SLOW]))
    run = hindmost.open(path)
    assert column_of(run, SLOW) == 2
    with pytest.raises(
        UsageError, match=r"kept no full record of rank 3; it kept 3 of 24 ranks: 2, 5, 17"
    ):
        column_of(run, 3)
    with pytest.raises(UsageError, match="has no rank 24; it has ranks 0 to 23"):
        column_of(run, 24)
    drawn = make_map(run, FigureChoice(position="all"))
    assert drawn.names == ["2", "5", "17"]
    assert drawn.y_label == "rank (3 of 24 ranks, those that were kept)"
    assert {"rank_2_s", "rank_5_s", "rank_17_s"} < set(drawn.columns())
    histograms = make_rank_histograms(run, FigureChoice(ranks=(SLOW,)))
    assert histograms.series[0].name.startswith(f"rank {SLOW}")
    page = tmp_path / "ranks.html"
    assert main(["show", "--ranks", str(path), "--out", str(page)]) == 0
    opened(browser, page)
    x, y = place(browser, 2, (SLOW + 0.5) / RANKS, 0.5)  # of all ranks, kept or not
    browser.point(x, y)
    assert browser.evaluate(SAID.format(2)).startswith(f"rank {SLOW}: ")
    browser.evaluate("document.querySelector('#chart-1 select').value = '2'")
    browser.click(x, y)
    browser.wait(f"{CHOSEN} === '{SLOW}'")


def test_a_page_on_tables_has_no_timelines(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "metrics.csv").write_text(CSV)
    (tmp_path / "counts.csv").write_text("rank,messages\n0,1\n1,2\n2,9\n")
    (tmp_path / "one.csv").write_text("rank,compute [s]\n0,1\n")
    page = tmp_path / "page.html"
    tables = [str(tmp_path / f"{name}.csv") for name in ("metrics", "counts", "one")]
    assert main(["show", "--ranks", *tables, "--out", str(page)]) == 0
    html = page.read_text()
    assert "<select>" not in html
    assert "There is only one rank, so there is nothing to compare." in html
    assert "so no rank is named last." in html
    opened(browser, page)
    assert browser.errors == []
    with pytest.raises(UsageError, match="give only one of them"):
        main(["show", "--ranks", *tables, "--out", str(page), "--json"])
