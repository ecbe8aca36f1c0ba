"""TAU's text profiles: ``profile.RANK.CONTEXT.THREAD``, one a thread.

The first line says how many functions follow and which metric was measured; a function's line has
its name in quotes, calls, subroutines, exclusive and inclusive value. Times are in microseconds.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.lines import read_text
from hindmost.errors import DataError

NAME = re.compile(r"^profile\.(\d+)\.\d+\.\d+$")
HEAD = re.compile(r"^(\d+)\s+templated_functions(?:_MULTI_(\S+))?")
FUNCTION = re.compile(r'^"(.*)"\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s')

Columns = dict[str, tuple[str, NDArray[np.float64]]]


def tau_files(path: Path) -> list[Path]:
    """Return the profiles of a folder, or of the folder of one that is named; may be none."""
    if path.is_file():
        return [path] if NAME.match(path.name) else []
    return [each for each in path.glob("profile.*.*.*") if NAME.match(each.name)]


def read_tau(path: Path) -> tuple[NDArray[np.int64], Columns]:
    """Return ranks, and the exclusive value of every function: unit and array, shape (rank,).

    Raises
    ------
    DataError
        A file is not what TAU writes, or files measure different metrics.
    """
    files = tau_files(path.parent if path.is_file() else path)
    found: dict[int, dict[str, float]] = {}
    units: set[str] = set()
    for file in files:
        rank = int(NAME.match(file.name)[1])  # type: ignore[index]  # the name was matched before
        unit, values = read_profile(file)
        units.add(unit)
        into = found.setdefault(rank, {})
        for name, value in values.items():
            into[name] = into.get(name, 0.0) + value
    if len(units) > 1:
        raise DataError(f"{path}: the profiles measure {', '.join(sorted(units))}; one is wanted.")
    numbers = sorted(found)
    names = list(dict.fromkeys(name for rank in numbers for name in found[rank]))
    unit = units.pop()
    return np.array(numbers, np.int64), {
        name: (unit, np.array([found[rank].get(name, 0.0) for rank in numbers])) for name in names
    }


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
        if " => " not in function[1]:  # call paths repeat what the functions have
            values[function[1].strip()] = values.get(function[1].strip(), 0.0) + value
    if len(lines) < 2 + int(head[1]):
        raise DataError(f"{file} ends before its {head[1]} functions do; copy it again.")
    return ("us" if head[2] is None or "TIME" in head[2] else head[2]), values
