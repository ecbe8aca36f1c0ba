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
WAITS = re.compile(r"wait|idle|mpi_|barrier|allreduce|recv", re.IGNORECASE)
"""Names of metrics that are waiting, not work."""


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
        return _of_columns(*read_tau(path))
    if path.is_dir():
        raise UsageError(
            f"{path} holds neither run files (*.h5) nor TAU's profile.RANK.0.THREAD; name a file."
        )
    head = head_of(path)
    if head.lstrip().startswith(b"__rec="):
        return _of_columns(*ranks_of_caliper(path))
    if path.suffix == ".cubex" or head[257:262] == b"ustar":
        return _of_columns(*ranks_of_cube(path))
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
    if len(set(numbers)) < len(numbers) or not numbers:
        raise DataError(f"{path}: every rank should have one row, and at least one rank be there.")
    table = np.array(values, np.float64).reshape(len(values), -1)
    named = {columns[at][0]: (columns[at][1], table[:, place]) for place, at in enumerate(used)}
    if len(named) < len(used):
        raise DataError(f"{path}: a column comes twice; give each a name of its own.")
    return _of_columns(np.array(numbers, np.int64), named, tuple(hosts))


def _of_columns(
    numbers: NDArray[np.int64],
    columns: dict[str, tuple[str, NDArray[np.float64]]],
    hosts: tuple[str, ...] = (),
) -> RankTable:
    """Put columns of a unit each together, the small ones as one."""
    made: dict[str, tuple[str, str, NDArray[np.float64]]] = {}
    for name, (unit, values) in columns.items():
        known = unit.lower()
        if known in TIMES:
            made[name] = ("s", "time", values * TIMES[known])
        elif known in BYTES or (not unit and "bytes" in name.lower()):
            made[name] = ("byte", "bytes", values)
        else:
            made[name] = (unit or "1", unit or "count", values)
    if len(made) > MOST_METRICS:
        times = sorted(
            (name for name in made if made[name][1] == "time"),
            key=lambda name: -float(made[name][2].sum()),
        )
        room = max(0, MOST_METRICS - 1 - (len(made) - len(times)))
        rest = [made.pop(name)[2] for name in times[room:]]
        if rest:
            made["others"] = ("s", "time", np.sum(rest, axis=0))
    order = np.argsort(numbers, kind="stable")
    return RankTable(
        metrics=RankMetrics(
            values=np.stack([values for _, _, values in made.values()], axis=1)[order]
            if made
            else np.empty((numbers.size, 0)),
            names=tuple(made),
            units=tuple(unit for unit, _, _ in made.values()),
            domains=tuple(domain for _, domain, _ in made.values()),
        ),
        numbers=numbers[order],
        hosts=tuple(hosts[at] for at in order) if hosts else (),
    )
