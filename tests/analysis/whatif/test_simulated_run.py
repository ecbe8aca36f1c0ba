"""Simulated solves as run files: what they contain, and that every verb opens them."""

from pathlib import Path

import numpy as np
import pytest
from tests.analysis.whatif.files import draw_less, event_values
from tests.analysis.whatif.test_at_scale import BODIES, WEAK, write

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind


@pytest.fixture(autouse=True)
def few_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_less(monkeypatch, replicas=2, values=1 << 10)


@pytest.fixture
def run(tmp_path: Path, header: Header) -> Path:
    return write(tmp_path, header)


def test_a_replay_without_a_change_is_the_run(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.h5"
    assert main(["whatif", str(run), "--out", str(out)]) == 0
    before, after = open_run(run), open_run(out)
    after.verify()
    assert after.header.origin == "simulated"
    assert after.header.spec["simulated"] == {"from": run.name, "ranks": 3}
    assert after.solve_time_s == pytest.approx(before.solve_time_s, rel=1e-5)
    assert after.durations == pytest.approx(before.durations, rel=1e-5)
    for phase in ("local", "wait", "halo"):
        assert after.phase(phase) == pytest.approx(before.phase(phase), abs=1e-9)
    assert after.restart_durations == pytest.approx(before.restart_durations, abs=1e-9)
    balance = after.lead_in + after.durations.sum(axis=0) + after.restart_durations.sum(axis=0)
    assert balance + after.lead_out == pytest.approx(after.solve_time)


def test_whose_messages_a_receipt_needs_is_written_again(tmp_path: Path, header: Header) -> None:
    bodies, needed = 40, np.array([[-1, 0b1, -1], [-1, 0b10, -1], [-1, 0b1, -1]])
    work = np.random.default_rng(3).uniform(50e-6, 60e-6, (bodies, 3))
    last = np.stack([work[:, 1], work[:, 2], work[:, 1]], axis=1)  # of the chain's middle: the next
    before, inside = np.zeros((bodies, 3, 3)), np.zeros((bodies, 3, 3))
    before[:, :, 0] = work
    received = np.maximum(work, last + 10e-6)
    inside[:, :, 1] = received - work
    inside[:, :, 2] = received.max(axis=1, keepdims=True) + 3e-6 - received
    kinds = [EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE]
    values = event_values(kinds, before, inside, cycle=bodies)
    values["event_needs"] = np.tile(needed.astype(np.int32), (bodies, 1, 1))
    run, out = write_whole(tmp_path, header, values), tmp_path / "again.h5"
    assert main(["whatif", str(run), "--out", str(out)]) == 0
    again = open_run(out)
    assert (again.variable("event_needs") == needed).all()
    assert again.durations == pytest.approx(np.asarray(values["duration"]), rel=1e-5)


def test_other_ranks_are_written_and_every_verb_opens_them(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "many.h5"
    assert main(["whatif", str(run), "--ranks", "16", *WEAK, "--out", str(out)]) == 0
    found = open_run(out)
    found.verify()
    assert (found.header.ranks, len(set(found.hosts))) == (16, 4)
    # Whole cycles of 20 bodies, as many as the budget has.
    assert found.bodies % 20 == 0
    assert 0 < found.bodies <= BODIES
    assert np.unique(found.edges.target).size == 16
    capsys.readouterr()
    for section in ((), ("--ranks",), ("--efficiency",)):
        assert main(["show", *section, str(out)]) == 0, section
        assert "simulated" in capsys.readouterr().out, section
    assert main(["whatif", str(out), "--latency", "x2"]) == 0
    assert "simulated" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", str(out), "--out", str(page)]) == 0
    assert "simulated" in page.read_text(encoding="utf-8")


def test_files_that_cannot_be_written_are_refused_first(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run files end in \.h5"):
        main(["whatif", str(run), "--out", str(tmp_path / "out.json")])
    with pytest.raises(UsageError, match="never overwrites"):
        main(["whatif", str(run), "--out", str(run)])
    with pytest.raises(UsageError, match="one simulated solve, and these are 2"):
        main(["whatif", str(run), "--latency", "1,2", "--out", str(tmp_path / "two.h5")])
