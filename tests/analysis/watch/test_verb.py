"""``hindmost watch``: what it says where, and how it ends."""

import io
import re
import subprocess
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from rich.console import Console
from tests.analysis.watch.feeds import Feed, head
from tests.conftest import BIN
from tests.documents import as_declared

from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.analysis.watch.screen import screen
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.feed import FeedReader


def test_one_look_says_how_far_it_is(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(feed.path), "--once"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "cg, run 1 of 2: iteration 500 of 100,000 (0%) after 50.0 ms, 9.95 s left"
    )
    assert "wait 50%, local 50%; slowest: rank 2, most work in 100 % of the time, " in said
    assert main(["watch", str(feed.path.parent), "--once", "--json"]) == 0
    state = as_declared("watch", capsys.readouterr().out)
    assert state["version"] == 1
    assert state["remaining_s"] == pytest.approx(9.95)
    assert state["interval_s"] == pytest.approx([9.95, 9.95])  # every iteration took the same
    assert state["hindmost"] == [{"rank": 2, "share": 1.0, "excess_s": pytest.approx(0.015)}]


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("done", 0, "The run has ended"),
        ("failed", 1, "The run has failed: no convergence"),
        ("died", 1, "killed or crashed"),
    ],
)
def test_without_a_terminal_there_are_lines_until_the_end(
    feed: Feed, capsys: pytest.CaptureFixture[str], how: str, status: int, said: str
) -> None:
    def go_on() -> None:
        time.sleep(0.3)
        feed.frames(5)
        if how == "died":
            feed.die()
        else:
            feed.end(how, "no convergence")

    thread = threading.Thread(target=go_on)
    thread.start()
    assert main(["watch", str(feed.path)]) == status
    thread.join()
    lines = capsys.readouterr().out.splitlines()
    # The frames that there were, with those that came before a busy machine looked.
    assert re.match(r"cg, run 1 of 2: iteration (500|1,000) of ", lines[0])
    assert said in lines[-1]


@pytest.mark.parametrize(
    "words",
    [["--json"], ["--web", "--once"], ["--web", "70000"]],
)
def test_what_makes_no_sense_is_refused(feed: Feed, words: list[str]) -> None:
    with pytest.raises(UsageError):
        main(["watch", str(feed.path), *words])


def test_a_folder_without_a_feed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a live feed"):
        main(["watch", str(tmp_path)])


@pytest.mark.parametrize(("width", "height"), [(120, 40), (60, 20)])
def test_any_number_of_ranks_fits_on_one_screen(tmp_path: Path, width: int, height: int) -> None:
    wide = Feed(tmp_path, head(131_072, 256))
    wide.solve()
    wide.frames(300, ranks=131_072, columns=256, last=77)
    with FeedReader(wide.path) as reader:
        history = FeedHistory(reader.head)
        for line in reader.read_lines():
            history.add(line)
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    console.print(screen(history, width, height))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert any("slowest: rank 77, most work in 100 %" in line for line in lines)
    wide.end()


def test_a_page_is_served_until_it_is_told_to_end(feed: Feed) -> None:
    words = [str(BIN / "hindmost"), "watch", str(feed.path), "--web"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[-\w]{43}/", address)
        with urlopen(address) as page:
            assert b"laplacian-1d, live" in page.read()
        process.terminate()
        assert process.wait(timeout=20) == 0
