"""Slurm's words, as a real Slurm 22.05 and its documentation have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.schedulers import calls
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.schedulers.slurm import SLURM, STATES, job

SEEN = [
    ("COMPLETED", "None", 0, 0, JobState.COMPLETED),
    ("FAILED", "NonZeroExitCode", 7, 0, JobState.FAILED),
    ("FAILED", "NonZeroExitCode", 75, 0, JobState.LEFT),
    ("FAILED", "RaisedSignal:11(Segmentation_fault)", 0, 11, JobState.FAILED),
    ("COMPLETED", "None", 1, 0, JobState.FAILED),
    ("CANCELLED", "DependencyNeverSatisfied", 0, 0, JobState.DEPENDENCY),
    ("PENDING", "DependencyNeverSatisfied", 0, 0, JobState.DEPENDENCY),
    ("PENDING", "Dependency", 0, 0, JobState.PENDING),
    ("CANCELLED", "Dependency", 0, 0, JobState.CANCELLED),
    ("CANCELLED by 1000", "None", 0, 15, JobState.CANCELLED),
    ("CANCELLED+", "", 0, 0, JobState.CANCELLED),
    ("TIMEOUT", "TimeLimit", 0, 0, JobState.TIME_LIMIT),
    ("TIMEOUT", "TimeLimit", 75, 0, JobState.TIME_LIMIT),
    ("DEADLINE", "DeadLine", 0, 0, JobState.TIME_LIMIT),
    ("NODE_FAIL", "NodeDown", 0, 0, JobState.NODE_FAILED),
    ("OUT_OF_MEMORY", "OutOfMemory", 0, 125, JobState.MEMORY),
    ("PREEMPTED", "None", 0, 0, JobState.PREEMPTED),
    ("REVOKED", "None", 0, 0, JobState.PENDING),
    ("PENDING", "Priority", 0, 0, JobState.PENDING),
    ("PENDING", "Resources", 0, 0, JobState.PENDING),
    ("PENDING", "Reservation", 0, 0, JobState.PENDING),
    ("PENDING", "ReqNodeNotAvail, UnavailableNodes:n1", 0, 0, JobState.PENDING),
    ("PENDING", "AssocGrpCPURunMinutesLimit", 0, 0, JobState.PENDING),
    ("PENDING", "QOSMaxJobsPerUserLimit", 0, 0, JobState.PENDING),
    ("PENDING", "AssocGrpCPUMinutesLimit", 0, 0, JobState.STUCK),
    ("PENDING", "QOSMaxNodePerJobLimit", 0, 0, JobState.STUCK),
    ("PENDING", "QOSMaxWallDurationPerJobLimit", 0, 0, JobState.STUCK),
    ("PENDING", "PartitionConfig", 0, 0, JobState.STUCK),
    ("PENDING", "PartitionTimeLimit", 0, 0, JobState.STUCK),
    ("PENDING", "PartitionNodeLimit", 0, 0, JobState.STUCK),
    ("PENDING", "BadConstraints", 0, 0, JobState.STUCK),
    ("PENDING", "JobHeldAdmin", 0, 0, JobState.STUCK),
    ("PENDING", "launch failed requeued held", 0, 0, JobState.STUCK),
    ("COMPLETING", "NonZeroExitCode", 7, 0, JobState.RUNNING),
    ("SUSPENDED", "None", 0, 0, JobState.RUNNING),
    ("A_NEW_STATE", "None", 0, 0, JobState.UNKNOWN),
    ("", "", 0, 0, JobState.UNKNOWN),
]


@pytest.mark.parametrize(("state", "reason", "status", "signal", "meant"), SEEN)
def test_states(state: str, reason: str, status: int, signal: int, meant: JobState) -> None:
    told = job("1", state, reason, status, signal, "n0")
    assert told.state is meant
    assert state.split()[:1] == [] or state.split()[0].rstrip("+") in told.reason


def test_only_an_end_with_0_is_a_success() -> None:
    good = [state for state, meant in STATES.items() if meant is JobState.COMPLETED]
    assert good == ["COMPLETED"]
    assert job("1", "COMPLETED", "None", 0, 9, "").state is JobState.FAILED


def commands(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """Put commands of a shell first on the path."""
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_accounts_tell_what_slurm_forgot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands(
        tmp_path,
        monkeypatch,
        squeue="echo '5|RUNNING|None|0|n0|'",
        sacct="printf '%s\\n' '6|FAILED|NonZeroExitCode|75:0|n1' '7|CANCELLED by 0|None|0:15|n1' "
        "'8|RUNNING|None|0:0|n1' '10|CANCELLED|Dependency|0:0|None assigned' "
        "'11|CANCELLED by 0|Dependency|0:0|None assigned' '99|COMPLETED|None|0:0|n1'",
    )
    found = SLURM.look(["5", "6", "7", "8", "9", "10", "11"])
    states = [job.state.name for job in found.values()]
    assert states[:5] == ["RUNNING", "LEFT", "CANCELLED", "UNKNOWN", "UNKNOWN"]
    assert states[5:] == ["DEPENDENCY", "CANCELLED"]
    assert "sacct reports RUNNING" in found["8"].reason
    assert "no such job" in found["9"].reason


def test_a_new_job_does_not_take_after_the_one_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    commands(tmp_path, monkeypatch, sbatch=f"env > {seen}; echo 1", squeue=f"env > {seen}")
    for name in ("SLURM_JOB_ID", "SLURM_CONF", "SLURM_NTASKS", "SQUEUE_FORMAT", "HINDMOST_JOB_ID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SBATCH_ACCOUNT", "e00")
    SLURM.submit(tmp_path / "a")
    names = {line.split("=")[0] for line in seen.read_text().splitlines()}
    assert {"SLURM_CONF", "SBATCH_ACCOUNT"} <= names
    assert not {"SLURM_JOB_ID", "SLURM_NTASKS", "SQUEUE_FORMAT", "HINDMOST_JOB_ID"} & names


def test_variables_do_not_override_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, script = tmp_path / "seen", tmp_path / "a0.sh"
    commands(tmp_path, monkeypatch, sbatch=f"env > {seen}; echo 1")
    script.write_text("#!/bin/bash\n#SBATCH --partition=standard\n#SBATCH --time=1:00:00\n")
    for name in ("TIMELIMIT", "REQUEUE", "EXCLUSIVE", "EXPORT", "ACCOUNT", "PARTITION"):
        monkeypatch.setenv(f"SBATCH_{name}", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    SLURM.submit(script)
    lines = seen.read_text().splitlines()
    assert [line for line in lines if line.startswith("SBATCH_")] == ["SBATCH_ACCOUNT=1"]
    assert "LC_ALL=C.UTF-8" in lines


def test_many_jobs_are_asked_for_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls"
    commands(tmp_path, monkeypatch, squeue=f"echo x >> {log}", sacct=f"echo x >> {log}; exit 1")
    SLURM.look([str(id) for id in range(1000)])
    assert len(log.read_text().split()) == 10


def test_no_answer_is_an_error_and_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands(
        tmp_path, monkeypatch, squeue="echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1"
    )
    with pytest.raises(MissingError, match="Unable to contact"):
        SLURM.look(["1"])
    commands(tmp_path, monkeypatch, squeue="sleep 20", sbatch="sleep 20", scancel="exec sleep 20")
    monkeypatch.setattr(calls.call, "__kwdefaults__", {"limit_s": 0.2, "environment": None})
    for question in (lambda: SLURM.look(["1"]), lambda: SLURM.cancel(["1"])):
        with pytest.raises(MissingError, match=r"did not answer within 0\.2 s"):
            question()
    with pytest.raises(MissingError, match="did not answer"):
        SLURM.submit(tmp_path / "squeue")


def test_no_slurm_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="sbatch cannot be started"):
        SLURM.submit(tmp_path)


def test_odd_answers_of_sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands(tmp_path, monkeypatch, sbatch="echo '17;cluster-a'")
    assert SLURM.submit(tmp_path / "a") == "17"
    commands(tmp_path, monkeypatch, sbatch="echo 'Welcome!'")
    with pytest.raises(UsageError, match="Welcome"):
        SLURM.submit(tmp_path / "a")
    with pytest.raises(UsageError, match="control character"):
        SLURM.submit(tmp_path / "a\nb")


def test_scancel_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = "scancel: error: Kill job error on job id 1: "
    commands(tmp_path, monkeypatch, scancel=f"echo '{error}Access/permission denied' >&2; exit 1")
    with pytest.raises(MissingError, match="permission denied"):
        SLURM.cancel(["1"])
    commands(tmp_path, monkeypatch, scancel=f"echo '{error}Invalid job id specified' >&2; exit 1")
    SLURM.cancel(["1"])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("0:59", 59.0),
        ("12:00", 720.0),
        ("2:00:01", 7201.0),
        ("1-02:03:04", 93784.0),
        ("UNLIMITED", None),
        ("NOT_SET", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_what_is_left_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, expected: float | None
) -> None:
    commands(tmp_path, monkeypatch, squeue=f'test "$2" = --jobs=7 && echo "{said}"')
    assert SLURM.left_s("7") == expected
    assert SLURM.left_s("8") is None
    assert SLURM.left_s("process-7") is None


def test_no_squeue_where_the_job_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert SLURM.left_s("7") is None
