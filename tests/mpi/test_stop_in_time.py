"""Programs that are told to stop before their time is up, by loops known while they run."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import Ranks
from tests.programs.attaching import ATTACH, alone, compiled

import hindmost
from hindmost.errors import UsageError
from hindmost.harness.attach.environment import STATUS, variables
from hindmost.harness.attach.limit import FLOOR_S, GIVEN, LAG, LEARNT, RESERVE, StopRequest
from hindmost.harness.attach.outcome import read_outcome
from hindmost.harness.attach.pairs import Handler, PairsPage
from hindmost.harness.attach.settings import AttachRequest
from hindmost.harness.attach.watch import LoopWatcher
from hindmost.harness.batch_job import END_VARIABLE, JOB_VARIABLES
from hindmost.harness.recorder.build import recorder_library
from hindmost.harness.runfile.time_left import time_use_of
from hindmost.models.ahead.checkpoints import MIN_BYTES

pytestmark = pytest.mark.mpi

PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def stops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("stops"), "stops", "-g", "-O2", f"-I{ATTACH}")


def line_of(text: str) -> int:
    lines = (Path(__file__).parents[1] / "programs" / "stops.c").read_text().splitlines()
    return next(at for at, line in enumerate(lines, 1) if text in line)


def test_a_program_is_told_by_signal_file_and_answer(
    stops: Path, ranks: Ranks, tmp_path: Path
) -> None:
    """The second run has learnt from the first what the end of the program takes."""
    uses = []
    for run, end in enumerate(("3s", "")):
        (tmp_path / "STOP").unlink(missing_ok=True)
        done = ranks(
            2,
            *("attach", "--out", "runs", "--stop-before", "10s", "--end-takes", end),
            *("--signal", "USR1", "--stop-file", "STOP", "--", stops),
        )
        assert done.returncode == 0, done.stderr
        told = re.search(r"(\d+) steps, told by signal file asked", done.stdout)
        assert told, done.stdout
        assert f"by SIGUSR1 to rank 0, the file {tmp_path / 'STOP'}." in done.stderr
        recorded = hindmost.open(tmp_path / "runs" / f"stops-loop-p2-{run}.h5")
        assert recorded.bodies == int(told[1])
        use = time_use_of(recorded.header.spec["attached"])
        assert use is not None
        assert use.ending() in done.stderr
        uses.append(use)
    for use in uses:
        assert use.limit_s == pytest.approx(10.0)
        assert use.stop is not None
        assert use.status == 0
        assert all(write.written_bytes >= MIN_BYTES for write in use.checkpoints)
        assert [point.iteration for point in use.band] == sorted(
            {point.iteration for point in use.band}
        )
        assert use.stop.iteration <= use.iterations + 1
        assert use.lag_seen is not None
    assert (uses[0].end_s, uses[0].end_by) == (3.0, GIVEN)
    assert uses[1].end_by == LEARNT
    # The program may have left several run files, the last of which counts.
    after_s = (uses[0].end_seen_s or 0.0) + (uses[0].written_after_s or 0.0)
    assert RESERVE * after_s + FLOOR_S <= uses[1].end_s < 10.0
    assert uses[1].lag == max(LAG, uses[0].lag_seen or 0)


def test_a_signal_without_a_handler_is_not_sent(stops: Path, tmp_path: Path) -> None:
    done = alone(
        *("--out", "runs", "--stop-before", "8s", "--end-takes", "2s"),
        *("--signal", "SIGUSR2", "--stop-file", "STOP", "--", stops),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    without = " The program has no handler for SIGUSR2 so far; without one it is not sent."
    watching, told = (
        next(line for line in done.stderr.splitlines() if line.startswith(f"hindmost: {begin}"))
        for begin in ("Watching main", "Told the program to stop")
    )
    assert watching.endswith(without)
    assert told.endswith(f"by the file {tmp_path / 'STOP'}.{without}")


def test_a_program_without_a_loop_is_told_by_its_time(tmp_path: Path) -> None:
    (tmp_path / "once.py").write_text(WITHOUT_LOOP)
    limit = ("--stop-before", "6s", "--end-takes", "2s", "--stop-file", "STOP")
    done = alone("--out", "runs", *limit, "--", sys.executable, "once.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "it is told to stop after 66.7 % of its time, 4.00 s." in done.stderr
    assert "Told the program to stop: no loop is known, and " in done.stderr


def test_the_loop_of_time_steps_is_known_while_the_program_runs(
    stops: Path, tmp_path: Path
) -> None:
    settings, status = tmp_path / "settings", tmp_path / "status"
    library = recorder_library()
    request = AttachRequest(out=tmp_path / "runs").text(None)
    settings.write_text(f"library {library}\npages {tmp_path}\n{request}")
    (tmp_path / "runs").mkdir()
    page = PairsPage(tmp_path / "0")
    environment = {**os.environ, **variables(library, settings), STATUS: str(status)}
    status.touch()
    process = subprocess.Popen([stops, "5"], env=environment, cwd=tmp_path)
    watcher, deadline_s = LoopWatcher(page), time.monotonic() + PATIENCE_S
    try:
        # Until marks are made at all pairs, some of the first iterations are missed.
        while time.monotonic() < deadline_s and (
            watcher.iterations is None or watcher.iterations.count < 100
        ):
            time.sleep(0.02)
            for known in read_outcome(status).processes[:1]:
                watcher.follow(known.folder / "node-0000000.raw")
            watcher.poll()
        named = re.fullmatch(r"main \(stops\.c:(\d+)\)", watcher.name)
        assert named, watcher.name
        assert line_of("the time steps") <= int(named[1]) <= line_of("more -=")
        assert page.handler(signal.SIGUSR1) is Handler.OF_PROGRAM
        assert page.handler(signal.SIGUSR2) is Handler.OF_RECORDER
        assert page["pid"] == process.pid
    finally:
        (tmp_path / "STOP").touch()
        process.wait(PATIENCE_S)


PYTHON_LOOP = """
import time
import hindmost
from mpi4py import MPI
steps = 0
while not hindmost.should_stop():
    assert 0.0 < hindmost.time_left_s() <= 4.0
    MPI.COMM_WORLD.allreduce(1)
    time.sleep(0.002)
    steps += 1
print("steps", steps)
"""


def test_a_program_that_is_not_recorded_gets_the_file_and_no_signal(tmp_path: Path) -> None:
    limit = ("--stop-before", "3s", "--end-takes", "1s", "--signal", "USR1", "--stop-file", "STOP")
    script = "while [ ! -e STOP ]; do sleep 0.1; done"
    done = alone("--out", "runs", *limit, "--", "sh", "-c", script, folder=tmp_path)
    told = next(line for line in done.stderr.splitlines() if "Told the program to stop" in line)
    assert told.endswith(" SIGUSR1 is not sent, since the program is not recorded (yet).")
    assert "Nothing was recorded" in done.stderr


WITHOUT_LOOP = """
import os, time
from mpi4py import MPI
MPI.COMM_WORLD.barrier()
while not os.path.exists("STOP"):
    time.sleep(0.01)
MPI.COMM_WORLD.allreduce(1)
"""


def test_python_asks_as_well(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(PYTHON_LOOP)
    limit = ("--stop-before", "4s", "--end-takes", "1s")
    done = alone("--out", "runs", *limit, "--", sys.executable, "loop.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 0
    assert "by hindmost_should_stop()." in done.stderr


def test_without_hindmost_nobody_stops_a_program() -> None:
    assert not hindmost.should_stop()
    assert hindmost.time_left_s() == float("inf")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("2x", "", "", ""), "--stop-before 2x"),
        (("2h", "FOO", "", ""), "--signal FOO: no such signal"),
        (("", "USR1", "", ""), "Give --stop-before"),
        (("2h", "USR1", "", "soon"), "--end-takes soon"),
    ],
)
def test_what_cannot_be_done_is_refused(
    asked: tuple[str, str, str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (END_VARIABLE, *JOB_VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=message):
        StopRequest.of(*asked)


def test_the_limit_is_that_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(END_VARIABLE, str(int(time.time()) + 1000))
    request = StopRequest.of("", "usr1", "", "")
    assert request is not None
    assert request.limit_s == pytest.approx(1000.0, abs=5.0)
    assert request.signal is signal.SIGUSR1
    assert StopRequest.of("", "", "", "") is None
