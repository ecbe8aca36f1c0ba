"""hindmost: where parallel iterations lose time, on every rank and in every iteration.

>>> import hindmost
>>> run = hindmost.open("runs/laplacian-1d-gmres-p2-0.h5")  # doctest: +SKIP
>>> run.durations  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from hindmost.harness.own_loop import LoopRecorder
    from hindmost.harness.own_solve import KSPRecorder
    from hindmost.harness.runfile.reader import Run

__all__ = [
    "__version__",
    "listen",
    "open",
    "record",
    "record_ksp",
    "should_stop",
    "time_left_s",
]

__version__ = "1.0.0"


def open(path: str | Path) -> Run:
    """Open a run file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Run
        Verified; its arrays are read from disk when they are asked for.

    Raises
    ------
    hindmost.errors.NotARunFileError
        A foreign file.
    hindmost.errors.DamagedFileError
        Cut off or altered since it was written.
    hindmost.errors.UnknownSchemaError
        Written by a newer hindmost.
    """
    from hindmost.harness.runfile.reader import open_run

    return open_run(path)


def listen() -> None:
    """Intercept MPI calls (PMPI), so that `record` sees waiting; call it before you import mpi4py.

    Raises
    ------
    hindmost.errors.MissingError
        mpi4py is there already, or there is no ``mpicc`` to compile the recorder with.
    """
    from hindmost.harness.recorder.library import load

    load()


def record(
    path: str | Path,
    comm: Any = None,
    *,
    name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    sample: int | None = None,
    keep: float = 1.0,
    live: bool | int = False,
    apart: bool = False,
) -> LoopRecorder:
    """Record a loop of one's own into a run file.

    Parameters
    ----------
    path : str or Path
        The run file, ending in ``.h5``; must not exist.
    comm : mpi4py.MPI.Intracomm, optional
        All its ranks record, and do the same number of iterations. Without it one process does.
    name : str
        What the loop is called in the file. By default the place of this call in the source, as
        ``heat.py:12``, so that two loops of one program are not taken for repeats.
    parameters : dict of str to str, int, float or bool, optional
        What you vary from run to run, as ``{"solver": "cg", "cells": 4096}``. Runs with the same
        name and parameters are repeats of each other; without parameters, the script and its
        arguments tell runs apart.
    sample : int or bool, optional
        Sample where the ranks spend processor time, as `attach --sample` does; a number for that
        many samples a second. Needs `listen` and a communicator.
    keep : float
        Share of the ranks whose full records are kept, as 0.05: those that tell most, chosen at the
        end. Of the others the file has profiles.
    live : bool or int
        Let `hindmost watch` follow the loop while it runs; the number of iterations if you know it.
        A process beside rank 0 looks on meanwhile.
    apart : bool
        Whether what the program does between two iterations is part of none. By default it is part
        of the first of the two.

    Returns
    -------
    LoopRecorder
        A context with ``iteration()`` and ``phase(name)``. After `listen`, MPI time counts as halo,
        wait or post by what the call is; without it a warning says that MPI is not seen, and the
        file's ``spec`` says ``mpi_seen: false``.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.listen()  # doctest: +SKIP
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> with hindmost.record("mine.h5", MPI.COMM_WORLD) as recorder:  # doctest: +SKIP
    ...     for _ in range(100):
    ...         with recorder.iteration():
    ...             with recorder.phase("halo"):
    ...                 exchange()
    ...             work()
    """
    import pathlib
    import sys

    from hindmost.harness.own_loop import LoopRecorder

    caller = sys._getframe(1)
    place = f"{pathlib.Path(caller.f_code.co_filename).name}:{caller.f_lineno}"
    given = (pathlib.Path(path), comm, name, parameters, sample, keep, live)
    return LoopRecorder(*given, apart=apart, place=place)


def record_ksp(
    ksp: Any,
    path: str | Path,
    *,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
    activities: bool = False,
    sample: int | None = None,
    keep: float = 1.0,
    live: bool | int = False,
) -> KSPRecorder:
    """Record the next solve of a KSP of your own petsc4py program into a run file.

    Parameters
    ----------
    ksp : petsc4py.PETSc.KSP
        Configured, with its operators; it is set up here, so that its set-up is no part of the
        solve. Its type may be any: where the pattern of its records is not known, an iteration
        lasts from one call of its monitors to the next, and the file says so.
    path : str or Path
        The run file, ending in ``.h5``; must not exist.
    name : str
        What the linear system is called: the workload. By default the KSP's options prefix.
    parameters : dict of str to str, int, float or bool, optional
        What you vary from run to run, as for `record`.
    activities : bool
        Split the local work of every iteration by PETSc event.
    sample : int or bool, optional
        As for `record`.
    keep, live
        As for `record`.

    Returns
    -------
    KSPRecorder
        A context for all ranks of the KSP's communicator. It records the first solve of this KSP
        inside it, and writes the file at its end; further solves inside are counted and not
        recorded. Phases are seen if you call `listen` before petsc4py is imported; otherwise that
        is said, and all time is unclassified.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.listen()  # doctest: +SKIP
    >>> from petsc4py import PETSc  # doctest: +SKIP
    >>> with hindmost.record_ksp(ksp, "mine.h5"):  # doctest: +SKIP
    ...     ksp.solve(b, x)
    """
    import pathlib

    from hindmost.harness.own_solve import KSPRecorder

    file = pathlib.Path(path)
    return KSPRecorder(ksp, file, name, parameters, sample, keep, live, activities=activities)


def should_stop() -> bool:
    """Tell whether ``hindmost attach --stop-before`` wants the program to stop now.

    Collective over MPI_COMM_WORLD: all ranks get the same answer. False without a limit.
    """
    from hindmost.harness.attach.asking import should_stop

    return should_stop()


def time_left_s() -> float:
    """Return the seconds until the program must have ended; infinite without a limit.

    Collective over MPI_COMM_WORLD, as `should_stop`.
    """
    from hindmost.harness.attach.asking import time_left_s

    return time_left_s()
