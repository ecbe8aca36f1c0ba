"""Simulated thresholds that are kept from one process to the next, by the points of a series.

They lie in the user's cache folder (`hindmost.cache`), a file for each set of points.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hindmost.cache import keep, read_kept, source_checksum
from hindmost.models.pmnf.evidence import FLOORS, LEAST
from hindmost.models.pmnf.segments.thresholds import SIMULATED

KIND = "thresholds"
NOT_KEPT = (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile)
"""What reading a damaged file raises."""

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


def _read(points: NDArray[np.float64]) -> Thresholds:
    """Return what was kept for a set of points; nothing if the file is not what it should be."""
    found: Thresholds = {}
    data = read_kept(KIND, *made_of(points))
    if data is None:
        return found
    try:
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
    file = io.BytesIO()
    np.savez(file, **arrays)
    keep(file.getvalue(), KIND, *made_of(points))


def made_of(points: NDArray[np.float64]) -> tuple[str, str]:
    """Return everything that the thresholds of a set of points depend on."""
    return points.tobytes().hex(), source_checksum()
