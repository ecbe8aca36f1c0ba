"""Stopped at any moment, in any way, and resumed: the same runs, and what was done untouched."""

import errno
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.jobs.conftest import Make, NoLauncher, fingerprint, writes

from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause, RunOutcome, write_outcome

Start = Callable[..., "subprocess.Popen[bytes]"]
MAX_ROUNDS = 60


def expect_all(study: StudyFolder) -> None:
    """Every run has its one file, once, and nothing unfinished is left."""
    for number, (run, record) in enumerate(study.records().items()):
        assert [outcome.cause for outcome in record.outcomes].count(Cause.DONE) == 1, run
        assert (study.run(run) / f"r{number}.txt").read_text() == f"{number}\n"
        left = {path.name for path in study.run(run).iterdir()}
        extra = left - {f"r{number}.txt", "output.txt"}
        assert all(name.startswith("outcome-") for name in extra), extra


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL])
def test_signals_at_any_moment(make: Make, start_driver: Start, number: signal.Signals) -> None:
    chance = random.Random(int(number))
    study = make([writes(n, seconds=0.03) for n in range(5)])
    stopped = 0
    for _ in range(MAX_ROUNDS):
        before = fingerprint(study)
        lines = study_log(study).count("\n") + chance.randint(1, 5)
        driver = start_driver(study)
        while driver.poll() is None and study_log(study).count("\n") < lines:
            time.sleep(0.003)
        time.sleep(chance.uniform(0.0, 0.05))
        driver.send_signal(number)
        status = driver.wait(timeout=20)
        assert before.items() <= fingerprint(study).items()
        if status == 0:
            break
        stopped += 1
    assert status == 0
    assert stopped >= 1
    expect_all(study)


def study_log(study: StudyFolder) -> str:
    try:
        return (study.allocation("a0") / "driver.log").read_text()
    except OSError:
        return ""


def test_a_disk_that_is_full_at_any_write(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(28)
    study = make([writes(n) for n in range(6)])
    full = False
    sync, refused = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal full, refused
        full = full or chance.random() < 0.08
        if full:
            refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    for _ in range(MAX_ROUNDS):
        before = fingerprint(study)
        status = drive(study, "a0", NoLauncher(), grace_s=0.3)
        assert before.items() <= fingerprint(study).items()
        if status == 0:
            break
        assert status == 75
        full = False
    assert status == 0
    assert refused >= 3
    expect_all(study)


def test_a_kill_between_files_and_outcome_leaves_the_run_undone(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make([writes(0)])

    class Killed(BaseException):
        pass

    def killed(folder: Path, outcome: RunOutcome) -> None:
        if outcome.cause is not Cause.RUNNING:
            raise Killed
        write_outcome(folder, outcome)

    with monkeypatch.context() as patch:
        patch.setattr("hindmost.jobs.drive.attempt.write_outcome", killed)
        with pytest.raises(Killed):
            drive(study, "a0", NoLauncher())
    assert (study.run("run-0") / "r0.txt").exists()
    assert study.records()["run-0"].done is None
    assert drive(study, "a0", NoLauncher()) == 0
    assert [outcome.cause for outcome in study.records()["run-0"].outcomes] == [
        Cause.STOPPED,
        Cause.DONE,
    ]


def test_a_finished_file_that_was_removed_is_made_again(make: Make) -> None:
    study = make([writes(0), writes(1)])
    assert drive(study, "a0", NoLauncher()) == 0
    other = fingerprint(study)["run-1/r1.txt"]
    (study.run("run-0") / "r0.txt").unlink()
    assert drive(study, "a0", NoLauncher()) == 0
    assert (study.run("run-0") / "r0.txt").read_text() == "0\n"
    assert fingerprint(study)["run-1/r1.txt"] == other


def test_files_from_another_disk_are_never_seen_in_parts(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = Path("/dev/shm")
    if not scratch.is_dir() or scratch.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    study = make([writes(0)], scratch=f"{scratch}/hindmost-tests-{os.getpid()}")
    copied = []
    copy = shutil.copyfileobj

    def copyfileobj(source: BinaryIO, target: BinaryIO) -> None:
        copied.append(Path(f"/proc/self/fd/{target.fileno()}").readlink().name)
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfileobj", copyfileobj)
    try:
        assert drive(study, "a0", NoLauncher()) == 0
    finally:
        shutil.rmtree(f"{scratch}/hindmost-tests-{os.getpid()}")
    assert copied == [".part-r0.txt", ".part-output.txt"]
    expect_all(study)


def test_a_line_that_was_cut_off_is_no_line(tmp_path: Path) -> None:
    study = StudyFolder(tmp_path)
    study.add_job("a", "1", "local")
    with study.jobs_file.open("a") as file:
        file.write('{"allocation": "b", ')
    assert [job.allocation for job in study.jobs()] == ["a"]
    study.add_job("c", "2", "local")
    assert [job.allocation for job in study.jobs()] == ["a", "c"]
