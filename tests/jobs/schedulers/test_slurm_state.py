"""Slurm's words, as a real Slurm 22.05 and its documentation have them."""

from pathlib import Path

import pytest
from tests.jobs.schedulers import answers

from hindmost.errors import MissingError, UsageError
from hindmost.harness import batch_job
from hindmost.jobs.schedulers import slurm
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


FILES = {False: "slurm-22.05.txt", True: "slurm-22.05-accounts.txt"}
WITH = {accounts: answers.read(name) for accounts, name in FILES.items()}
SCRIPT = Path("/srv/job.sh")
FORGOTTEN = {
    "3": JobState.RUNNING,  # not forgotten
    "7": JobState.COMPLETED,
    "4": JobState.FAILED,
    "8": JobState.LEFT,
    "9": JobState.FAILED,
    "12": JobState.DEPENDENCY,
    "13": JobState.DEPENDENCY,
    "999999": JobState.UNKNOWN,
}
DOWN = "Unable to contact slurm controller"
both = pytest.mark.parametrize("accounts", WITH)


@both
def test_one_runs_one_waits_one_never_was(monkeypatch: pytest.MonkeyPatch, accounts: bool) -> None:
    answers.replay(monkeypatch, slurm, WITH[accounts]["one runs, one waits, one never was"])
    ids = [SLURM.submit(SCRIPT), SLURM.submit(SCRIPT)]
    assert ids == ["1", "2"]
    found = SLURM.query([*ids, "999999"])
    states = [each.state for each in found.values()]
    assert states == [JobState.RUNNING, JobState.PENDING, JobState.UNKNOWN]
    why = "no such job" if accounts else "accounting storage is disabled"
    assert why in found["999999"].reason
    assert SLURM.query(["999999"])["999999"] == found["999999"]


@both
def test_cancelling(monkeypatch: pytest.MonkeyPatch, accounts: bool) -> None:
    """Unknown and ended jobs are ignored."""
    answers.replay(monkeypatch, slurm, WITH[accounts]["both are cancelled"])
    SLURM.cancel(["999999", "1", "2"])
    assert {each.state for each in SLURM.query(["1", "2"]).values()} == {JobState.CANCELLED}
    SLURM.cancel(["1"])


@pytest.mark.parametrize(
    ("accounts", "what"),
    [(accounts, what) for accounts, seen in WITH.items() for what in seen if what[0].isdigit()],
)
def test_what_became_of_jobs(monkeypatch: pytest.MonkeyPatch, accounts: bool, what: str) -> None:
    id, _, state = what.partition(" is ")
    answers.replay(monkeypatch, slurm, WITH[accounts][what])
    assert SLURM.query([id])[id].state == state


def test_accounts_tell_what_squeue_forgot(monkeypatch: pytest.MonkeyPatch) -> None:
    answers.replay(monkeypatch, slurm, WITH[True]["forgotten by squeue"])
    found = SLURM.query(list(FORGOTTEN))
    assert {id: job.state for id, job in found.items()} == FORGOTTEN
    assert found["999999"].reason == "unknown to Slurm (sacct: no such job)"


@pytest.mark.parametrize(
    ("accounts", "what", "why"),
    [
        (False, "forgotten by squeue", "accounting storage is disabled"),
        (True, "forgotten by squeue, and slurmdbd is down", "Connection refused"),
    ],
)
def test_what_nobody_remembers_is_unknown(
    monkeypatch: pytest.MonkeyPatch, accounts: bool, what: str, why: str
) -> None:
    """What ended is no success then; a job that waits or runs is in squeue all the same."""
    seen = WITH[accounts][what]
    answers.replay(monkeypatch, slurm, seen)
    ids = list(FORGOTTEN)[: len(FORGOTTEN) - accounts]
    running, *others = SLURM.query(ids).values()
    assert running.state is JobState.RUNNING
    assert {other.state for other in others} == {JobState.UNKNOWN}
    assert all(why in other.reason for other in others)


@both
def test_the_controller_is_down(monkeypatch: pytest.MonkeyPatch, accounts: bool) -> None:
    """Then a state is not known, nothing is cancelled, and a script is not to blame."""
    answers.replay(monkeypatch, slurm, WITH[accounts]["the controller is down"])
    with pytest.raises(MissingError, match=f"squeue: .*{DOWN}"):
        SLURM.query(["3"])
    with pytest.raises(MissingError, match=f"scancel: .*{DOWN}"):
        SLURM.cancel(["3"])
    with pytest.raises(MissingError, match=f"sbatch: .*{DOWN} .* look at its queue later"):
        SLURM.submit(SCRIPT)


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("refused: --partition=gpu", "Invalid partition name"),
        ("refused: --account=nobody", "Invalid account"),
    ],
)
def test_refused(monkeypatch: pytest.MonkeyPatch, what: str, complaint: str) -> None:
    answers.replay(monkeypatch, slurm, WITH[True][what])
    with pytest.raises(UsageError, match=f"sbatch refused {SCRIPT}: .*{complaint}"):
        SLURM.submit(SCRIPT)


def test_a_job_whose_end_did_not_reach_the_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = "8|RUNNING|None|0:0|n1|2026-11-26T15:06:22"
    commands(tmp_path, monkeypatch, squeue="exit 0", sacct=f"echo '{row}'")
    found = SLURM.query(["8"])["8"]
    assert (found.state, "sacct reports RUNNING" in found.reason) == (JobState.UNKNOWN, True)


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
    SLURM.query([str(id) for id in range(1000)])
    assert len(log.read_text().split()) == 10


def test_no_answer_is_an_error_and_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands(
        tmp_path, monkeypatch, squeue="echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1"
    )
    with pytest.raises(MissingError, match="Unable to contact"):
        SLURM.query(["1"])
    commands(tmp_path, monkeypatch, squeue="sleep 20", sbatch="sleep 20", scancel="exec sleep 20")
    monkeypatch.setattr(batch_job, "CALL_LIMIT_S", 0.2)
    for question in (lambda: SLURM.query(["1"]), lambda: SLURM.cancel(["1"])):
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


def test_scancel_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = "scancel: error: Kill job error on job id 1: "
    commands(tmp_path, monkeypatch, scancel=f"echo '{error}Access/permission denied' >&2; exit 1")
    with pytest.raises(MissingError, match="permission denied"):
        SLURM.cancel(["1"])
    commands(tmp_path, monkeypatch, scancel=f"echo '{error}Invalid job id specified' >&2; exit 1")
    SLURM.cancel(["1"])
