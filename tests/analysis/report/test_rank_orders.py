"""Maps order their ranks by number, node, group or time; detours survive pooling in each order."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.browser import Browser, need_browser
from tests.analysis.report.first_screens import of_work

from hindmost.analysis.report.rank_orders import by_group, by_node
from hindmost.analysis.show.heat_map import heat_map, slowest_first
from hindmost.analysis.show.html_charts import live_chart
from hindmost.analysis.show.html_maps import map_data, map_legend, orders_of
from hindmost.analysis.show.html_renderer import write_page
from hindmost.analysis.show.page import Page
from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

READY = "document.documentElement.dataset.charts"
RANKS, ITERATIONS = 6, 50
HOSTS = ("büro", "</b>", "büro", "</b>", "büro", "</b>")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser for all tests here."""
    with Browser(need_browser(), tmp_path_factory.mktemp("profile")) as opened:
        opened.window(1600, 1000)
        yield opened


def test_ranks_of_a_node_or_group_are_neighbours() -> None:
    nodes = by_node(["b", "a", "b", "a"])
    assert nodes is not None
    assert nodes.places.tolist() == [0, 2, 1, 3]
    assert nodes.sections == ((0, "b"), (2, "a"))
    assert by_node(["b", "b"]) is None
    groups = by_group(np.array([1, 0, 1]), ["like rank 1", "like rank 0"])
    assert groups is not None
    assert groups.places.tolist() == [1, 0, 2]
    assert groups.sections == ((0, "like rank 1"), (1, "like rank 0"))
    assert by_group(np.array([0, 0]), ["like rank 0"]) is None


def test_a_detour_survives_pooling_in_every_order() -> None:
    random = np.random.default_rng(0)
    times = random.uniform(50e-6, 60e-6, (3000, 1024))
    times[1717, 333] = 5e-3
    whole = heat_map(times, title="")
    nodes = by_node([f"node-{rank % 7}" for rank in range(1024)])
    assert nodes is not None
    data = map_data(replace(whole, orders=(nodes, slowest_first(whole))))
    assert [each["matrix"] for each in data["orders"]] == [1, 2]
    codes = np.frombuffer(zlib.decompress(base64.b64decode(data["times"])), "<u2")
    cells = data["columns"] * data["rows"]
    assert codes.size == 3 * cells + 2 * 1024
    for number, places in enumerate((np.arange(1024), nodes.places, np.argsort(times.sum(axis=0)))):
        matrix = codes[number * cells : (number + 1) * cells].reshape(data["columns"], data["rows"])
        column, row = np.unravel_index(matrix.argmax(), matrix.shape)
        assert column == 1717 // data["bodies_a_column"]
        assert row == int(np.flatnonzero(places == 333)[0]) // data["row_height"]
        shown = data["least"] * np.exp((matrix.max() - 1.0) * data["log_step"])
        assert shown == pytest.approx(5e3, rel=1e-3)  # in µs
    assert len(data["times"]) < 1_200_000


def test_a_cell_beyond_the_colours_is_marked(browser: Browser, tmp_path: Path) -> None:
    times = np.random.default_rng(0).uniform(50e-6, 60e-6, (3000, 700))
    assert "○" not in map_legend(heat_map(times, title=""))
    times[1717, 333] = 5e-3
    chart = heat_map(times, title="")
    assert "○ longest, over 1.5 times that" in map_legend(chart)
    part = live_chart(replace(chart, orders=(slowest_first(chart),)), "map", "", count(1), height=2)
    page = write_page(tmp_path / "page.html", Page(title="", subtitle="", parts=[part]))
    for order in ("", "#&order=time"):
        browser.open(f"{page.as_uri()}{order}", READY)
        browser.evaluate(
            "window.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };"
            "document.querySelector('.downloads button').click()"
        )
        svg = str(browser.evaluate("saved[0].text()"))
        assert svg.count("a4.5 4.5 ") == 4  # two halves of a circle and of its outline
        assert not browser.errors


def test_few_ranks_are_not_put_in_order() -> None:
    two = heat_map(np.ones((4, 2)), title="")
    assert orders_of(replace(two, orders=(slowest_first(two),))) == ()


def test_the_order_is_chosen_by_pointer_key_and_address(
    tmp_path: Path, header: Header, browser: Browser
) -> None:
    work = 1e-4 * np.random.default_rng(0).normal(1.0, 0.001, (ITERATIONS, RANKS))
    work *= 1.0 + 0.05 * np.array([0, 3, 1, 5, 4, 2])
    made = replace(header, ranks=RANKS, iterations=ITERATIONS, restart=0, solver="loop")
    made = replace(made, petsc_options={}, spec={"mpi_seen": True})
    file = write_whole(tmp_path, made, of_work(work) | {"host": list(HOSTS)})
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--out", str(page)]) == 0

    def at(up: float, order: str) -> str:
        """Return what the map of work says of a place."""
        browser.open(f"{page.as_uri()}#chart-2@10,{up}&order={order}", READY)
        return str(browser.evaluate("document.querySelector('#chart-2 .hover').textContent"))

    assert "rank 5: " in at(0.99, "rank")
    assert "rank 3: " in at(0.99, "time")
    assert "rank 0: " in at(0.01, "time")
    assert "rank 5 (</b>): " in at(0.99, "node")
    assert "rank 4 (büro): " in at(0.49, "node")
    selects = "[...document.querySelectorAll('select.order')].map(each => each.value)"
    assert browser.evaluate(selects) == ["node", "node"]
    browser.key("o")
    assert re.search("&order=(group|time)$", str(browser.evaluate("location.hash")))
    assert browser.evaluate(selects) != ["node", "node"]
    browser.evaluate(
        "(s => { s.value = ''; s.dispatchEvent(new Event('change')); })"
        "(document.querySelector('select.order'))"
    )
    assert "order" not in browser.evaluate("location.hash")
    assert browser.evaluate(selects) == ["", ""]
    assert not browser.errors
