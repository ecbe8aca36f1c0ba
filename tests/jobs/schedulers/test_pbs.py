"""PBS's words, as its manuals have them, and as an OpenPBS 23.06 answered."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.schedulers import answers

from hindmost.errors import MissingError, UsageError
from hindmost.harness.batch_job import Answer
from hindmost.jobs.schedulers import pbs
from hindmost.jobs.schedulers.pbs import PBS, job
from hindmost.jobs.schedulers.scheduler import JobState

SCRIPT = Path("/srv/job.sh")
SEEN = answers.read("openpbs-23.06.txt")
ENDS = [each for each in SEEN if each[0].isdigit()]
REFUSED = {
    "refused: -q closed": "Queue is not enabled",
    "refused: -q nowhere": "Unknown queue",
    "refused: -q short -l walltime=05:00:00": "Job violates queue and/or server resource limits",
}
QSTAT = "qstat -x -f -F json 1.pbs-1"

# States, exit statuses and substates of the PBS Professional Reference Guide, and of job.h.
DOCUMENTED: list[tuple[dict[str, Any], JobState]] = [
    ({"job_state": "Q", "substate": 10}, JobState.PENDING),
    (
        {"job_state": "Q", "comment": "Not Running: Insufficient amount of resource"},
        JobState.PENDING,
    ),
    ({"job_state": "Q", "comment": "Can Never Run: Not enough total nodes"}, JobState.STUCK),
    ({"job_state": "H", "Hold_Types": "u"}, JobState.STUCK),
    ({"job_state": "H", "Hold_Types": "s", "depend": "afterok:1.pbs-1"}, JobState.PENDING),
    ({"job_state": "W"}, JobState.PENDING),
    ({"job_state": "R", "substate": 42, "exec_host": "n0/0*36+n1/0*36"}, JobState.RUNNING),
    ({"job_state": "E", "substate": 50}, JobState.RUNNING),
    ({"job_state": "S"}, JobState.RUNNING),
    ({"job_state": "M"}, JobState.PENDING),
    ({"job_state": "F", "substate": 92, "Exit_status": 0}, JobState.COMPLETED),
    ({"job_state": "F", "substate": 92, "Exit_status": "0"}, JobState.COMPLETED),
    ({"job_state": "F", "substate": 93, "Exit_status": 75}, JobState.LEFT),
    ({"job_state": "F", "substate": 93, "Exit_status": 7}, JobState.FAILED),
    ({"job_state": "F", "substate": 93, "Exit_status": 139}, JobState.FAILED),
    ({"job_state": "F", "substate": 93, "Exit_status": 267}, JobState.FAILED),
    ({"job_state": "F", "substate": 91, "Exit_status": 271}, JobState.CANCELLED),
    ({"job_state": "F", "substate": 91, "Exit_status": 75}, JobState.CANCELLED),
    ({"job_state": "F", "substate": 91}, JobState.CANCELLED),
    # OpenPBS 23.06: the job that this one needed had failed.
    (
        {"job_state": "F", "substate": 92, "Hold_Types": "s", "depend": "afterok:0.n0@n0"},
        JobState.DEPENDENCY,
    ),
    ({"job_state": "F", "substate": 91, "Exit_status": 0}, JobState.CANCELLED),
    ({"job_state": "F", "substate": 93, "Exit_status": -29}, JobState.TIME_LIMIT),
    (
        {
            "job_state": "F",
            "Exit_status": 271,
            "comment": "Job run at Sat Nov 21 on (n0) and exceeded resource walltime",
        },
        JobState.TIME_LIMIT,
    ),
    *(
        ({"job_state": "F", "Exit_status": 271, "comment": f"=>> PBS: job killed: {what}"}, meant)
        for what, meant in (
            ("mem 2097152kb exceeded limit 1048576kb", JobState.MEMORY),
            ("walltime 65 exceeded limit 60", JobState.TIME_LIMIT),
            ("ncpus 2.3 exceeded limit 1 (sum)", JobState.CANCELLED),
        )
    ),
    (
        {
            "job_state": "F",
            "Exit_status": 271,
            "resources_used": {"walltime": "01:00:04"},
            "Resource_List": {"walltime": "01:00:00"},
        },
        JobState.TIME_LIMIT,
    ),
    ({"job_state": "F", "Exit_status": -27}, JobState.MEMORY),
    ({"job_state": "F", "Exit_status": -26}, JobState.MEMORY),
    ({"job_state": "F", "Exit_status": -4}, JobState.NODE_FAILED),
    ({"job_state": "F", "Exit_status": -20}, JobState.NODE_FAILED),
    ({"job_state": "F", "Exit_status": -11}, JobState.PREEMPTED),
    ({"job_state": "F", "Exit_status": -10}, JobState.FAILED),
    ({"job_state": "F", "Exit_status": -99}, JobState.FAILED),
    (
        {"job_state": "F", "comment": "Job deleted as result of dependency on job 1"},
        JobState.DEPENDENCY,
    ),
    ({"job_state": "F"}, JobState.UNKNOWN),
    ({"job_state": "?"}, JobState.UNKNOWN),
    ({}, JobState.UNKNOWN),
]


@pytest.mark.parametrize(("told", "state"), DOCUMENTED, ids=str)
def test_states(told: dict[str, Any], state: JobState) -> None:
    assert job("1.pbs-1", told).state is state


def test_what_is_told_of_a_job() -> None:
    told = job("1.pbs-1", {"job_state": "R", "exec_host": "n0/0*36+n1/0*36+n0/1"})
    assert told.nodes == "n0,n1"
    told = job("1.pbs-1", {"job_state": "F", "Exit_status": -29, "comment": "a\n b"})
    assert told.reason == "state F, a b, exit -29"


def test_one_runs_one_waits_one_never_was(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = SEEN["one runs, one waits, one never was"]
    answers.replay(monkeypatch, pbs, seen)
    ids = [PBS.submit(SCRIPT), PBS.submit(SCRIPT)]
    assert ids == ["0.n0", "1.n0"]
    found = PBS.query([*ids, "999999.n0"])
    states = [each.state for each in found.values()]
    assert states == [JobState.RUNNING, JobState.PENDING, JobState.UNKNOWN]
    assert found["0.n0"].nodes == "n0,n1"


def test_an_answer_for_the_first_of_two_jobs_is_none_for_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenPBS 23.06 leaves out all but the first, with status 0."""
    seen = dict(SEEN["one runs, one waits, one never was"])
    of_both = seen["qstat -x -f -F json 0.n0 1.n0"]
    assert of_both.status == 0
    answers.replay(monkeypatch, pbs, [("qstat -x -f -F json 1.n0", of_both)])
    with pytest.raises(MissingError, match="does not name that job"):
        PBS.query(["1.n0"])


def test_cancelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job has a call of its own; unknown and ended ones are ignored."""
    made = answers.replay(monkeypatch, pbs, SEEN["both are cancelled"])
    PBS.cancel(["999999.n0", "0.n0", "1.n0"])
    assert {each.state for each in PBS.query(["0.n0", "1.n0"]).values()} == {JobState.CANCELLED}
    PBS.cancel(["0.n0"])
    assert made[:3] == ["qdel 999999.n0", "qdel 0.n0", "qdel 1.n0"]


@pytest.mark.parametrize("what", ENDS)
def test_what_became_of_jobs(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    id, _, state = what.partition(" is ")
    answers.replay(monkeypatch, pbs, SEEN[what])
    assert PBS.query([id])[id].state == state


def test_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    answers.replay(monkeypatch, pbs, SEEN["no history: one runs, one has ended"])
    found = PBS.query(["14.n0", "15.n0"])
    # What ended is forgotten: it is no success, the study's own files must tell.
    assert [each.state for each in found.values()] == [JobState.RUNNING, JobState.UNKNOWN]
    PBS.cancel(["15.n0"])


def test_the_server_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a state is not known, nothing is cancelled, and a script is not to blame."""
    answers.replay(monkeypatch, pbs, SEEN["the server is down"])
    with pytest.raises(MissingError, match="qstat: cannot connect to server n0"):
        PBS.query(["0.n0"])
    with pytest.raises(MissingError, match="Couldn't connect to cluster: n0"):
        PBS.cancel(["0.n0"])
    with pytest.raises(MissingError, match=r"qsub: cannot connect .* look at its queue later"):
        PBS.submit(SCRIPT)


@pytest.mark.parametrize(("what", "complaint"), REFUSED.items())
def test_refused(monkeypatch: pytest.MonkeyPatch, what: str, complaint: str) -> None:
    answers.replay(monkeypatch, pbs, SEEN[what])
    with pytest.raises(UsageError, match=f"qsub refused {SCRIPT}: qsub: {complaint}"):
        PBS.submit(SCRIPT)


def says(
    patch: pytest.MonkeyPatch, call: str, out: str = "", err: str = "", status: int = 0
) -> None:
    """Let a call have an answer of which there is no record."""
    answers.replay(patch, pbs, [(call, Answer(status=status, out=out, err=err))])


def test_odd_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    # As of versions that do not escape what they quote.
    says(monkeypatch, QSTAT, '{"Jobs": {"1.pbs-1": {"job_state": "R", "comment": "a"b"}}')
    with pytest.raises(MissingError, match="cannot be read: "):
        PBS.query(["1.pbs-1"])
    says(monkeypatch, "qdel 1.pbs-1", err="qdel: Unauthorized Request 1.pbs-1\n", status=159)
    with pytest.raises(MissingError, match="Unauthorized Request"):
        PBS.cancel(["1.pbs-1"])
    # A server with a longer name than qsub's answer has, and a comment as it is.
    answer = {"Jobs": {"1.pbs-1.cluster.example": {"job_state": "R", "comment": "tab\there"}}}
    says(monkeypatch, QSTAT, json.dumps(answer).replace("\\t", "\t"))
    assert PBS.query(["1.pbs-1"])["1.pbs-1"].state is JobState.RUNNING
