"""What the kernel says of memory, as the files of its two versions of groups have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindmost.jobs.drive import exit_cause
from hindmost.jobs.drive.exit_cause import cause_of, memory_kills
from hindmost.jobs.drive.process import ProcessEnd
from hindmost.jobs.outcomes import Cause


@pytest.mark.parametrize(
    ("groups", "counts", "expected"),
    [
        ("0::/slurm/job_7/step_batch\n", {"slurm/job_7/memory.events": 2}, 2),
        ("0::/user.slice\n", {"user.slice/memory.events": 1, "memory.events": 9}, 1),
        (
            "5:cpu:/\n4:memory:/slurm/uid_0/job_7/step_batch/task_0\n0::/\n",
            {
                "memory/slurm/uid_0/job_7/memory.oom_control": 0,
                "memory/slurm/uid_0/job_7/step_batch/task_0/memory.oom_control": 1,
                "memory/slurm/uid_0/job_7/step_3/memory.oom_control": 2,
                "memory/slurm/uid_0/job_8/memory.oom_control": 9,
            },
            3,
        ),
        ("4:memory:/nowhere\n", {}, 0),
        ("", {}, 0),
    ],
)
def test_kills_of_the_whole_job_are_counted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    groups: str,
    counts: dict[str, int],
    expected: int,
) -> None:
    (tmp_path / "cgroup").write_text(groups)
    for name, count in counts.items():
        file = tmp_path / "fs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"oom_kill_disable 0\nunder_oom 0\noom 5\noom_kill {count}\n")
    monkeypatch.setattr(exit_cause, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(exit_cause, "MOUNT", tmp_path / "fs")
    assert memory_kills() == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.", Cause.MEMORY),
        ("srun: error: n1: task 0: Out Of Memory", Cause.MEMORY),
        ("step 3\n[0]PETSC ERROR: Out of memory. Allocated: 0, Used by process: 8", Cause.MEMORY),
        ("[  12.345678] Out of memory: Killed process 7 (python)", Cause.MEMORY),
        ("converged, and not out of memory", Cause.CRASHED),
        ("Out of memory is not what this is", Cause.CRASHED),
        ("srun: error: Node failure on n1", Cause.NODE_FAILED),
        ("no node failure was simulated", Cause.CRASHED),
    ],
)
def test_words_count_where_a_launcher_or_a_kernel_says_them(said: str, expected: Cause) -> None:
    ended = ProcessEnd(status=1, by=None, seconds=1.0)
    assert cause_of(ended, said=said, memory_kills=0) is expected


@pytest.mark.parametrize(
    ("status", "by", "kills", "expected"),
    [
        (-9, None, 1, Cause.MEMORY),
        (137, None, 1, Cause.MEMORY),
        (-9, None, 0, Cause.CRASHED),
        (0, None, 1, Cause.DONE),
        (2, None, 1, Cause.FAILED),
        (-9, Cause.RUN_LIMIT, 0, Cause.RUN_LIMIT),
        (0, Cause.RUN_LIMIT, 0, Cause.RUN_LIMIT),
        (-9, Cause.STOPPED, 0, Cause.STOPPED),
        (-15, Cause.STOPPED, 0, Cause.STOPPED),
        # Nobody told the driver, and it told nobody.
        (-15, None, 0, Cause.CRASHED),
        (143, None, 0, Cause.CRASHED),
        (130, None, 0, Cause.CRASHED),
        (-2, None, 0, Cause.CRASHED),
        (75, None, 0, Cause.STOPPED),
        (-11, None, 0, Cause.CRASHED),
    ],
)
def test_who_ended_a_run_comes_before_its_status(
    status: int, by: Cause | None, kills: int, expected: Cause
) -> None:
    ended = ProcessEnd(status=status, by=by, seconds=1.0)
    assert cause_of(ended, said="", memory_kills=kills) is expected


SRUN = """\
srun: error: n0: {first}
srun: launch/slurm: _step_signal: Terminating StepId=3.0
slurmstepd-n0: error: *** STEP 3.0 ON n0 CANCELLED AT 2026-11-21T23:58:45 ***
srun: error: n0: task 1: Terminated
srun: Force Terminated StepId=3.0"""
"""What srun 22.05 says, before it ends with 143, where one rank fails and it ends the other."""


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("task 0: Exited with exit code 2", Cause.FAILED),
        ("tasks 0,2-3: Exited with exit code 4", Cause.FAILED),
        ("task 0: Exited with exit code 75", Cause.STOPPED),
        ("task 0: Exited with exit code 1", Cause.CRASHED),
        ("task 0: Segmentation fault", Cause.CRASHED),
        ("task 0: Out Of Memory", Cause.MEMORY),
    ],
)
def test_the_first_rank_counts_where_srun_ended_the_others(first: str, expected: Cause) -> None:
    ended = ProcessEnd(status=143, by=None, seconds=1.0)
    assert cause_of(ended, said=SRUN.format(first=first), memory_kills=0) is expected
