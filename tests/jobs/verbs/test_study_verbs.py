"""The verbs of a study: what they print, their JSON and their exit statuses; and a real study."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.documents import as_declared
from tests.jobs import whole_study
from tests.jobs.conftest import (
    Make,
    NoLauncher,
    PretendedScheduler,
    plan_of,
    writes,
)
from tests.jobs.whole_study import collected_after_a_stop

import hindmost
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers.local import LOCAL
from hindmost.jobs.schedulers.scheduler import JobState, Scheduler
from hindmost.jobs.verbs import cancel, status, submit
from hindmost.registry import Registry

LIMIT_S = 600.0


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> PretendedScheduler:
    """Return the scheduler that the verbs meet."""
    pretended = PretendedScheduler()
    registry: Registry[Scheduler] = Registry("scheduler", (pretended,))
    for verb in (status, submit, cancel):
        monkeypatch.setattr(verb, "SCHEDULERS", registry)
    return pretended


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_from_submission_to_collection(
    make: Make, scheduler: PretendedScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make([writes(0), ("sh", "-c", "echo no such solver; exit 2"), writes(2)])
    folder = str(study.path)
    assert main(["study", "submit", folder]) == 0
    assert "submitted 3 runs: a0 as job job-1" in told(capsys)
    assert main(["study", "status", folder]) == 75
    assert "3 runs: 3 waiting" in told(capsys)
    scheduler.set("job-1", JobState.STUCK, "PartitionTimeLimit")
    assert main(["study", "status", folder]) == 75
    assert "can never start (PartitionTimeLimit)" in told(capsys)
    assert main(["study", "cancel", folder, "--json"]) == 0
    assert as_declared("study cancel", told(capsys))["cancelled"] == ["job-1"]
    assert main(["study", "status", folder]) == 75
    assert f"next: hindmost study submit {folder}" in told(capsys)
    scheduler.set("job-1", JobState.FAILED)
    assert main(["study", "status", folder]) == 75
    assert f"next: read {folder}/output/a0-*; hindmost study submit {folder}" in told(capsys)
    with pytest.raises(UsageError, match="No run of"):
        main(["study", "collect", folder])
    assert not (study.path / "collected").exists()
    drive(study, "a0", NoLauncher())
    assert main(["study", "status", folder]) == 1
    text = told(capsys)
    assert "2 done, 1 failed for good" in text
    assert "run run-1: failed: no such solver" in text
    assert "study submit" in text
    assert main(["study", "submit", folder]) == 1
    assert main(["study", "collect", folder]) == 1
    assert f"2 files of 2 runs in {folder}/collected" in told(capsys)
    assert main(["study", "collect", folder, "--json"]) == 1
    assert len(as_declared("study collect", told(capsys))["files"]) == 2
    assert main(["study", "status", folder, "--json"]) == 1
    found = as_declared("study status", told(capsys))
    assert found["counts"]["done"] == 2
    assert found["allocations"][0]["runs"]["run-1"] == "failed for good"
    assert [each["cause"] for each in found["failures"]] == ["failed"]


STUDY = """\
schema = 1
[study]
name = "small"
seed = 7
repeats = 2
[sweep]
ranks = 2
solver = ["gmres", "pgmres"]
problem = "diagonal"
unknowns = 600
iterations = 200
[limits]
job = "30m"
run = "1m"
stop_before = "30s"
"""


def test_a_dry_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    assert main(["study", "submit", "study.toml", "--dry-run"]) == 0
    assert f"hindmost study drive {tmp_path}/small a000" in told(capsys)
    assert main(["study", "submit", "study.toml", "--dry-run", "--json"]) == 0
    assert list(as_declared("study submit", told(capsys))["scripts"]) == ["a000"]
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_the_study_is_kept_to_the_byte_with_what_was_set(
    tmp_path: Path, scheduler: PretendedScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = b"\xef\xbb\xbf" + STUDY.replace("\n", "\r\n").encode()
    Path("study.toml").write_bytes(source)
    assert main(["study", "submit", "study.toml", "--set", "ranks=1", "--set", "repeats=1"]) == 0
    folder = StudyFolder.open(tmp_path / "small")
    assert folder.study_file.read_bytes() == source
    assert folder.plan.replacements == ("ranks=1", "repeats=1")


def test_dashes_are_no_last_words(
    make: Make, scheduler: PretendedScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make([("sh", "-c", "echo no slots left; echo -----; exit 2")])
    assert drive(study, "a0", NoLauncher()) == 1
    assert main(["study", "status", str(study.path)]) == 1
    assert "run run-0: failed: no slots left\n" in told(capsys)


def test_a_refused_script_leaves_the_others_to_resume(
    tmp_path: Path,
    scheduler: PretendedScheduler,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY + '[pack]\nby = "none"\n')
    accept = scheduler.submit

    def refuse(path: Path) -> str:
        if len(scheduler.jobs) == 2:
            raise UsageError("sbatch refused it")
        return accept(path)

    with monkeypatch.context() as patch:
        patch.setattr(scheduler, "submit", refuse)
        with pytest.raises(UsageError, match="sbatch refused it"):
            main(["study", "submit", "study.toml"])
    assert "submitted 2 of 4 scripts; 'hindmost study submit small'" in capsys.readouterr().err
    with pytest.raises(UsageError, match="contains a study already"):
        main(["study", "submit", "study.toml"])
    assert main(["study", "submit", "small"]) == 0
    assert "submitted 2 runs" in told(capsys)


def test_the_line_of_post_processing_is_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = replace(plan_of([writes(0)]), collect="ls {runs}/*.txt > {runs}/listed")
    study = StudyFolder.create(tmp_path / "my study", plan, b"")
    drive(study, "a0", NoLauncher())
    assert main(["study", "collect", str(study.path)]) == 0
    line = told(capsys).partition("next: ")[2]
    subprocess.run(["sh", "-c", line], check=True)
    assert len((study.path / "collected" / "listed").read_text().splitlines()) == 1


@pytest.mark.mpi
def test_a_real_study_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    study, files = collected_after_a_stop(tmp_path, whole_study.STUDY, LOCAL, LIMIT_S)
    for row in files:
        run = hindmost.open(study.path / "collected" / row["file"])
        told = run.header.scheduler
        planned = study.planned[told["HINDMOST_RUN_ID"]]
        assert run.header.solver == planned.configuration["solver"]
        assert run.header.ranks == planned.ranks == 2
        assert told["HINDMOST_BLOCK"] == str(planned.block)
        assert told["HINDMOST_ALLOCATION"] == planned.allocation
        assert told["HINDMOST_STUDY_SHA256"] == study.plan.study_sha256
