"""When the job around a process ends: what its environment, Slurm and PBS say."""

import json
import time
from pathlib import Path

import pytest
from tests.jobs.schedulers import answers

from hindmost.harness import batch_job
from hindmost.harness.batch_job import Answer, job_left_s, pbs_left_s

IN_SLURM, IN_PBS = {"SLURM_JOB_ID": "7"}, {"PBS_JOBID": "1.pbs-1"}
ASKED = "qstat -f -F json 1.pbs-1"


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("answer", "expected"),
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
def test_what_squeue_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, expected: float | None
) -> None:
    put_on_path(tmp_path, monkeypatch, "squeue", f'test "$2" = --jobs=7 && echo "{answer}"')
    assert job_left_s(IN_SLURM) == expected
    assert job_left_s({"SLURM_JOB_ID": "8"}) is None


def test_a_limit_that_was_changed_is_what_squeue_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, monkeypatch, "squeue", "echo 10:00")
    environment = {**IN_SLURM, "SLURM_JOB_END_TIME": str(int(time.time()) + 100)}
    assert job_left_s(environment) == pytest.approx(100.0, abs=5.0)
    assert job_left_s(environment, anew=True) == 600.0


def test_nobody_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for environment in ({}, IN_SLURM, IN_PBS, {"HINDMOST_JOB_ID": "3"}):
        assert job_left_s(environment) is None


def test_what_a_real_squeue_said(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = answers.read("slurm-22.05.txt")["one runs, one waits, one never was"]
    answers.replay(monkeypatch, batch_job, seen)
    assert 590.0 <= (job_left_s({"SLURM_JOB_ID": "1"}) or 0.0) <= 600.0


def test_what_a_real_qstat_said(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = answers.read("openpbs-23.06.txt")["one runs, one waits, one never was"]
    answers.replay(monkeypatch, batch_job, seen)
    began_s = time.mktime((2026, 11, 26, 15, 5, 47, 0, 0, -1))
    monkeypatch.setattr("hindmost.harness.batch_job.time.time", lambda: began_s + 30.0)
    monkeypatch.setattr(batch_job, "process_age_s", lambda: 10.0)
    assert pbs_left_s("0.n0") == 570.0  # of 10 minutes


def test_what_is_left_of_a_job_of_pbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_job, "process_age_s", lambda: 10.0)
    limit = {"Resource_List": {"walltime": "00:01:00"}}
    for facts, left_s in (
        ({}, None),
        (limit, 50.0),
        ({**limit, "resources_used": {"walltime": "00:00:45"}}, 15.0),
        ({**limit, "stime": "some day"}, 50.0),
    ):
        answer = {"Jobs": {"1.pbs-1": {"job_state": "R", **facts}}}
        text = json.dumps(answer)
        answers.replay(monkeypatch, batch_job, [(ASKED, Answer(status=0, out=text, err=""))])
        assert job_left_s(IN_PBS) == left_s
    for text in ("", "qstat: cannot connect", "[]"):
        answers.replay(monkeypatch, batch_job, [(ASKED, Answer(status=255, out=text, err=""))])
        assert job_left_s(IN_PBS) is None
