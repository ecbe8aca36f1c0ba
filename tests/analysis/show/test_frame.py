"""The frame of a page in a real browser: contents, filters, colours, keys and narrow windows."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.analysis.browser import Browser
from tests.conftest import made_header, run_values

from hindmost.analysis.show.html_renderer import themed
from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

READY = "document.documentElement.dataset.charts"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page on two solvers."""
    folder = tmp_path_factory.mktemp("page")
    runs = folder / "runs"
    runs.mkdir()
    for seed, solver in enumerate(("gmres", "pgmres")):
        values = run_values(iterations=40, ranks=3, restart=10, seed=seed)
        write_whole(runs, replace(made_header(), solver=solver), values)
    assert main(["report", str(runs), "--out", str(folder / "page.html")]) == 0
    return folder / "page.html"


def shown(browser: Browser) -> list[str]:
    """Return the sections that are not hidden."""
    found: list[str] = browser.evaluate(
        "[...document.querySelectorAll('main section[id]')].filter(s => !s.hidden).map(s => s.id)"
    )
    return found


def test_filters_colours_and_keys_stand_in_the_address(page: Path, browser: Browser) -> None:
    everything = ["overview", "solvers-0", "configuration-0", "configuration-1", "data"]
    browser.open(page.as_uri(), READY)
    assert shown(browser) == everything
    browser.evaluate(
        "(s => { s.value = 'pgmres'; s.dispatchEvent(new Event('change')); })"
        "(document.getElementById('filter-solver'))"
    )
    assert shown(browser) == [each for each in everything if each != "configuration-0"]
    assert browser.evaluate("location.hash") == "#&solver=pgmres"
    of = "[...document.querySelectorAll('[data-of=gmres]')].map(e => e.hidden)"
    assert set(browser.evaluate(of)) == {True}
    browser.key("t")
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    browser.evaluate("document.querySelector('#rail a[href=\"#data\"]').click()")
    browser.wait("location.hash === '#data&solver=pgmres&theme=dark'")
    browser.key("k")
    browser.wait("location.hash === '#configuration-1&solver=pgmres&theme=dark'")
    # The address alone brings all of it back.
    browser.open(f"{page.as_uri()}#solvers-0&solver=gmres&theme=dark", READY)
    assert "configuration-1" not in shown(browser)
    ink = "getComputedStyle(document.body).color"
    assert browser.evaluate(ink) == "rgb(227, 232, 238)"
    assert browser.evaluate("document.getElementById('filter-solver').value") == "gmres"
    assert not browser.errors
    assert [
        request
        for request in browser.requests
        if not request.startswith(("file:", "about:", "data:"))
    ] == []


def test_no_window_is_too_narrow(page: Path, browser: Browser) -> None:
    for width in (1600, 1024, 400):
        browser.window(width, 900)
        browser.open(page.as_uri(), READY)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    # On a telephone the picture is on the first screen, and no number stands apart from its unit.
    bottom = "document.querySelector('.overview figure canvas').getBoundingClientRect().bottom"
    assert browser.evaluate(bottom) < 900
    said = str(browser.evaluate("document.querySelector('.overview').innerText"))
    assert "\u00a0%" in said
    assert not re.search(r"\d (%|[mu]?s\b)", said)
    browser.window(1600, 1000)


def test_every_chart_gives_its_picture_and_its_numbers(page: Path, browser: Browser) -> None:
    browser.open(page.as_uri(), READY)
    charts = int(browser.evaluate(READY))
    buttons = "[...document.querySelectorAll('.downloads button')].map(b => b.textContent)"
    assert browser.evaluate(buttons) == ["SVG", "CSV"] * charts
    # What would be saved is caught before the browser asks for a place.
    browser.evaluate(
        "window.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };"
        "document.querySelectorAll('.downloads button').forEach(b => b.click())"
    )
    texts = browser.evaluate("Promise.all(saved.map(blob => blob.text()))")
    assert len(texts) == 2 * charts
    for svg in texts[::2]:
        root = ElementTree.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "NaN" not in svg
    rows = [text.splitlines() for text in texts[1::2]]
    assert all(len(row) > 1 for row in rows)
    whole = next(row for row in rows if row[0].startswith("iteration,iteration_to,rank 0 ["))
    assert len(whole) == 5  # the four iterations at one place of the restart cycle
    assert len({len(line.split(",")) for line in whole}) == 1
    events = [row for row in rows if row[0] == "iteration,rank,what,begin_s,end_s"]
    assert len(events) == 2
    for event in events:
        cells = [line.split(",") for line in event[1:]]
        path = [cell for cell in cells if cell[2] == "critical path"]
        shown_first = sorted({int(cell[0]) for cell in path})
        assert shown_first == list(range(shown_first[0], shown_first[0] + 4))
        assert {cell[1] for cell in path} <= {"0", "1", "2"}
    drawn = [svg for svg in texts[::2] if "blocking reduction" in svg]
    assert len(drawn) == 2
    assert all("critical path; it changes ranks where a wait ended" in svg for svg in drawn)
    assert not browser.errors


def test_the_share_of_each_rank_in_the_critical_path_is_said(
    tmp_path: Path, header: Header, browser: Browser
) -> None:
    values = run_values(iterations=40, ranks=3, restart=40, seed=0)
    work = np.asarray(values["event_work"])[:, :, 0].astype(float)
    duration = np.asarray(values["duration"])[:, 0]
    file = write_whole(tmp_path, replace(header, restart=40), values)
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--out", str(page)]) == 0
    browser.open(page.as_uri(), READY)
    events = "document.querySelector('[data-kind=events]')"
    browser.open(f"{page.as_uri()}#&{browser.evaluate(f'{events}.id')}=10-19", READY)
    said = str(browser.evaluate(f"{events}.querySelector('.path').textContent"))
    assert said.startswith("Critical path of iterations 10 to 19: rank ")
    window = duration[10:20].sum()
    last = work[10:20].argmax(axis=1)
    for rank in range(3):
        share = 100 * work[10:20, rank][last == rank].sum() / window
        found = re.search(rf"rank {rank}(?:: | carries )(\d+)\u00a0%", said)
        assert found is not None
        assert abs(int(found[1]) - share) <= 1.0
    lost = re.search(r"; (\d+)\u00a0% is in reductions and messages", said)
    assert lost is not None
    assert abs(int(lost[1]) - 100 * (1 - work[10:20].max(axis=1).sum() / window)) <= 1.0
    assert not browser.errors


def test_zooming_into_a_map_chooses_the_iterations_of_the_timeline(
    page: Path, browser: Browser
) -> None:
    browser.open(page.as_uri(), READY)
    events = "document.querySelector('#configuration-0 [data-kind=events]')"
    number = browser.evaluate(f"{events}.id")
    table = f"{events}.querySelector('caption').textContent"
    named = browser.evaluate(f"JSON.parse({events}.querySelector('script').textContent).first")
    assert browser.evaluate(table) == f"Iteration {named}"
    browser.evaluate("document.querySelector('#configuration-0 [data-kind=map] canvas').focus()")
    browser.key("+")
    browser.wait(f"location.hash.includes('{number}=')")
    first, last = map(int, str(browser.evaluate("location.hash")).split("=")[1].split("-"))
    assert 0 < first < last < 40
    words = str(browser.evaluate(f"{events}.querySelector('.hover').textContent"))
    begin, end = map(int, re.findall(r"Iterations (\d+) to (\d+)", words)[0])
    assert first <= begin < end <= last
    # The map says of which iterations these are the events.
    followed = (
        "JSON.parse(document.querySelector('#configuration-0 [data-kind=map]').dataset.followed)"
    )
    assert browser.evaluate(followed) == [begin, end]
    # The address brings it back, also a single iteration, whose numbers are in the table.
    browser.open(f"{page.as_uri()}#{number}=7", READY)
    assert browser.evaluate(table) == "Iteration 7"
    cells = browser.evaluate(f"[...{events}.querySelectorAll('td')].map(c => c.textContent)")
    table_rows = np.reshape(cells, (3, -1))  # rank, time, phases
    assert table_rows[:, 0].tolist() == ["0", "1", "2"]
    units = {"s": 1.0, "us": 1e-6}
    times = np.array(
        [
            [float(cell.split()[0]) * units[cell.split()[1]] for cell in row[1:]]
            for row in table_rows
        ]
    )
    assert np.allclose(times[:, 0], times[:, 1:].sum(axis=1), rtol=2e-2)
    assert not browser.errors


def test_dark_colours_can_be_chosen_or_come_from_the_system() -> None:
    css = themed("a {} @media screen and (prefers-color-scheme: dark) { :root { b { } } } c {}")
    assert css.count('data-theme="dark"') == 1
    assert css.count('not([data-theme="light"])') == 1
    assert css.startswith("a {} @media")
    assert css.endswith(" c {}")
