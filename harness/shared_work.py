"""A command on several ranks: rank 0 performs it, and hands parts of its work to the others."""

from __future__ import annotations

from collections.abc import Callable

from hindmost.errors import MissingError
from hindmost.executors import Executor
from hindmost.harness.launch import AssignedRank, check_size


def perform_shared(perform: Callable[[Executor], int], mine: AssignedRank) -> int:
    """Perform a command on rank 0 while the other ranks do what its executor maps; collective.

    Parameters
    ----------
    perform : callable
        Returns the exit status. Called on rank 0 only.
    mine : AssignedRank

    Returns
    -------
    int
        The exit status; 0 on ranks that only did what they were handed.

    Raises
    ------
    MissingError
        mpi4py cannot be imported, or its MPI is not that of the launcher.
    """
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except (ImportError, RuntimeError) as error:
        raise MissingError(
            f"To share work over {mine.size} ranks takes mpi4py with an MPI ({error}). Start the "
            "command without mpiexec, or: pip install mpi4py mpich."
        ) from error
    check_size(MPI.COMM_WORLD.size, MPI.Get_library_version(), mine)
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            return perform(executor)
    return 0
