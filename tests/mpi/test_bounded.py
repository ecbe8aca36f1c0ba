"""Loops that are found while the program runs: what is kept of more calls than the budget holds."""

import time
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.programs.attaching import ATTACH, compiled

import hindmost
from hindmost.harness.attach.pairs import PAGE_BYTES, PairsPage
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

STEPS, SLOW, WORK_US = 3000, 1, 50
FIRST, SECOND = 400, 1000
"""Steps before which the program waits: beyond a 16th of the budget, and twice that."""
PATIENCE_S, SNAPSHOT_S = 60.0, 2.0


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("long"), "long_loop", "-g", "-O2")


def pages_in(folder: Path) -> list[PairsPage]:
    """Return the pages of the two ranks of a program that is attached in a folder."""
    for settings in (folder / "runs").glob(".attach-*.settings"):
        for line in settings.read_text().splitlines():
            if line.startswith("pages "):
                paths = list(Path(line.removeprefix("pages ")).iterdir())
                if len(paths) == 2 and all(path.stat().st_size == PAGE_BYTES for path in paths):
                    return [PairsPage(path) for path in paths]
    return []


def let_go(folder: Path) -> None:
    """Let the program go on when its ranks have asked for their loop, and when they know it."""
    deadline = time.monotonic() + PATIENCE_S
    for name, what in (("first", "asks"), ("second", "borders")):
        while time.monotonic() < deadline:
            pages = pages_in(folder)
            if pages and all(page[what] for page in pages):
                break
            time.sleep(0.05)
        if what == "asks":
            time.sleep(SNAPSHOT_S)
        (folder / name).touch()


def recorded(program: Path, ranks: Ranks, folder: Path, *options: str) -> Run:
    for name in ("first", "second"):
        (folder / name).unlink(missing_ok=True)
    helper = Thread(target=let_go, args=(folder,))
    if "--all" in options:
        (folder / "first").touch()
        (folder / "second").touch()
    else:
        helper.start()
    words = (str(each) for each in (STEPS, WORK_US, SLOW, FIRST, SECOND))
    done = ranks(2, "attach", *options, "--out", "runs", "--", program, *words)
    assert done.returncode == 0, done.stderr
    if helper.is_alive():
        helper.join()
    return hindmost.open(max((folder / "runs").glob("*.h5"), key=lambda path: path.stat().st_mtime))


def test_sums_say_what_all_calls_say(program: Path, ranks: Ranks, tmp_path: Path) -> None:
    """The loop, how often it iterated, its messages, and who is slow."""
    whole = recorded(program, ranks, tmp_path, "--all")
    run = recorded(program, ranks, tmp_path, "--memory", "1MiB")
    assert run.header.complete, run.header.spec.get("failure")
    summed = run.header.spec["attached"]["summed"]
    assert summed["passes"] == whole.bodies == STEPS
    assert summed["unit"] > 1
    assert not summed["unknown"]
    assert run.bodies == -(-STEPS // summed["unit"])
    names = [each.header.spec["attached"]["loop"]["name"] for each in (whole, run)]
    assert names[1] == f"{names[0]}:{summed['unit']}"
    messages = [each.variable("edge_messages").astype(float) for each in (whole, run)]
    assert messages[1] * run.bodies == pytest.approx(messages[0] * whole.bodies, rel=0.01)
    assert 0 < run.summed < run.bodies
    for each in (whole, run):
        phases = each.variable("phase_duration").astype(np.float64)
        assert phases.sum(axis=2) == pytest.approx(each.durations, rel=1e-4, abs=1e-6)
        own = np.median(each.work, axis=0)  # twice as much on one rank
        assert own[SLOW] > own[1 - SLOW]


def test_phases_and_work_of_the_program_are_summed_as_well(tmp_path: Path, ranks: Ranks) -> None:
    iterations = 5000
    program = compiled(tmp_path, "phases_and_work", "-O2", f"-I{ATTACH}")
    words = ("attach", "--memory", "1MiB", "--out", "runs", "--", program, str(iterations))
    done = ranks(1, *words)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(file)
    unit = run.header.spec["attached"]["summed"]["unit"]
    assert unit > 1
    assert run.bodies == (iterations - 1) // unit
    first = np.arange(run.bodies * unit).reshape(run.bodies, unit) + 1  # behind the first mark
    assert run.variable("work_amount")[:, 0].tolist() == (first % 7).sum(axis=1).tolist()
    phases = run.variable("phase_duration").astype(np.float64)
    assert phases.sum(axis=2) == pytest.approx(run.durations, rel=1e-4, abs=1e-6)
    assert (run.phase("stencil") >= unit * 4e-6).all()
    assert (run.phase("halo") >= unit * 2e-6).all()
