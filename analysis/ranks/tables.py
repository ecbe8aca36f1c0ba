"""Tables of metrics per rank, of whatever tool: CSV, CUBE, Caliper, TAU.

A CSV has a row for every rank and a column for every metric, as ``rank,host,compute [s],bytes
[byte]``; ``rank`` and ``host`` (or ``node``) may be left out. The unit says to which domain a
metric belongs. Of profiles, the exclusive time of every call path, region or function is a metric;
those beyond the largest `MOST_METRICS` are put together as ``others``. Threads of a rank are added.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.tau import read_tau, tau_files
from hindmost.analysis.readers.caliper import ranks_of_caliper
from hindmost.analysis.readers.cube import ranks_of_cube
from hindmost.analysis.readers.head import head_of
from hindmost.analysis.readers.lines import read_text
from hindmost.analysis.readers.rows import names_and_units, numbered_rows, separator_of
from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.vectors import RankMetrics

MOST_METRICS = 32
TIMES = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "usec": 1e-6, "ns": 1e-9}
"""Units of time, in seconds."""
BYTES = ("b", "byte", "bytes")
LAST_RANK = 1 << 31
LARGEST = 1e30
"""Of any metric, so that squares can be summed."""
WAITS = re.compile(r"wait|idle|mpi_|barrier|allreduce|recv", re.IGNORECASE)
"""Names of metrics that are waiting, not work."""


class Metric(NamedTuple):
    """One metric of all ranks: its unit, its domain, and its values, shape (rank,)."""

    unit: str
    domain: str
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTable:
    """Metrics of ranks, and who they are.

    Attributes
    ----------
    metrics : RankMetrics
    numbers : int64 array, shape (rank,)
    hosts : tuple of str, one a rank
        Empty where the table does not say.
    """

    metrics: RankMetrics
    numbers: NDArray[np.int64]
    hosts: tuple[str, ...]

    @property
    def work_s(self) -> NDArray[np.float64] | None:
        """Own time of every rank, in seconds, or None where the table has no times."""
        own = [
            at
            for at, (name, domain) in enumerate(
                zip(self.metrics.names, self.metrics.domains, strict=True)
            )
            if domain == "time" and not WAITS.search(name)
        ]
        return self.metrics.values[:, own].sum(axis=1) if own else None


def read_table(path: Path) -> RankTable:
    """Read a table of whatever format.

    Raises
    ------
    UsageError
        No such file.
    DataError
        It is no table of metrics per rank.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist.")
    if tau_files(path):
        return _of_columns(path, *read_tau(path))
    if path.is_dir():
        raise UsageError(
            f"{path} holds neither run files (*.h5) nor TAU's profile.RANK.0.THREAD; name a file."
        )
    head = head_of(path)
    if head.lstrip().startswith(b"__rec="):
        return _of_columns(path, *ranks_of_caliper(path))
    if path.suffix == ".cubex" or head[257:262] == b"ustar":
        return _of_columns(path, *ranks_of_cube(path))
    return read_csv(path)


def read_csv(path: Path) -> RankTable:
    """Read a table with a row for every rank."""
    text = read_text(path)
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    separator = separator_of(next(lines, ""))
    if separator is None:
        raise DataError(
            f"{path} is neither a run file nor a table: its first line should name columns, as "
            "rank,host,compute [s],messages."
        )
    rows = numbered_rows(text, separator, path)
    _, header = next(rows)
    columns = names_and_units(header)
    places = {name.lower(): at for at, (name, _) in enumerate(columns)}
    rank_at = places.get("rank")
    host_at = places.get("host", places.get("node"))
    used = [at for at in range(len(columns)) if at not in (rank_at, host_at)]
    numbers: list[int] = []
    hosts: list[str] = []
    values: list[list[float]] = []
    for line, fields in rows:
        if len(fields) != len(columns):
            raise DataError(
                f"{path}, line {line}: {len(fields)} fields under {len(columns)} columns."
            )
        try:
            numbers.append(int(fields[rank_at]) if rank_at is not None else len(numbers))
            values.append([float(fields[at]) for at in used])
        except ValueError as error:
            raise DataError(f"{path}, line {line}: {error}; numbers are wanted.") from None
        if host_at is not None:
            hosts.append(fields[host_at])
    if any(not 0 <= number < LAST_RANK for number in numbers):
        raise DataError(f"{path}: ranks are numbered from 0 to {LAST_RANK - 1} at most.")
    if len(set(numbers)) < len(numbers) or not numbers:
        raise DataError(f"{path}: every rank should have one row, and at least one rank be there.")
    table = np.array(values, np.float64).reshape(len(values), -1)
    named = {columns[at][0]: (columns[at][1], table[:, place]) for place, at in enumerate(used)}
    if len(named) < len(used):
        raise DataError(f"{path}: a column comes twice; give each a name of its own.")
    return _of_columns(path, np.array(numbers, np.int64), named, tuple(hosts))


def _of_columns(
    path: Path,
    numbers: NDArray[np.int64],
    columns: dict[str, tuple[str, NDArray[np.float64]]],
    hosts: tuple[str, ...] = (),
) -> RankTable:
    """Put columns of a unit each together, the small ones as one."""
    made: dict[str, Metric] = {}
    for name, (unit, values) in columns.items():
        known = unit.lower()
        refuse_impossible(f"{path}: '{name}'", values, numbers, time=known in TIMES)
        if known in TIMES:
            made[name] = Metric("s", "time", values * TIMES[known])
        elif known in BYTES or (not unit and "bytes" in name.lower()):
            made[name] = Metric("byte", "bytes", values)
        else:
            made[name] = Metric(unit or "1", unit or "count", values)
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
        hosts=tuple(hosts[at] for at in order) if hosts else (),
    )


def pooled(made: dict[str, Metric]) -> dict[str, Metric]:
    """Put the smallest times together, work as ``others`` and waiting as ``other waiting``."""
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
        left[what] = Metric("s", "time", np.sum(parts, axis=0))
    return left


def refuse_impossible(
    what: str, values: NDArray[np.float64], numbers: NDArray[np.int64], *, time: bool
) -> None:
    """Raise a DataError of what no metric can be: not a number, too large, a time below zero."""
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
