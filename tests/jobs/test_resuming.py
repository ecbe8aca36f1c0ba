"""Submitting, resuming and cancelling: which allocations, and what the end of a job tells."""

import os
import shutil
from pathlib import Path

import pytest
from tests.jobs.conftest import STUDY, Make, NoLauncher, PretendedScheduler, plan_of, writes

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause, RunOutcome, write_outcome
from hindmost.jobs.schedulers.scheduler import Job, JobState
from hindmost.jobs.state import RunState, state_of
from hindmost.jobs.submission import cancel, resume, submit


@pytest.fixture
def scheduler() -> PretendedScheduler:
    return PretendedScheduler()


def begin(study: StudyFolder, scheduler: PretendedScheduler) -> None:
    list(submit(study, scheduler, [allocation.id for allocation in study.plan.allocations]))


def do(study: StudyFolder, allocation: str) -> int:
    return drive(study, allocation, NoLauncher(), grace_s=0.3)


def test_only_what_is_left_and_has_no_job_is_submitted(
    make: Make, scheduler: PretendedScheduler
) -> None:
    study = make([writes(n) for n in range(4)], allocations=4)
    begin(study, scheduler)
    assert [job.job for job in study.jobs()] == ["job-1", "job-2", "job-3", "job-4"]
    assert do(study, "a0") == 0
    scheduler.set("job-1", JobState.COMPLETED)
    scheduler.set("job-2", JobState.TIME_LIMIT)
    scheduler.set("job-3", JobState.RUNNING)
    del scheduler.jobs["job-4"]
    state = state_of(study, scheduler)
    assert [list(allocation.runs.values()) for allocation in state.allocations] == [
        [RunState.DONE], [RunState.LEFT], [RunState.WAITING], [RunState.LEFT],
    ]  # fmt: skip
    assert state.exit_status == 75
    done = resume(study, scheduler)
    # The job that nobody knows is no success: it is submitted again.
    assert [each.allocation for each in done.submitted] == ["a1", "a3"]
    assert (done.live, done.runs, done.failed) == (("a2",), 2, 0)
    assert resume(study, scheduler).submitted == ()


def test_an_edited_script_is_kept(make: Make, scheduler: PretendedScheduler) -> None:
    study = make([writes(0)])
    begin(study, scheduler)
    assert os.access(study.script("a0"), os.X_OK)
    study.script("a0").write_text("# mine\n")
    scheduler.set("job-1", JobState.CANCELLED)
    resume(study, scheduler)
    assert study.script("a0").read_text() == "# mine\n"


def test_the_scripts_of_a_copied_study_are_refused(
    make: Make, scheduler: PretendedScheduler, tmp_path: Path
) -> None:
    study = make([writes(0)])
    begin(study, scheduler)
    shutil.copytree(study.path, tmp_path / "copy")
    copy = StudyFolder.open(tmp_path / "copy")
    scheduler.set("job-1", JobState.CANCELLED)
    with pytest.raises(UsageError, match=f"a0.sh drives {study.path}, but the study is in"):
        resume(copy, scheduler)
    assert len(scheduler.submitted) == 1
    copy.script("a0").unlink()
    assert len(resume(copy, scheduler).submitted) == 1
    assert f"drive {copy.path} a0" in copy.script("a0").read_text()


@pytest.mark.parametrize(
    ("ended", "cause", "again"),
    [
        (JobState.MEMORY, Cause.MEMORY, False),
        (JobState.NODE_FAILED, Cause.NODE_FAILED, True),
        (JobState.TIME_LIMIT, Cause.STOPPED, True),
        (JobState.PREEMPTED, Cause.STOPPED, True),
        (JobState.CANCELLED, Cause.STOPPED, True),
        (JobState.UNKNOWN, Cause.STOPPED, True),
    ],
)
def test_the_end_of_a_job_tells_what_became_of_its_run(
    make: Make, scheduler: PretendedScheduler, ended: JobState, cause: Cause, again: bool
) -> None:
    study = make([writes(0)])
    begin(study, scheduler)
    study.run("run-0").mkdir()
    begun = RunOutcome(
        run="run-0", cause=Cause.RUNNING, status=0, attempt=1, seconds=0.0, allocation="a0",
        job="job-1", nodes=("n0",), files=(), message="",
    )  # fmt: skip
    write_outcome(study.run("run-0"), begun)
    scheduler.set("job-1", JobState.RUNNING)
    assert state_of(study, scheduler).counts[RunState.RUNNING] == 1
    scheduler.set("job-1", ended)
    done = resume(study, scheduler)
    (outcome,) = study.records()["run-0"].outcomes
    assert (outcome.cause, outcome.job, outcome.nodes) == (cause, "job-1", ("n0",))
    assert len(done.submitted) == int(again)
    assert done.failed == int(not again)


def test_again_does_what_failed_for_good_once_more(
    make: Make, scheduler: PretendedScheduler, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    study = make([("sh", "-c", f"test -e {mended} || exit 2")])
    begin(study, scheduler)
    assert do(study, "a0") == 1
    scheduler.set("job-1", JobState.FAILED)
    assert resume(study, scheduler).submitted == ()
    assert state_of(study, scheduler).exit_status == 1
    assert do(study, "a0") == 1
    assert len(study.records()["run-0"].outcomes) == 1
    mended.touch()
    assert [each.allocation for each in resume(study, scheduler, again=True).submitted] == ["a0"]
    assert do(study, "a0") == 0
    causes = [outcome.cause for outcome in study.records()["run-0"].outcomes]
    assert causes == [Cause.FORGIVEN, Cause.DONE]


def test_two_at_once_are_refused(make: Make) -> None:
    study = make([writes(0)])
    with study.changing(), pytest.raises(UsageError, match="is running on"), study.changing():
        pass
    with study.changing():
        pass


def test_a_scheduler_that_cannot_be_asked_lets_nothing_be_submitted(
    make: Make, scheduler: PretendedScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make([writes(0)])
    begin(study, scheduler)

    def query(ids: object) -> dict[str, Job]:
        raise MissingError("squeue did not answer")

    monkeypatch.setattr(scheduler, "query", query)
    state = state_of(study, scheduler)
    assert (state.remark, state.exit_status) == ("squeue did not answer", 75)
    with pytest.raises(MissingError, match="did not answer"):
        resume(study, scheduler)
    assert len(scheduler.submitted) == 1


def test_a_job_that_cannot_be_written_down_is_cancelled(
    make: Make, scheduler: PretendedScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make([writes(n) for n in range(2)], allocations=2)

    def full(path: Path, line: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hindmost.jobs.folder.append_line", full)
        with pytest.raises(OSError, match="No space left"):
            begin(study, scheduler)
    assert scheduler.cancelled == ["job-1"]
    assert len(resume(study, scheduler).submitted) == 2


def test_jobs_that_ended_are_not_cancelled(make: Make, scheduler: PretendedScheduler) -> None:
    study = make([writes(n) for n in range(3)], allocations=3)
    begin(study, scheduler)
    scheduler.set("job-2", JobState.FAILED)
    scheduler.set("job-3", JobState.STUCK)
    assert cancel(study, scheduler) == (("job-1", "job-3"), ())
    assert scheduler.cancelled == ["job-1", "job-3"]
    assert cancel(study, scheduler) == ((), ())


def test_a_job_that_does_not_end_is_named(
    make: Make, scheduler: PretendedScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make([writes(n) for n in range(2)], allocations=2)
    begin(study, scheduler)
    monkeypatch.setattr(scheduler, "cancel", lambda ids: scheduler.set("job-1", JobState.CANCELLED))
    cancelled, left = cancel(study, scheduler, ending_s=0.0)
    assert cancelled == ("job-1",)
    assert [job.id for job in left] == ["job-2"]


def test_a_study_is_submitted_once_and_kept_to_the_byte(tmp_path: Path) -> None:
    plan = plan_of([writes(0)])
    study = StudyFolder.create(tmp_path / "s", plan, STUDY)
    assert study.study_file.read_bytes() == STUDY
    assert StudyFolder.open(tmp_path / "s").plan == plan
    study.add_job("a0", "job-1", "local")
    with pytest.raises(UsageError, match="hindmost study submit"):
        StudyFolder.create(tmp_path / "s", plan, STUDY)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(UsageError, match=r"letter\.txt"):
        StudyFolder.create(tmp_path / "other", plan, STUDY)
    with pytest.raises(UsageError, match="no plan"):
        StudyFolder.open(tmp_path / "other")
    with pytest.raises(UsageError, match="it has: a0"):
        study.find_allocation("a9")
