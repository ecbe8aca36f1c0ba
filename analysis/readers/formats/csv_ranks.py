"""Tables of metrics per rank: CSV, also with semicolons or tabs.

A row for every rank and a column for every metric, such as ``rank,host,compute [s],bytes [byte]``;
``rank`` and ``host`` may be left out or have another usual name (``MPI Rank``, ``hostname``,
``node``), and so may units, which may stand in parentheses. Identifiers (``job_id``, ``core``) are
no metrics. A column of texts, such as ``access`` with ``read`` and ``write``, separates metrics:
each rank then has a row for each.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hindmost.analysis.readers.format import RankColumns, RankFormat
from hindmost.analysis.readers.formats.tau import LAST_RANK
from hindmost.analysis.readers.text_tables import (
    HOST,
    RANK,
    header_and_first_row,
    name_and_unit,
    read_text_table,
    role_of,
)
from hindmost.errors import DataError

SHOULD_BE = "the first line names columns, as rank,host,compute [s],messages, and ranks follow"


def _read(path: Path) -> RankColumns:
    table = read_text_table(path, SHOULD_BE)
    columns = [name_and_unit(field) for field in table.header]
    roles = [role_of(name) for name, _ in columns]
    rank_at, host_at = (roles.index(role) if role in roles else None for role in (RANK, HOST))
    used = [at for at, role in enumerate(roles) if role is None]
    # Texts, as "read" and "write": the metrics of each are their own.
    texts = [at for at in used if table.is_text(at)]
    labels = [at for at in texts if len({row[at] for _, row in table.rows}) > 1]
    used = [at for at in used if at not in texts] or used
    names = [columns[at][0] for at in used]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: a column appears twice; give each its own name.")
    hosts: dict[int, str] = {}
    values: dict[str, dict[int, float]] = {}
    units: dict[str, str] = {}
    for number, (line, fields) in enumerate(table.rows):
        try:
            rank = int(fields[rank_at]) if rank_at is not None else number
        except ValueError:
            raise DataError(
                f"{path}, line {line}: '{fields[rank_at or 0][:40]}' is not the number of a rank."
            ) from None
        hosts[rank] = fields[host_at] if host_at is not None else ""
        kind = "".join(f", {columns[at][0]} = {fields[at]}" for at in labels)
        for at in used:
            value = table.number(fields[at])
            if value is None:
                raise DataError(f"{path}, line {line}: '{fields[at][:40]}' is not a number.")
            name = columns[at][0] + kind
            units[name] = columns[at][1]
            if rank in values.setdefault(name, {}):
                raise DataError(f"{path}: a rank appears twice; every rank has one row.")
            values[name][rank] = value
    if any(not 0 <= rank < LAST_RANK for rank in hosts):
        raise DataError(f"{path}: ranks are numbered from 0 to {LAST_RANK - 1} at most.")
    for name, of_ranks in values.items():
        if missing := hosts.keys() - of_ranks.keys():
            raise DataError(f"{path}: no {name} of rank {min(missing)}; every rank needs a row.")
    return RankColumns(
        ranks=np.array(list(hosts), np.int64),
        values={
            name: np.array([of_ranks[rank] for rank in hosts]) for name, of_ranks in values.items()
        },
        units=units,
        hosts=tuple(hosts.values()) if host_at is not None else (),
    )


def _recognises(path: Path, head: bytes) -> bool:
    return header_and_first_row(head) is not None


CSV_RANKS = RankFormat(
    name="csv",
    looks_like="a table with a row for every rank, as rank,host,compute [s],messages",
    recognises=_recognises,
    read=_read,
)
