"""Tables of metrics per rank: CSV, also with semicolons or tabs.

A row for every rank and a column for every metric, such as ``rank,host,compute [s],bytes [byte]``;
``rank`` and ``host`` (or ``node``) may be left out, and so may units.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hindmost.analysis.readers.format import RankColumns, RankFormat
from hindmost.analysis.readers.formats.tau import LAST_RANK
from hindmost.analysis.readers.text_tables import (
    header_and_first_row,
    names_and_units,
    read_text_table,
)
from hindmost.errors import DataError

SHOULD_BE = "the first line names columns, as rank,host,compute [s],messages, and ranks follow"


def _read(path: Path) -> RankColumns:
    table = read_text_table(path, SHOULD_BE)
    columns = names_and_units(table.header)
    place = {name.lower(): at for at, (name, _) in enumerate(columns)}
    rank_at, host_at = place.get("rank"), place.get("host", place.get("node"))
    used = [at for at in range(len(columns)) if at not in (rank_at, host_at)]
    names = [columns[at][0] for at in used]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: a column appears twice; give each its own name.")
    ranks: list[int] = []
    hosts: list[str] = []
    values: list[list[float]] = []
    for line, fields in table.rows:
        try:
            ranks.append(int(fields[rank_at]) if rank_at is not None else len(ranks))
        except ValueError:
            raise DataError(
                f"{path}, line {line}: '{fields[rank_at or 0][:40]}' is not the number of a rank."
            ) from None
        row = [table.number(fields[at]) for at in used]
        if None in row:
            bad = fields[used[row.index(None)]]
            raise DataError(f"{path}, line {line}: '{bad[:40]}' is not a number.")
        values.append([value for value in row if value is not None])
        if host_at is not None:
            hosts.append(fields[host_at])
    if any(not 0 <= rank < LAST_RANK for rank in ranks):
        raise DataError(f"{path}: ranks are numbered from 0 to {LAST_RANK - 1} at most.")
    if len(set(ranks)) < len(ranks):
        raise DataError(f"{path}: a rank appears twice; every rank has one row.")
    measured = np.array(values, np.float64).reshape(len(values), -1)
    return RankColumns(
        ranks=np.array(ranks, np.int64),
        values=dict(zip(names, measured.T, strict=True)),
        units={columns[at][0]: columns[at][1] for at in used},
        hosts=tuple(hosts),
    )


def _recognises(path: Path, head: bytes) -> bool:
    return header_and_first_row(head) is not None


CSV_RANKS = RankFormat(
    name="csv",
    looks_like="a table with a row for every rank, as rank,host,compute [s],messages",
    recognises=_recognises,
    read=_read,
)
