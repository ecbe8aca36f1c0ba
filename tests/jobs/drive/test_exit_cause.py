"""Why a run ended, by who ended it, its status and its last words."""

import pytest

from hindmost.jobs.drive.process import ProcessEnd, cause_of
from hindmost.jobs.outcomes import Cause


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
    assert cause_of(ended, said=said) is expected


@pytest.mark.parametrize(
    ("status", "by", "expected"),
    [
        (-9, None, Cause.CRASHED),
        (0, None, Cause.DONE),
        (2, None, Cause.FAILED),
        (3, None, Cause.FAILED),
        (4, None, Cause.FAILED),
        (1, None, Cause.CRASHED),
        (-9, Cause.RUN_LIMIT, Cause.RUN_LIMIT),
        (0, Cause.RUN_LIMIT, Cause.RUN_LIMIT),
        (-9, Cause.STOPPED, Cause.STOPPED),
        (-15, Cause.STOPPED, Cause.STOPPED),
        # Nobody told the driver, and it told nobody.
        (-15, None, Cause.CRASHED),
        (143, None, Cause.CRASHED),
        (130, None, Cause.CRASHED),
        (-2, None, Cause.CRASHED),
        (75, None, Cause.STOPPED),
        (-11, None, Cause.CRASHED),
    ],
)
def test_who_ended_a_run_comes_before_its_status(
    status: int, by: Cause | None, expected: Cause
) -> None:
    ended = ProcessEnd(status=status, by=by, seconds=1.0)
    assert cause_of(ended, said="") is expected


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
    assert cause_of(ended, said=SRUN.format(first=first)) is expected
