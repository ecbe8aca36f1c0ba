"""TAU's text profiles: ``profile.RANK.CONTEXT.THREAD``, one per thread.

The first line says how many functions follow and which metric was measured; a function's line has
its name in quotes, calls, subroutines, exclusive and inclusive value. Times are in microseconds.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from hindmost.analysis.readers.format import RankColumns, RankFormat
from hindmost.analysis.readers.text_files import read_text
from hindmost.errors import DataError

NAME = re.compile(r"^profile\.(\d+)\.\d+\.\d+$")
HEAD = re.compile(r"^(\d{1,9})\s+templated_functions(?:_MULTI_(\S+))?")
FUNCTION = re.compile(r'^"(.*)"\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s')

LAST_RANK = 1 << 31


def tau_files(path: Path) -> list[Path]:
    """Return the profiles of a folder, or of the folder of one that is named; may be none."""
    if path.is_file():
        return [path] if NAME.match(path.name) else []
    return [each for each in path.glob("profile.*.*.*") if NAME.match(each.name)]


def read_tau(path: Path) -> RankColumns:
    """Return the exclusive value of every function, on every rank with a profile in the folder.

    Raises
    ------
    DataError
        A file is not from TAU, or files contain different metrics.
    """
    found: dict[int, dict[str, float]] = {}
    units: set[str] = set()
    for file in tau_files(path if path.is_dir() else path.parent):
        unit, values = read_profile(file)
        units.add(unit)
        into = found.setdefault(rank_of(file), {})
        for name, value in values.items():
            into[name] = into.get(name, 0.0) + value
    if len(units) > 1:
        raise DataError(
            f"{path}: the profiles measure {', '.join(sorted(units))}; keep those of one metric."
        )
    ranks = sorted(found)
    names = list(dict.fromkeys(name for rank in ranks for name in found[rank]))
    return RankColumns(
        ranks=np.array(ranks, np.int64),
        values={name: np.array([found[rank].get(name, 0.0) for rank in ranks]) for name in names},
        units=dict.fromkeys(names, *units),
    )


def rank_of(file: Path) -> int:
    """Return the rank that the name of a profile has."""
    found = NAME.match(file.name)
    if found is None or len(found[1]) > len(str(LAST_RANK)) or int(found[1]) >= LAST_RANK:
        raise DataError(f"{file}: ranks are numbered from 0 to {LAST_RANK - 1} at most.")
    return int(found[1])


def read_profile(file: Path) -> tuple[str, dict[str, float]]:
    """Return the unit of one file, and the exclusive value of every function."""
    lines = read_text(file).splitlines()
    head = HEAD.match(lines[0]) if lines else None
    if head is None:
        raise DataError(
            f"{file} is not a profile of TAU: its first line should be like "
            "'5 templated_functions_MULTI_TIME'."
        )
    values: dict[str, float] = {}
    for number, line in enumerate(lines[2 : 2 + int(head[1])], 3):
        function = FUNCTION.match(line)
        try:
            value = float(function[4]) if function else float("nan")
        except ValueError:
            value = float("nan")
        if function is None or not np.isfinite(value):
            raise DataError(f"{file}, line {number}: not a function's line of TAU.")
        if " => " not in function[1]:  # call paths repeat the times of functions
            values[function[1].strip()] = values.get(function[1].strip(), 0.0) + value
    if len(lines) < 2 + int(head[1]):
        raise DataError(f"{file} ends before its {head[1]} functions do; copy it again.")
    return ("us" if head[2] is None or "TIME" in head[2] else head[2]), values


def _recognises(path: Path, head: bytes) -> bool:
    return NAME.match(path.name) is not None


TAU = RankFormat(
    name="tau",
    looks_like="a folder with profile.RANK.0.THREAD (TAU)",
    recognises=_recognises,
    read=read_tau,
)
