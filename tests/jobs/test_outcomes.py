"""What outcomes come to, what nodes are called, and files that are not what they should be."""

import time
from itertools import count
from pathlib import Path

import pytest

from hindmost.errors import DataError
from hindmost.harness.launch import process_age_s
from hindmost.jobs.drive.driver import end_here, job_here, nodes_here
from hindmost.jobs.outcomes import (
    Cause,
    Completion,
    RunOutcome,
    RunRecord,
    completion_of,
    read_record,
    write_outcome,
)

C = Cause


def outcome(cause: Cause, attempt: int = 1, files: tuple[str, ...] = ()) -> RunOutcome:
    return RunOutcome(
        run="r", cause=cause, status=0, attempt=attempt, seconds=1.5, allocation="a", job="7",
        nodes=("n0", "n1"), files=files, message="büro",
    )  # fmt: skip


def record(*causes: Cause) -> RunRecord:
    numbers = count(1)
    return RunRecord(outcomes=tuple(outcome(cause, next(numbers)) for cause in causes))


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ((), Completion.LEFT),
        ((C.DONE,), Completion.DONE),
        ((C.STOPPED,) * 9, Completion.LEFT),
        ((C.RUNNING,) * 9, Completion.LEFT),
        ((C.CRASHED, C.CRASHED), Completion.LEFT),
        ((C.CRASHED, C.NODE_FAILED, C.CRASHED), Completion.GIVEN_UP),
        ((C.CRASHED, C.STOPPED, C.STOPPED, C.CRASHED), Completion.LEFT),
        ((C.CRASHED, C.CRASHED, C.CRASHED, C.DONE), Completion.DONE),
        ((C.MEMORY,), Completion.GIVEN_UP),
        ((C.FAILED,), Completion.GIVEN_UP),
        ((C.RUN_LIMIT,), Completion.GIVEN_UP),
        ((C.STOPPED, C.MEMORY), Completion.GIVEN_UP),
        ((C.FORGIVEN,) * 4, Completion.LEFT),
        ((C.FORGIVEN, C.FAILED), Completion.GIVEN_UP),
    ],
)
def test_a_run_is_done_again_or_not_by_its_causes(
    causes: tuple[Cause, ...], expected: Completion
) -> None:
    assert completion_of(record(*causes), max_retries=2) is expected


def test_outcomes_are_read_as_they_were_written(tmp_path: Path) -> None:
    for attempt, cause in enumerate(Cause, 1):
        write_outcome(tmp_path, outcome(cause, attempt))
    assert [outcome.cause for outcome in read_record(tmp_path).outcomes] == list(Cause)
    assert read_record(tmp_path).outcomes[0] == outcome(C.RUNNING)
    assert read_record(tmp_path / "nowhere") == RunRecord()


def test_a_run_whose_file_is_gone_is_not_done(tmp_path: Path) -> None:
    write_outcome(tmp_path, outcome(C.DONE, files=("x.h5",)))
    assert read_record(tmp_path).done is None
    (tmp_path / "x.h5").touch()
    assert read_record(tmp_path).done == outcome(C.DONE, files=("x.h5",))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": 2}'])
def test_what_is_no_outcome_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "outcome-1.json").write_text(text)
    with pytest.raises(DataError, match=r"outcome-1\.json"):
        read_record(tmp_path)


def test_job_and_nodes_are_those_of_the_machines_scheduler(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("b\nb\na\na\n")
    environment = {
        "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[0-1]",
        "PBS_JOBID": "2.server", "PBS_NODEFILE": str(nodes), "HINDMOST_JOB_ID": "3",
    }  # fmt: skip
    jobs = [job_here(each, environment) for each in ("slurm", "pbs", "local")]
    assert jobs == ["1", "2.server", "3"]
    assert nodes_here("slurm", environment) == ("n[0-1]",)
    assert nodes_here("pbs", environment) == ("b", "a")
    assert len(nodes_here("local", environment)) == 1
    assert job_here("slurm", {}).startswith("process-")


def test_the_end_is_what_the_scheduler_says_else_the_plan_s() -> None:
    def left_s(environment: dict[str, str]) -> float:
        return end_here(1e6, environment) - time.monotonic()

    assert left_s({}) == pytest.approx(1e6 - process_age_s(), abs=5.0)
    said = {"SLURM_JOB_END_TIME": str(int(time.time()) + 100)}
    assert left_s(said) == pytest.approx(100.0, abs=5.0)
