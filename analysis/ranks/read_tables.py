"""Tables of metrics per rank from other tools: CSV, CUBE, Caliper, TAU.

A CSV file has one row per rank and one column per metric, as ``rank,host,compute [s],bytes
[byte]``; ``rank`` and ``host`` (or ``node``) may be missing. The unit gives the domain of a metric.
In profiles, the exclusive time of every call path, region or function is a metric. Threads of one
rank are added up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.format import RankColumns
from hindmost.analysis.readers.formats.profiles import TAU, tau_files
from hindmost.analysis.readers.read import RANK_FORMATS, required_format
from hindmost.analysis.readers.text_files import IN_SECONDS
from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.vectors import RankMetrics

BYTES = ("b", "byte", "bytes")
WAITS = re.compile(r"wait|idle|\bmpi|\bcomm(unication)?\b|barrier|allreduce|recv", re.IGNORECASE)
"""Matches the names of metrics that are waiting rather than work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTable:
    """Metrics of ranks, with their numbers and hosts.

    Attributes
    ----------
    metrics : RankMetrics
    numbers : int64 array, shape (rank,)
    hosts : tuple of str, one per rank
        Empty if the table has none.
    inclusive : bool
        Whether times contain one another.
    remarks : tuple of str
        What was left out.
    """

    metrics: RankMetrics
    numbers: NDArray[np.int64]
    hosts: tuple[str, ...]
    inclusive: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def work_s(self) -> NDArray[np.float64] | None:
        """Own time of every rank, in seconds, or None if no times say it."""
        if self.inclusive:
            return None
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
    """Convert times to seconds, and say the domain of every metric."""
    numbers = columns.ranks
    order = np.argsort(numbers, kind="stable")
    names, units, domains, values, remarks = [], [], [], [], []
    for name, each in columns.values.items():
        unit = columns.units[name]
        known = unit.lower()
        if known in IN_SECONDS and (each < 0.0).any() and len(columns.values) > 1:
            remarks.append(
                f"{name} is left out: {each.min():g} {unit} of rank {numbers[each.argmin()]}, and "
                "no time is negative."
            )
            continue
        names.append(name)
        refuse_impossible(f"{path}: '{name}'", each, numbers, time=known in IN_SECONDS)
        is_bytes = known in BYTES or (not unit and "bytes" in name.lower())
        values.append(each[order] * IN_SECONDS.get(known, 1.0))
        units.append("s" if known in IN_SECONDS else "byte" if is_bytes else unit or "1")
        domains.append("time" if known in IN_SECONDS else "bytes" if is_bytes else unit or "count")
    return RankTable(
        metrics=RankMetrics(
            values=np.stack(values, axis=1) if values else np.empty((numbers.size, 0)),
            names=tuple(names),
            units=tuple(units),
            domains=tuple(domains),
        ),
        numbers=numbers[order],
        hosts=tuple(columns.hosts[at] for at in order) if columns.hosts else (),
        inclusive=columns.inclusive,
        remarks=tuple(remarks),
    )


def refuse_impossible(
    what: str, values: NDArray[np.float64], numbers: NDArray[np.int64], *, time: bool
) -> None:
    """Raise a DataError for impossible values: not a number, too large, a time below zero."""
    bad = ~(np.abs(values) < 1e150)  # squares are summed
    if bad.any():
        raise DataError(
            f"{what} of rank {numbers[bad.argmax()]} is not a number, or too large; "
            "measure it on every rank, or leave it out."
        )
    if time and (values < 0.0).any():
        raise DataError(
            f"{what} of rank {numbers[values.argmin()]} is {values.min():g}; no time is negative."
        )
