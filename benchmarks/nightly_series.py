"""Series of a folder of nightly results, by halves of the cases."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
from benchmarks.changepoints import Series

from hindmost.analysis.readers.read import read_history

HALVES = ("choose", "state", "both")


def read_series(folder: Path, half: str, fewest: int) -> dict[str, Series]:
    """Return the series of one half of the cases, one value a night.

    Parameters
    ----------
    folder : Path
    half : str
        Of `HALVES`.
    fewest : int
        Nights that a series has at least.
    """
    chosen = {}
    for series in read_history(folder).series:
        if half != "both" and zlib.crc32(series.name.case.encode()) % 2 != HALVES.index(half):
            continue
        days = np.floor(series.times / 86400.0)
        last = np.append(np.diff(days) > 0.0, True)  # of several runs of a night, the last
        values = np.ascontiguousarray(series.values[last])
        if values.size >= fewest:
            chosen[str(series.name)] = values
    return chosen


def some(every: dict[str, Series], most: int) -> dict[str, Series]:
    """Return at most so many series, chosen by a hash of their names."""
    names = sorted(every, key=lambda name: zlib.crc32(f"sample {name}".encode()))[:most]
    return {name: every[name] for name in names}
