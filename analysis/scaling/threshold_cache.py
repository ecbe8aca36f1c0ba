"""Simulated thresholds that are kept from one process to the next, by the points of a series.

They lie in the user's cache folder (`hindmost.files.cache_folder`), a file a set of points. They
count as long as the source of the models and numpy are the same, and if this user's hindmost wrote
them (`hindmost.seal`); a file that cannot be read or written is done without.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hindmost.models.pmnf
from hindmost.files import cache_folder, read_regular, write_atomically
from hindmost.models.pmnf.evidence import FLOORS, LEAST
from hindmost.models.pmnf.segments.thresholds import SIMULATED
from hindmost.seal import sealed, unsealed

DIGITS = 24

NOT_KEPT = (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile)
"""What comes of a file that is not there or damaged."""

Thresholds = dict[tuple[bytes, float], NDArray[np.float64]]


@contextmanager
def cached_thresholds(points: NDArray[np.float64]) -> Iterator[None]:
    """Take thresholds from earlier processes, and keep what is simulated within the context.

    Parameters
    ----------
    points : float64 array, shape (point,)
    """
    there = _read(points)
    SIMULATED.update(there)
    before = set(SIMULATED)
    try:
        yield
    finally:  # an interrupted study does not begin anew
        new = {key: SIMULATED[key] for key in SIMULATED.keys() - before}
        if new:
            _write(points, {**there, **new})


def threshold_file(points: NDArray[np.float64]) -> Path:
    """Return the file of a set of points."""
    name = hashlib.sha256(points.tobytes() + source_of_thresholds().encode()).hexdigest()
    return cache_folder() / f"thresholds-{name[:DIGITS]}.npz.sealed"


@cache
def source_of_thresholds() -> str:
    """Return a checksum of the source that thresholds come from."""
    total = hashlib.sha256(np.__version__.encode())
    for folder in hindmost.models.pmnf.__path__:
        for path in sorted(Path(folder).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


def _read(points: NDArray[np.float64]) -> Thresholds:
    """Return what was kept for a set of points; nothing if the file is not what it should be."""
    found: Thresholds = {}
    try:
        path = threshold_file(points)
        data = unsealed(path.name, read_regular(path))
        if data is None:
            return {}
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            for number in range(len(file.files) // 2):
                gamma, *of = file[f"points-{number}"].tolist()
                values = np.asarray(file[f"thresholds-{number}"], np.float64)
                if values.shape != (len(of) - 2 * LEAST + 1, FLOORS.size):
                    return {}
                values.flags.writeable = False
                found[np.array(of, np.float64).tobytes(), gamma] = values
    except NOT_KEPT:
        return {}
    return found


def _write(points: NDArray[np.float64], kept: Thresholds) -> None:
    """Keep thresholds of a set of points and of stretches of it."""
    arrays = {}
    for number, ((of, gamma), values) in enumerate(kept.items()):
        arrays[f"points-{number}"] = np.array([gamma, *np.frombuffer(of)])
        arrays[f"thresholds-{number}"] = values
    with suppress(OSError):
        path = threshold_file(points)
        file = io.BytesIO()
        np.savez(file, **arrays)
        blob = sealed(path.name, file.getvalue())
        if blob is not None:
            write_atomically(path, blob)
