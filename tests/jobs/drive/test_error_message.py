"""Which line of a run's words says why it ended; the words are those of real runs."""

from pathlib import Path

import pytest

from hindmost.jobs.drive.process import error_message, lines_of
from hindmost.jobs.outcomes import Cause

DASHES = "-" * 74
MPIEXEC_ENDS = f"""\
{DASHES}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
{DASHES}
{DASHES}
mpiexec detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[30397,1],0]
  Exit code:    {{status}}
{DASHES}
"""
NO_PMI = f"""\
[n0:06694] OPAL ERROR: Unreachable in file ext3x_client.c at line 112
{DASHES}
The application appears to have been direct launched using "srun",
but OMPI was not built with SLURM's PMI support and therefore cannot
execute. There are several options for building PMI support under
SLURM, depending upon the SLURM version you are using:

Please configure as appropriate and try again.
{DASHES}
*** An error occurred in MPI_Init
*** on a NULL communicator
*** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
***    and potentially your MPI job)
[n0:06694] Local abort before MPI_INIT completed completed successfully, but am not able to \
aggregate error messages, and not able to guarantee that all other processes were killed!
srun: error: n0: tasks 0-1: Exited with exit code 1
srun: launch/slurm: _step_signal: Terminating StepId=1.0
"""
SEGMENTATION = f"""\
hindmost: gmres: warming up
hindmost: run 1 of 1: gmres
[0]PETSC ERROR: {DASHES}
[0]PETSC ERROR: Caught signal number 11 SEGV: Segmentation Violation, probably memory access
[0]PETSC ERROR: Try option -start_in_debugger or -on_error_attach_debugger
[0]PETSC ERROR: --------------------- Error Message --------------------------
{DASHES}
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
with errorcode 59.
{DASHES}
"""
HYDRA = """\
step 1

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   EXIT CODE: 11
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
SRUN = """\
hindmost: run 1 of 1: gmres
srun: error: n0: task 0: Segmentation fault
srun: launch/slurm: _step_signal: Terminating StepId=2.0
slurmstepd-n0: error: *** STEP 2.0 ON n0 CANCELLED AT 2026-11-21T23:58:45 ***
srun: error: n0: task 1: Terminated
srun: Force Terminated StepId=2.0
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "mine.py", line 3, in <module>
    raise_an_error()
ValueError: 7 is odd
"""
TABLE = f"{DASHES}\n1 2 3\n{DASHES}\nno slots left\n{DASHES}\n"
UNKNOWN = "hindmost: Unknown solver 'pgmress'; choose from: gmres, pgmres."


@pytest.mark.parametrize(
    ("said", "cause", "expected"),
    [
        (f"{UNKNOWN}\n" + MPIEXEC_ENDS.format(status=2), Cause.FAILED, UNKNOWN),
        (f"hindmost: warning: busy\n{UNKNOWN}\n", Cause.FAILED, UNKNOWN),
        ("no such solver\n" + MPIEXEC_ENDS.format(status=2), Cause.FAILED, "no such solver"),
        (NO_PMI, Cause.CRASHED,
         "[n0:06694] OPAL ERROR: Unreachable in file ext3x_client.c at line 112"),
        (SEGMENTATION, Cause.CRASHED,
         "[0]PETSC ERROR: Caught signal number 11 SEGV: Segmentation Violation, probably memory "
         "access"),
        (HYDRA, Cause.CRASHED,
         "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)"),
        (SRUN, Cause.CRASHED, "srun: error: n0: task 0: Segmentation fault"),
        (TRACEBACK + MPIEXEC_ENDS.format(status=1), Cause.CRASHED, "ValueError: 7 is odd"),
        (TABLE, Cause.FAILED, "no slots left"),
        ("step 1\nstep 2\n", Cause.RUN_LIMIT, "step 2"),
        ("hindmost: run 1 of 1: gmres\n", Cause.CRASHED, "hindmost: run 1 of 1: gmres"),
        ("", Cause.CRASHED, ""),
    ],
)  # fmt: skip
def test_the_last_line_says_why(tmp_path: Path, said: str, cause: Cause, expected: str) -> None:
    output = tmp_path / "output.txt"
    output.write_text(said)
    assert error_message(lines_of(output), cause).rpartition("\n")[2] == expected


def test_what_was_said_first_is_found_in_a_long_output(tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    output.write_text(f"{UNKNOWN}\n" + "=   x\n" * 100_000)
    assert error_message(lines_of(output), Cause.FAILED).endswith(f"\n{UNKNOWN}")
    assert len(error_message(lines_of(output), Cause.FAILED)) < 1000
