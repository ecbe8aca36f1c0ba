"""``run --live``: what is noted of real ranks while they run, and after they were killed."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import BIN

from hindmost.analysis.watch.program import WatchedFolder
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import PHASES

pytestmark = pytest.mark.mpi

PATIENCE_S = 300.0
SOLVE = ("diagonal", "--unknowns", "600", "--solver", "cg", "--warmup", "0")
CYCLES = ("adaptive", "--deck", "timing-a", "--base", "24x16", "--steps", "4")


def watched_with_windows(out: Path, process: subprocess.Popen[bytes]) -> WatchedFolder:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        try:
            watched = WatchedFolder(out)
        except DataError:  # nothing is noted yet, or no more
            continue
        else:
            if watched.windows is not None:
                return watched
        finally:
            time.sleep(0.05)
    raise AssertionError("no window has come")


def kill_all_of(out: Path) -> None:
    """Kill the ranks and their launchers, some of which would leave their ranks behind."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(out).encode() in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


@pytest.mark.parametrize(
    ("words", "loop", "total"),
    [
        ((*SOLVE, "--iterations", "2000000"), "cg", 2_000_000),
        ((*CYCLES, "--cycles", "50000"), "timing-a", 50_000),
    ],
)
def test_a_run_is_followed_until_it_is_killed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    loop: str,
    total: int,
) -> None:
    command: list[str | Path] = [BIN / "mpiexec", "-n", "2", BIN / "hindmost", "run", *words]
    with subprocess.Popen(
        [*command, "--repeats", "3", "--live", "--out", tmp_path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        watched = watched_with_windows(tmp_path, process)
        use, windows = watched.use, watched.windows
        assert windows is not None
        assert (use.loop, use.total, use.run, use.runs, use.ranks) == (loop, total, 1, 3, 2)
        assert 0 < use.iterations < total
        assert not watched.is_over
        # Of the time of both ranks, window by window, nothing is left out.
        np.testing.assert_allclose(windows.shares.sum(axis=2), 1.0, rtol=1e-5)
        assert windows.totals[:, PHASES.index("local")].min() > 0.0
        assert windows.totals[:, PHASES.index("wait")].sum() > 0.0
        kill_all_of(tmp_path)
    end = time.monotonic() + PATIENCE_S
    while not (watched.use.lost or watched.use.status) and time.monotonic() < end:
        time.sleep(0.1)
        watched.update()
    assert main(["watch", str(tmp_path), "--once"]) == 1
    said = capsys.readouterr().out
    assert " is gone after " in said
    assert "hindmost attach --convert" in said
