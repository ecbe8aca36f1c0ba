"""The one place where MPI and PETSc are started: after the recorder, which must see their calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.errors import MissingError, UsageError
from hindmost.harness.mpi import one_thread_a_rank
from hindmost.harness.rank_failures import end_together
from hindmost.harness.recorder.library import load
from hindmost.harness.stack import current_stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """MPI and PETSc, started.

    Attributes
    ----------
    PETSc : module
        ``petsc4py.PETSc``.
    communicator : MPI.Intracomm
        All ranks; hindmost's own, so that its traffic never meets PETSc's.
    """

    PETSc: Any
    communicator: Any


def is_complex(PETSc: Any) -> bool:
    """Tell whether PETSc was configured with complex numbers."""
    return np.dtype(PETSc.ScalarType).kind == "c"


def scalar_spec(PETSc: Any) -> dict[str, str]:
    """Return what a run file says of PETSc's numbers: nothing where they are real.

    So runs of a complex PETSc are no repeats of those of a real one.
    """
    return {"scalar": "complex"} if is_complex(PETSc) else {}


def nonzeros_of(matrix: Any, PETSc: Any) -> dict[str, int]:
    """Return what a run file says of the entries of a matrix; collective.

    Nothing where the matrix does not store them.
    """
    with suppress(PETSc.Error):
        return {"nonzeros": int(matrix.getInfo(PETSc.Mat.InfoType.GLOBAL_SUM)["nz_used"])}
    return {}


def start(options: Sequence[str] = ()) -> Parallel:
    """Load the recorder, MPI and PETSc, in this order.

    Parameters
    ----------
    options : sequence of str
        PETSc options as on a command line.

    Raises
    ------
    MissingError
        The recorder, mpi4py or petsc4py is missing.
    """
    one_thread_a_rank()
    load()
    stack = current_stack()
    if stack.petsc_dir:
        os.environ.setdefault("PETSC_DIR", stack.petsc_dir)
    try:
        import mpi4py

        mpi4py.rc.threads = False  # as a C program has it: no locks inside MPI
        import petsc4py
        from mpi4py import MPI

    except ImportError as error:
        raise MissingError(
            f"Running solvers needs mpi4py and petsc4py ({error}). 'make demo' sets up an "
            "environment with both; for your own environment: pip install 'hindmost[run]' with "
            "PETSC_DIR set and mpicc on PATH."
        ) from error
    try:
        # hindmost reports unused options, not PETSc at the end.
        petsc4py.init([sys.argv[0], "-options_left", "no", *options])
        from petsc4py import PETSc
    except RuntimeError as error:  # petsc4py's errors are of this class
        # Some ranks may be past this point: they can only be ended.
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else "no reason given"
        message = f"PETSc does not start with these options: {' '.join(options)} ({reason})"
        raise SystemExit(end_together(MPI.COMM_WORLD, message, UsageError.exit_status)) from None
    return Parallel(PETSc=PETSc, communicator=MPI.COMM_WORLD.Dup())
