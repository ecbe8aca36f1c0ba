"""The page in a real browser: its script runs, answers, and asks for nothing from outside."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.browser import Browser
from tests.conftest import LOCAL, run_values

from hindmost.analysis.report.comparison import verdict
from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

DETOUR_S = 2e-3
HOSTILE = '</script><script>document.title = "taken"</script>'


@pytest.fixture
def page(tmp_path: Path, header: Header) -> Path:
    """Return the page on a run with one detour of known place, on a host of a hostile name."""
    values = run_values(iterations=40, ranks=3, restart=10, seed=1)
    durations, phases = np.array(values["duration"]), np.array(values["phase_duration"])
    durations[25, 1] += DETOUR_S
    phases[25, 1, LOCAL] += DETOUR_S
    values |= {"duration": durations, "phase_duration": phases, "host": ["a", "a", HOSTILE]}
    file = write_whole(tmp_path, header, values)
    assert main(["report", str(file), "--out", str(tmp_path / "page.html")]) == 0
    return tmp_path / "page.html"


def test_charts_are_drawn_and_answer(page: Path, browser: Browser) -> None:
    charts = page.read_text().count('<figure class="chart"')
    assert charts == 13  # nobody waited for the detour, so no rank is blamed
    ready = f"document.documentElement.dataset.charts === '{charts}'"

    def said(number: int, at: str = "") -> str:
        browser.open(f"{page.as_uri()}{at and f'#chart-{number}@{at}'}", ready)
        words = browser.evaluate(f"document.querySelector('#chart-{number} .hover').textContent")
        return str(words).replace("\u00a0", " ")

    browser.window(1400, 1000)
    told = re.fullmatch(
        r"iteration 25, rank 1: ([\d.]+) ms; a click or Enter opens its timeline",
        said(2, "25,0.5"),
    )
    drawn = "[...document.querySelectorAll('[data-drawn]')].map(each => each.dataset.drawn)"
    assert browser.evaluate(drawn) == [
        "events", "map", "map", *["curves"] * 6, "choice", *["curves"] * 3,
    ]  # fmt: skip
    assert told is not None
    assert float(told[1]) == pytest.approx(1e3 * (DETOUR_S + 60e-6), rel=0.01)
    assert said(4).startswith("Point at the chart")
    assert "taken" not in browser.evaluate("document.title")
    told = re.fullmatch(
        r"rank 2: local ([\d.]+), post 0, unclassified 0, halo 0, wait ([\d.]+) %; .*",
        said(7, "2,0.5"),
    )
    assert told is not None
    assert float(told[1]) + float(told[2]) == pytest.approx(100.0, abs=0.01)
    assert not browser.errors


@pytest.mark.usefixtures("rendered_pictures")
def test_the_page_asks_for_nothing_and_has_pictures_where_no_script_runs(page: Path) -> None:
    html = page.read_text()
    assert page.stat().st_size < 4e6
    assert not re.search(r"https?://|url\(|@import", html)
    sources = re.findall(r'(?:src|href)="([^"]*)', html)
    assert all(source.startswith(("data:", "#")) for source in sources)
    policy = re.search(r"content=\"(default-src 'none'[^\"]*)", html)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert html.count("<script") == 1 + html.count('<script type="application/json">')
    for figure in html.split('<figure class="chart"')[1:]:
        json.loads(figure.split('<script type="application/json">')[1].split("</script>")[0])
        if figure.startswith(' data-kind="events"'):  # has a table instead
            continue
        picture = figure.split("</figure>")[0].split('<img src="data:image/png;base64,')[1]
        content = base64.b64decode(picture.split('"')[0])
        assert content.startswith(b"\x89PNG")
        assert len(content) > 3000  # drawn, and no stand-in of the tests


def test_a_run_without_petsc_names_none(tmp_path: Path, header: Header) -> None:
    made = replace(header, workload="mine", solver="loop", environment={"petsc": ""})
    made = replace(made, petsc_options={}, spec={"mpi_seen": True})
    values = run_values(iterations=40, ranks=3, restart=10, seed=1)
    file = write_whole(tmp_path, made, values)
    assert main(["report", str(file), "--out", str(tmp_path / "page.html")]) == 0
    assert "PETSc" not in re.sub(r"<script.*?</script>", "", (tmp_path / "page.html").read_text())


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ([1.0, 1.1, 1.2], [0.8, 0.9, 0.7], "faster in every repeat"),
        ([1.0, 1.1, 1.2], [1.4, 1.5, 1.3], "slower in every repeat"),
        (
            [1.0, 1.1],  # of 6 orders, 2 are separated
            [0.8, 0.9],
            "undecided: faster in every repeat, but 2 and 2 are in an order by chance in 1 of 3; "
            "repeat each three times",
        ),
        ([1.0, 1.2], [1.1, 1.3], "inconclusive: the repeats overlap"),
        ([1.0], [2.0, 2.1], "unknown without repeats"),
    ],
)
def test_solvers_are_told_apart_only_beyond_their_spread(
    first: list[float], second: list[float], answer: str
) -> None:
    assert verdict(first, second) == answer


def test_solvers_of_one_workload_stand_side_by_side(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    slow = {**values, "lead_out": np.full(3, 1.0), "solve_time": np.full(3, 1.002)}
    for solver, contents in (("gmres", values), ("pgmres", slow)):
        for hour in range(3):  # a copy would count once
            begun = f"2026-11-01T0{hour}:00:00+00:00"
            write_whole(folder, replace(header, solver=solver, t0_utc=begun), contents)
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text().replace("\u00a0", " ")
    assert "Solvers of laplacian-1d on 3 ranks, side by side" in html
    table = html.split("side by side</h2>")[1].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr>")[2:]]
    assert [row[0] for row in rows] == ["gmres", "pgmres"]
    assert rows[1][2] == "1.00 s"
    assert rows[1][5] == "40"
    assert rows[1][6] == "25.0 ms"  # an iteration
    assert float(rows[1][9]) > 100
    assert rows[1][10] == "slower in every repeat"
