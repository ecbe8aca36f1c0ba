"""Tables of metrics per rank from other tools: CSV, CUBE, Caliper, TAU.

A CSV file has one row per rank and one column per metric, as ``rank,host,compute [s],bytes
[byte]``; ``rank`` and ``host`` (or ``node``) may be missing. The unit gives the domain of a metric.
In profiles, the exclusive time of every call path, region or function is a metric. Metrics beyond
the largest `MOST_METRICS` are combined as ``others``. Threads of a rank are added up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.format import RankColumns
from hindmost.analysis.readers.formats.tau import TAU, tau_files
from hindmost.analysis.readers.read import required_format
from hindmost.analysis.readers.registry import RANK_FORMATS
from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.vectors import RankMetrics

MOST_METRICS = 32
TIMES = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "usec": 1e-6, "ns": 1e-9}
"""Units of time, in seconds."""
BYTES = ("b", "byte", "bytes")
LARGEST = 1e30
"""Largest value of a metric, so that squares can be summed."""
WAITS = re.compile(r"wait|idle|mpi_|barrier|allreduce|recv", re.IGNORECASE)
"""Matches the names of metrics that are waiting rather than work."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """One metric of all ranks: its unit, its domain, and its values, shape (rank,)."""

    unit: str
    domain: str
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTable:
    """Metrics of ranks, with their numbers and hosts.

    Attributes
    ----------
    metrics : RankMetrics
    numbers : int64 array, shape (rank,)
    hosts : tuple of str, one per rank
        Empty if the table has none.
    """

    metrics: RankMetrics
    numbers: NDArray[np.int64]
    hosts: tuple[str, ...]

    @property
    def work_s(self) -> NDArray[np.float64] | None:
        """Own time of every rank, in seconds, or None if the table has no times."""
        own = [
            at
            for at, (name, domain) in enumerate(
                zip(self.metrics.names, self.metrics.domains, strict=True)
            )
            if domain == "time" and not WAITS.search(name)
        ]
        return self.metrics.values[:, own].sum(axis=1) if own else None


def read_table(path: Path) -> RankTable:
    """Read a table of any known format.

    Raises
    ------
    UsageError
        The path does not exist, or is a folder without profiles of TAU.
    DataError
        It is not a table of metrics per rank.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist.")
    if path.is_dir() and not tau_files(path):
        raise UsageError(
            f"{path} contains neither run files (*.h5) nor profiles of TAU "
            "(profile.RANK.0.THREAD); name a file."
        )
    format = TAU if path.is_dir() else required_format(path, RANK_FORMATS)
    return _in_units(path, format.read(path))


def _in_units(path: Path, columns: RankColumns) -> RankTable:
    """Convert times to seconds, say the domain of every metric, and pool the small ones."""
    numbers = columns.ranks
    made: dict[str, MetricColumn] = {}
    for name, values in columns.values.items():
        unit = columns.units[name]
        known = unit.lower()
        refuse_impossible(f"{path}: '{name}'", values, numbers, time=known in TIMES)
        if known in TIMES:
            made[name] = MetricColumn("s", "time", values * TIMES[known])
        elif known in BYTES or (not unit and "bytes" in name.lower()):
            made[name] = MetricColumn("byte", "bytes", values)
        else:
            made[name] = MetricColumn(unit or "1", unit or "count", values)
    if len(made) > MOST_METRICS:
        made = pooled(made)
    order = np.argsort(numbers, kind="stable")
    return RankTable(
        metrics=RankMetrics(
            values=np.stack([each.values for each in made.values()], axis=1)[order]
            if made
            else np.empty((numbers.size, 0)),
            names=tuple(made),
            units=tuple(each.unit for each in made.values()),
            domains=tuple(each.domain for each in made.values()),
        ),
        numbers=numbers[order],
        hosts=tuple(columns.hosts[at] for at in order) if columns.hosts else (),
    )


def pooled(made: dict[str, MetricColumn]) -> dict[str, MetricColumn]:
    """Combine the smallest times: work as ``others``, waiting as ``other waiting``."""
    times = sorted(
        (name for name in made if made[name].domain == "time"),
        key=lambda name: -float(made[name].values.sum()),
    )
    room = max(0, MOST_METRICS - 2 - (len(made) - len(times)))
    rest: dict[str, list[NDArray[np.float64]]] = {}
    left = dict(made)
    for name in times[room:]:
        what = "other waiting" if WAITS.search(name) else "others"
        rest.setdefault(what, []).append(left.pop(name).values)
    for what, parts in rest.items():
        while what in left:
            what = f"all {what}"
        left[what] = MetricColumn("s", "time", np.sum(parts, axis=0))
    return left


def refuse_impossible(
    what: str, values: NDArray[np.float64], numbers: NDArray[np.int64], *, time: bool
) -> None:
    """Raise a DataError for impossible values: not a number, too large, a time below zero."""
    bad = ~np.isfinite(values) | (np.abs(values) > LARGEST)
    if bad.any():
        raise DataError(
            f"{what} of rank {numbers[bad.argmax()]} is not a number, or above {LARGEST:g}; "
            "measure it on every rank, or leave it out."
        )
    if time and (values < 0.0).any():
        raise DataError(
            f"{what} of rank {numbers[values.argmin()]} is {values.min():g}; no time is negative."
        )
