"""``hindmost watch`` of an attached program, by the notes in its raw folder."""

import re
import shutil
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from tests.analysis.watch.notes import RUNNING, note, watched_use, windows_of
from tests.conftest import BIN
from tests.documents import as_declared
from tests.harness.test_time_left import USE

from hindmost.analysis.watch import program
from hindmost.analysis.watch.program import DEAD_S
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.culprit import Culprit, Doubt


def test_one_look_says_how_far_a_program_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = note(tmp_path, RUNNING)
    for place in (tmp_path, raw):
        assert main(["watch", str(place), "--once"]) == 0
        assert capsys.readouterr().out == f"app: {RUNNING.progress()}\n"
    assert "1:50:00 left: about 315,050 more" in RUNNING.progress()
    assert main(["watch", str(tmp_path), "--once", "--json"]) == 0
    document = as_declared("watch", capsys.readouterr().out)
    assert document["program"] == "app"
    assert document["time"]["iterations"] == USE.iterations
    assert document["more"] == 315_050


def test_who_is_last_is_said_in_the_words_of_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    culprit = Culprit(
        rank=3, ranks=(3,), times=2.0, cost_s=1.0, share=0.25, saved_s=1.0, last=9, chance=None
    )
    note(tmp_path, replace(RUNNING, culprit=culprit, ranks=4))
    assert main(["watch", str(tmp_path), "--once"]) == 0
    said = "Rank 3 (of 4) is the straggler: it works 2.0 times as long as the "
    assert said in capsys.readouterr().out
    note(tmp_path, replace(RUNNING, culprit=replace(culprit, doubt=Doubt.AT_TIMES), ranks=4))
    assert main(["watch", str(tmp_path), "--once"]) == 0
    assert "No rank is shown to be a straggler. Rank 3 (of 4" in capsys.readouterr().out


def test_lines_until_the_program_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "POLL_S", 0.05)
    note(tmp_path, RUNNING)
    thread = threading.Timer(0.3, note, (tmp_path, replace(USE, status=-9)))
    thread.start()
    assert main(["watch", str(tmp_path)]) == 1
    thread.join()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"app: {RUNNING.progress()}"
    assert lines[-1] == f"app was ended by SIGKILL after 1:56:40. {USE.ending()}"


@pytest.mark.parametrize(
    ("age_s", "status", "text"),
    [
        (0.6 * DEAD_S, 0, f"{RUNNING.progress()} (no news for 36"),
        (2.0 * DEAD_S, 1, "No news of app for 0:02:0"),
    ],
)
def test_a_program_that_was_killed_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], age_s: float, status: int, text: str
) -> None:
    note(tmp_path, RUNNING, age_s=age_s)
    assert main(["watch", str(tmp_path), "--once"]) == status
    assert text in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--json"], ["--web", "--once"], ["--web", "70000"]])
def test_what_makes_no_sense_is_refused(tmp_path: Path, words: list[str]) -> None:
    note(tmp_path, RUNNING)
    with pytest.raises(UsageError):
        main(["watch", str(tmp_path), *words])


def test_where_nothing_runs_the_run_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no program that runs is noted there"):
        main(["watch", str(tmp_path), "--once"])


def test_the_next_run_is_awaited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "POLL_S", 0.05)
    use = replace(watched_use(1, 2, total=20_000), culprit=None, runs=2)
    first = note(tmp_path, use, name="solve-cg")

    def go_on() -> None:
        time.sleep(0.3)
        shutil.rmtree(first)
        time.sleep(0.3)
        second = note(tmp_path, replace(use, run=2), name="solve-gmres")
        time.sleep(0.3)
        shutil.rmtree(second)

    thread = threading.Thread(target=go_on)
    thread.start()
    assert main(["watch", str(tmp_path)]) == 0
    thread.join()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("solve: run 1 of 2: 12,000 of 20,000 iterations (60 %) of cg, ")
    assert lines[-2].startswith("solve: run 2 of 2: 12,000 of 20,000 iterations (60 %) of cg, ")
    assert lines[-1] == "solve has ended; its run file says more."


def test_a_page_is_served_until_it_is_told_to_end(tmp_path: Path) -> None:
    note(tmp_path, watched_use(1, 2), windows=windows_of(np.full((3, 2), 0.5)))
    words = [str(BIN / "hindmost"), "watch", str(tmp_path), "--web"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[-\w]{43}/", address)
        with urlopen(address) as page:
            assert b"app, live" in page.read()
        process.terminate()
        assert process.wait(timeout=20) == 0
