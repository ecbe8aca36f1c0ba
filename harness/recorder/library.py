"""The compiled recorder in this process: loaded before MPI, its functions with their types."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import MissingError
from hindmost.harness.recorder.build import recorder_library
from hindmost.harness.recorder.state import share

RECORD = np.dtype([("begin_ns", "i8"), ("end_ns", "i8"), ("what", "i4"), ("phase", "i4")])
"""One record: an interval of MPI (``what`` < 0) or an instant that a letter names (> 0)."""


@cache
def load() -> ctypes.CDLL:
    """Load the recorder so that the MPI calls of every library loaded later go through it.

    Raises
    ------
    MissingError
        mpi4py or petsc4py is there already: their MPI calls would go past the recorder. Or the
        recorder cannot be compiled or loaded.
    """
    early = [name for name in ("mpi4py.MPI", "petsc4py.PETSc") if name in sys.modules]
    if early:
        raise MissingError(
            f"{early[0]} was imported before hindmost's recorder, so its MPI calls cannot be seen. "
            "Import hindmost first."
        )
    path = recorder_library()
    try:
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise MissingError(
            f"The recorder {path} cannot be loaded: {error}. "
            "Is MPI's library on the loader's path (LD_LIBRARY_PATH)?"
        ) from error
    library.hindmost_memory.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.hindmost_watch.argtypes = [ctypes.c_int] * 5
    library.hindmost_arm.argtypes = [ctypes.c_int]
    library.hindmost_shift_clock.argtypes = [ctypes.c_int64]
    library.hindmost_record_cost_ns.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int,
    ]
    library.hindmost_record_cost_ns.restype = ctypes.c_double
    library.hindmost_count_memory.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    share(library)
    return library


def record_cost_ns(*, interval: bool, count: int = 1_000_000) -> float:
    """Measure the mean cost of one record, in nanoseconds: of a mark, or of an interval of MPI."""
    memory: NDArray[np.void] = np.zeros(4096, RECORD)
    return float(
        load().hindmost_record_cost_ns(memory.ctypes.data, memory.size, count, int(interval))
    )
