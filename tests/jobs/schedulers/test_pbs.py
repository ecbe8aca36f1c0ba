"""PBS through commands that answer as its manuals say, or as an OpenPBS 23.06 did."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.scripts import CIRRUS, script

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.schedulers import pbs
from hindmost.jobs.schedulers.pbs import PBS, job
from hindmost.jobs.schedulers.scheduler import JobState

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


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the commands onto the path, and return the folder of their jobs."""
    folder, commands = tmp_path / "jobs", tmp_path / "bin"
    folder.mkdir()
    commands.mkdir()
    answers = Path(__file__).with_name("pbs_of_files.py")
    for name in ("qsub", "qstat", "qdel"):
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {answers} "$0" "$@"\n')
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:/usr/bin:/bin")
    monkeypatch.setenv("PBS_OF_FILES", str(folder))
    return folder


def becomes(jobs: Path, id: str, **told: Any) -> None:
    file = jobs / f"{id}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | told))


def test_from_queue_to_end(jobs: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(PBS.render(script(CIRRUS)))
    ids = [PBS.submit(path) for _ in range(4)]
    assert ids[0] == "100.pbs-1"
    becomes(jobs, ids[0], job_state="R", substate=42, exec_host="n0/0*36")
    becomes(jobs, ids[1], job_state="F", substate=92, Exit_status=75)
    asked = [*ids, "999.pbs-1"]
    states = [each.state.name for each in PBS.look(asked).values()]
    assert states == ["RUNNING", "LEFT", "PENDING", "PENDING", "UNKNOWN"]
    PBS.cancel([ids[0], ids[1], ids[2], "999.pbs-1"])
    states = [each.state.name for each in PBS.look(asked).values()]
    assert states == ["CANCELLED", "LEFT", "CANCELLED", "PENDING", "UNKNOWN"]
    assert PBS.look(["998.pbs-1", "999.pbs-1"])["999.pbs-1"].state is JobState.UNKNOWN


def test_a_site_without_history(jobs: Path, tmp_path: Path) -> None:
    (jobs / "no-history").touch()
    path = tmp_path / "a.sh"
    path.write_text(PBS.render(script(CIRRUS)))
    ids = [PBS.submit(path) for _ in range(2)]
    becomes(jobs, ids[0], job_state="F", Exit_status=0)
    found = PBS.look(ids)
    # What ended is forgotten: it is no success, the study's own files must tell.
    assert [each.state for each in found.values()] == [JobState.UNKNOWN, JobState.PENDING]


def test_refusals(jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sh"
    path.write_text("#!/bin/sh\n#PBS -q closed\n")
    with pytest.raises(UsageError, match=r"qsub refused .*Queue is not enabled"):
        PBS.submit(path)
    qstat = tmp_path / "bin" / "qstat"
    qstat.write_text(
        "#!/bin/sh\necho 'Connection refused' >&2\necho 'qstat: cannot connect' >&2\nexit 255\n"
    )
    with pytest.raises(MissingError, match="Connection refused"):
        PBS.look(["1.pbs-1"])
    # As of versions that do not escape what they quote.
    qstat.write_text(
        '#!/bin/sh\necho \'{"Jobs": {"1.pbs-1": {"job_state": "R", "comment": "a"b"}}\'\n'
    )
    with pytest.raises(MissingError, match="cannot be read: "):
        PBS.look(["1.pbs-1"])
    qstat.write_text('#!/bin/sh\necho \'{"Jobs": {"2.pbs-1": {"job_state": "R"}}}\'\n')
    with pytest.raises(MissingError, match="does not name that job"):
        PBS.look(["1.pbs-1"])
    qdel = tmp_path / "bin" / "qdel"
    qdel.write_text("#!/bin/sh\necho 'qdel: Unauthorized Request 1.pbs-1' >&2\nexit 159\n")
    with pytest.raises(MissingError, match="Unauthorized Request"):
        PBS.cancel(["1.pbs-1"])


def test_the_id_of_a_server_with_a_longer_name(jobs: Path, tmp_path: Path) -> None:
    qstat = tmp_path / "bin" / "qstat"
    answer = {"Jobs": {"7.pbs-1.cluster.example": {"job_state": "R", "comment": "tab\there"}}}
    raw = json.dumps(answer).replace("\\t", "\t")  # control characters as they are
    qstat.write_text(f"#!/bin/sh\ncat <<'END'\n{raw}\nEND\n")
    assert PBS.look(["7.pbs-1"])["7.pbs-1"].state is JobState.RUNNING


def test_what_is_left_of_a_job(jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sh"
    path.write_text(PBS.render(script(CIRRUS)))
    id = PBS.submit(path)
    assert PBS.left_s(id) is None  # a job that waits has no end
    monkeypatch.setattr(pbs, "process_age_s", lambda: 10.0)
    becomes(jobs, id, job_state="R", Resource_List={"walltime": "00:01:00", "ncpus": 36})
    assert PBS.left_s(id) == 50.0
    becomes(jobs, id, resources_used={"walltime": "00:00:45"})
    assert PBS.left_s(id) == 15.0
    assert PBS.left_s("999.pbs-1") is None
    assert PBS.left_s("process-7") is None
    (tmp_path / "bin" / "qstat").write_text("#!/bin/sh\nexit 255\n")
    assert PBS.left_s(id) is None
