"""The live page in a browser: news arrive, the map shows what is chosen, the end is told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.analysis.browser import Browser
from tests.analysis.watch.notes import note, watched_use, windows_of

from hindmost.analysis.watch.program import WatchedFolder
from hindmost.analysis.watch.server import WatchServer
from hindmost.harness.runfile.time_left import TimeUse

WINDOWS = "Number(document.documentElement.dataset.windows)"
HOVER = "document.querySelector('#chart-1 .hover').textContent"


def text(browser: Browser, name: str) -> str:
    return str(browser.evaluate(f"document.getElementById('{name}').textContent"))


def show(folder: Path, windows: int) -> TimeUse:
    use = watched_use(3, 4, iterations=100 * windows, total=100_000)
    work = np.tile([0.4, 0.4, 0.4, 0.8], (windows, 1))
    note(folder, use, windows=windows_of(work))
    return use


def test_news_arrive_while_the_page_is_open(browser: Browser, tmp_path: Path) -> None:
    show(tmp_path, 5)
    with WatchServer(WatchedFolder(tmp_path)) as server:
        browser.open(server.address(), f"{WINDOWS} === 5")
        assert "app: 500 of 100,000 iterations (0 %) of cg, " in text(browser, "progress")
        use = show(tmp_path, 20)
        browser.wait(f"{WINDOWS} === 20")
        assert "2,000 of 100,000 iterations (2 %)" in text(browser, "progress")
        assert ", until " in text(browser, "progress")
        assert "Rank 3 (of 4) is the straggler" in text(browser, "slowest")
        x, y, height = browser.evaluate(
            "(() => { const chart = document.querySelector('#chart-1 canvas');"
            "chart.scrollIntoView(); const box = chart.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y, box.height]; })()"
        )
        browser.point(x, y + 20)
        assert "rank 3: 80 %" in browser.evaluate(HOVER)
        browser.point(x, y + height - 40)
        assert "rank 0: 40 %" in browser.evaluate(HOVER)
        browser.evaluate(
            "(() => { const phase = document.getElementById('phase'); phase.value = 'wait';"
            "phase.dispatchEvent(new Event('change')); })()"
        )
        browser.wait("document.querySelector('#chart-1').textContent.includes('wait, share')")
        note(tmp_path, replace(use, status=-9))
        browser.wait("!document.getElementById('ending').hidden")
        assert text(browser, "ending") == "app was ended by SIGKILL after 20.0 s."
        assert browser.errors == []
        assert {request.rsplit("/", 1)[0] for request in browser.requests} == {
            server.address()[:-1]
        }
