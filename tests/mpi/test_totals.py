"""The running totals of a solve, read by another process while it goes on."""

from __future__ import annotations

import os
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
from tests.conftest import BIN

import hindmost
from hindmost.errors import DataError
from hindmost.harness.recorder import state
from hindmost.harness.recorder.state import (
    RunningTotals,
    recording_processes,
    running_totals,
    totals_file,
)

LONG = 6_000
LONGEST_S = 600.0


def watched(ranks: subprocess.Popen[bytes], known: set[int]) -> dict[int, list[RunningTotals]]:
    """Read the totals of every new recorder again and again until the ranks end."""
    seen: dict[int, list[RunningTotals]] = {}
    end = time.monotonic() + LONGEST_S
    while ranks.poll() is None and time.monotonic() < end:
        for process in set(recording_processes()) - known:
            try:
                totals = running_totals(process)
            except DataError:  # it has ended between the two calls
                continue
            if totals.recording:
                seen.setdefault(process, []).append(totals)
        time.sleep(0.02)
    return seen


@pytest.mark.mpi
def test_totals_are_read_while_the_solve_goes_on(tmp_path: Path) -> None:
    known = set(recording_processes())
    words = f"run laplacian-1d --unknowns 20000 --solver cg --iterations {LONG} --warmup 0 --out ."
    command = [str(BIN / "mpiexec"), "-n", "2", str(BIN / "hindmost"), *words.split()]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as ranks:
        seen = watched(ranks, known)
    assert ranks.returncode == 0
    assert len(seen) == 2, "one recorder a rank"
    for readings in seen.values():
        assert len(readings) > 3
        for before, after in pairwise(readings):
            assert after.iteration >= before.iteration
            assert after.elapsed_s > before.elapsed_s
            assert all(after.phase_s[name] >= before.phase_s[name] for name in after.phase_s)
        assert 0 < readings[-1].iteration <= LONG
        assert len({each.iteration for each in readings}) > 3
        assert readings[-1].phase_s["wait"] > 0
        assert sum(readings[-1].phase_s.values()) < readings[-1].elapsed_s
        assert readings[-1].residual_norm > 0
    # The whole file agrees: nobody was stopped, and nothing is left behind.
    assert hindmost.open(tmp_path / "laplacian-1d-cg-p2-0.h5").bodies == LONG
    assert not any(totals_file(process).exists() for process in seen)


def test_a_pipe_in_the_place_of_totals_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "SHARED_MEMORY", tmp_path)
    os.mkfifo(totals_file(os.getpid()))
    assert os.getpid() in recording_processes()
    with pytest.raises(DataError, match="not a regular file"):
        running_totals(os.getpid())


def test_totals_that_another_user_wrote_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    monkeypatch.setattr(state, "SHARED_MEMORY", tmp_path)
    totals_file(os.getpid()).write_bytes(bytes(1000))
    assert running_totals(os.getpid()).iteration == 0
    os.chown(totals_file(os.getpid()), 12345, -1)
    with pytest.raises(DataError, match="a file of user 12345"):
        running_totals(os.getpid())


def test_a_process_without_a_recorder_is_refused() -> None:
    with pytest.raises(DataError, match="Process 1 has no readable recorder"):
        running_totals(1)
