"""MPI of one rank, within the process of the tests."""

import os
import subprocess

from mpi4py import MPI


def forget_what_mpi_said() -> None:
    """Take back what MPI wrote into the environment behind Python's back.

    Open MPI, started without a launcher, says there that this process is a rank; an mpiexec that a
    later test starts inherits it and ends at once, without a word.
    """
    told = subprocess.run(["env", "-0"], capture_output=True, check=True, text=True).stdout
    for entry in told.split("\0"):
        name = entry.partition("=")[0]
        if name and name not in os.environ:
            os.unsetenv(name)


forget_what_mpi_said()

ALONE = MPI.COMM_SELF
"""The communicator of this process."""
