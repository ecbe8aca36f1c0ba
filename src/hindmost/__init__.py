"""hindmost: where parallel iterations lose time, on every rank and in every iteration.

>>> import hindmost
>>> run = hindmost.open("runs/laplacian-1d-gmres-p2-0.h5")  # doctest: +SKIP
>>> run.durations  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from hindmost.harness.runfile.reader import Run

__all__ = ["__version__", "open"]

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
