"""hindmost: where parallel iterations lose time, on every rank and in every iteration.

>>> import hindmost
>>> run = hindmost.open("runs/laplacian-1d-gmres-p2-0.h5")  # doctest: +SKIP
>>> run.durations  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from hindmost.harness.recorder.loop import LoopRecorder
    from hindmost.harness.runfile.reader import Run

__all__ = ["__version__", "listen", "open", "record"]

__version__ = "0.1.0"


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
    """Stand between this process and MPI, so that `record` sees waiting; before mpi4py is imported.

    Raises
    ------
    hindmost.errors.MissingError
        mpi4py is there already, or there is no ``mpicc`` to compile the recorder with.
    """
    from hindmost.harness.recorder.library import load

    load()


def record(path: str | Path, comm: Any = None, *, name: str = "loop") -> LoopRecorder:
    """Record a loop of one's own into a run file.

    Parameters
    ----------
    path : str or Path
        The run file, ending in ``.h5``; must not exist.
    comm : mpi4py.MPI.Intracomm, optional
        All its ranks record, and do the same number of iterations. Without it one process does.
    name : str
        What the loop is called in the file.

    Returns
    -------
    LoopRecorder
        A context with ``iteration()`` and ``phase(name)``. Waiting in MPI is seen after `listen`;
        otherwise that is said, and the file's ``spec`` says ``mpi_seen: false``.

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

    from hindmost.harness.recorder.loop import LoopRecorder

    return LoopRecorder(pathlib.Path(path), comm, name)
