"""Start MPI alone, without PETSc and the recorder."""

from __future__ import annotations

import os
from typing import Any

from hindmost.errors import MissingError
from hindmost.harness.runfile.provenance import THREAD_VARIABLES


def one_thread_a_rank() -> None:
    """Keep numerical libraries from starting threads, with which ranks would compete for cores."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def start() -> Any:
    """Start MPI and return a communicator of all ranks, hindmost's own.

    Returns
    -------
    MPI.Intracomm

    Raises
    ------
    MissingError
        mpi4py cannot be imported, or finds no MPI.
    """
    one_thread_a_rank()
    try:
        import mpi4py

        mpi4py.rc.threads = False  # as a C program has it: no locks inside MPI
        from mpi4py import MPI

    except (ImportError, RuntimeError) as error:
        raise MissingError(
            f"Measuring a machine needs mpi4py with an MPI ({error}). 'make demo' sets up an "
            "environment with both; for your own environment: pip install mpi4py mpich."
        ) from error
    return MPI.COMM_WORLD.Dup()
