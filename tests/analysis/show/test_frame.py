"""The frame of a page in a real browser: contents, filters, colours, keys and narrow windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.browser import Browser, need_browser
from tests.conftest import run_values

from hindmost.analysis.show.html_frame import themed
from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

READY = "document.documentElement.dataset.charts"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser for all tests here."""
    with Browser(need_browser(), tmp_path_factory.mktemp("profile")) as opened:
        opened.window(1600, 1000)
        yield opened


@pytest.fixture
def page(tmp_path: Path, header: Header) -> Path:
    """Return the page on two solvers."""
    runs = tmp_path / "runs"
    runs.mkdir()
    for seed, solver in enumerate(("gmres", "pgmres")):
        values = run_values(iterations=40, ranks=3, restart=10, seed=seed)
        write_whole(runs, replace(header, solver=solver), values)
    assert main(["report", "--quick", str(runs), "--out", str(tmp_path / "page.html")]) == 0
    return tmp_path / "page.html"


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
        each for each in browser.requests if not each.startswith(("file:", "about:", "data:"))
    ] == []


def test_no_window_is_too_narrow(page: Path, browser: Browser) -> None:
    for width in (1600, 1024, 400):
        browser.window(width, 900)
        browser.open(page.as_uri(), READY)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.window(1600, 1000)


def test_all_phases_but_one_pale(page: Path, browser: Browser) -> None:
    browser.open(f"{page.as_uri()}#&phase=wait", READY)
    assert browser.evaluate("document.getElementById('filter-phase').value") == "wait"
    assert np.isclose(
        browser.evaluate("document.querySelectorAll('#filter-phase option').length"), 6
    )


def test_dark_colours_can_be_chosen_or_come_from_the_system() -> None:
    css = themed("a {} @media screen and (prefers-color-scheme: dark) { :root { b { } } } c {}")
    assert css.count('data-theme="dark"') == 1
    assert css.count('not([data-theme="light"])') == 1
    assert css.startswith("a {} @media")
    assert css.endswith(" c {}")
