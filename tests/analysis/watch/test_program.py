"""``hindmost watch`` of an attached program, by the notes in its raw folder."""

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.documents import as_declared
from tests.harness.test_time_left import USE

from hindmost.analysis.watch import program
from hindmost.analysis.watch.program import DEAD_S
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.time_left import NOTE, TimeUse
from hindmost.models.ranks.culprit import Culprit, Doubt
from hindmost.output import strict_json
from hindmost.records import to_document

RUNNING = replace(USE, status=None, stop=None, at_s=600.0)


def note(folder: Path, use: TimeUse, *, age_s: float = 0.0) -> Path:
    raw = folder / "app-0.raw"
    raw.mkdir(exist_ok=True)
    part = raw / "part"
    part.write_text(strict_json(to_document(use)))
    os.utime(part, (time.time() - age_s,) * 2)
    part.replace(raw / NOTE)
    return raw


def test_one_look_says_how_far_a_program_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = note(tmp_path, RUNNING)
    for place in (tmp_path, raw):
        assert main(["watch", str(place), "--once"]) == 0
        assert capsys.readouterr().out == f"app: {RUNNING.progress()}\n"
    assert "1:50:00 left: about 315,050 more" in RUNNING.progress()
    assert main(["watch", str(tmp_path), "--once", "--json"]) == 0
    document = as_declared("watch attached", capsys.readouterr().out)
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


def test_a_program_has_no_page(tmp_path: Path) -> None:
    from hindmost.analysis.verbs.watch import perform
    from hindmost.cli import parser_of

    note(tmp_path, RUNNING)
    parser, _, _ = parser_of(["watch"])
    with pytest.raises(UsageError, match="--web shows runs of 'hindmost run --live'"):
        perform(parser.parse_args(["watch", str(tmp_path), "--web"]))
