"""The live page in a browser: frames arrive, controls ask, the end is told."""

from pathlib import Path

from tests.analysis.browser import Browser
from tests.analysis.watch.feeds import Feed, frame
from tests.analysis.watch.test_foreseen import TOLD

from hindmost.analysis.watch.server import WatchServer
from hindmost.harness.runfile.feed import control_file

SAID = "(cell) => cell.textContent.replace(/\\u00a0/g, ' ')"
FRAMES = "Number(document.documentElement.dataset.frames)"


def text(browser: Browser, name: str) -> str:
    return str(browser.evaluate(f"document.getElementById('{name}').textContent"))


def test_frames_arrive_while_the_page_is_open(browser: Browser, feed: Feed) -> None:
    with WatchServer(feed.path) as server:
        browser.open(server.address(), f"{FRAMES} === 5")
        assert "cg, run 1 of 2: iteration 500 of 100,000" in text(browser, "progress")
        feed.frames(15, last=3)
        browser.wait(f"{FRAMES} === 20")
        assert "iteration 2,000 of 100,000" in text(browser, "progress")
        assert "9.80 s left" in text(browser, "progress")  # 98,000 of 0.1 ms
        rows = browser.evaluate(
            f"[...document.querySelectorAll('#hindmost td')].slice(0, 2).map({SAID})"
        )
        assert rows == ["rank 3", "75.0 %"]
        browser.evaluate(
            "(() => { const metric = document.getElementById('metric'); metric.value = 'wait';"
            "metric.dispatchEvent(new Event('change')); })()"
        )
        browser.wait("document.getElementById('asked').textContent.startsWith('asked')")
        assert control_file(feed.path).read_text() == "0 2\n"
        feed.end("failed", "</p><b>no memory")
        browser.wait("!document.getElementById('ending').hidden")
        assert text(browser, "ending") == "The run has failed: </p><b>no memory"
        assert browser.errors == []
        assert {request.rsplit("/", 1)[0] for request in browser.requests} == {
            server.address()[:-1]
        }


def test_rank_and_share_are_told_where_the_pointer_is(browser: Browser, tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.solve()
    feed.frames(4, last=3)
    with WatchServer(feed.path) as server:
        browser.open(server.address(), f"{FRAMES} === 4")
        x, y, height = browser.evaluate(
            "(() => { const chart = document.querySelector('#chart-1 canvas');"
            "chart.scrollIntoView(); const box = chart.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y, box.height]; })()"
        )
        browser.point(x, y + 20)
        hover = "document.querySelector('#chart-1 .hover').textContent"
        assert "rank 3: 80 %" in browser.evaluate(hover)
        browser.point(x, y + height - 40)
        assert "rank 0: 40 %" in browser.evaluate(hover)


def test_a_run_that_predicts_itself_says_so(browser: Browser, tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.writer.add(
        {"kind": "solve", "solver": "mesh", "number": 1, "iterations": 2500, "done": 0,
         "predictors": ["a", "<b>", "c"]}
    )  # fmt: skip
    feed.writer.add({**frame(0), "foreseen": TOLD})
    with WatchServer(feed.path) as server:
        browser.open(server.address(), f"{FRAMES} === 1")
        assert "7.00 s left by c, until" in text(browser, "progress")
        said = "next cycle 3.00 ms by c (2.00 ms to 5.00 ms), recent error 4.2 %"
        assert text(browser, "next") == said
        cells = browser.evaluate(f"[...document.querySelectorAll('#predictions td')].map({SAID})")
        assert [cells[0], cells[3], cells[4], cells[6]] == ["c", "a", "unknown", "<b>"]
        assert [cells[2], cells[5], cells[8]] == ["4.2 %", "", "12.5 %"]
        feed.count = 1
        feed.frames(1)
        browser.wait(f"{FRAMES} === 2")
        assert text(browser, "next") == text(browser, "predictions") == ""
        assert "by c" not in text(browser, "progress")
        assert browser.errors == []
    feed.end()
