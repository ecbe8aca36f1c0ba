"""The hierarchy of timers: which timer is a part of which.

Three sources, the first that knows a timer decides:

1. the reader: all timers of a run file are parts of the solve, for instance;
2. the hierarchy of the Albany Land-Ice performance tests (the report's figure A.3), by the names
   of the nightly files (``Albany Residual Fill: Evaluate:``) and of the published page (``Residual
   Fill Evaluate``): Total Time, below it Setup, Total Fill, preconditioner and linear solve, below
   Total Fill those of Residual and Jacobian, below each of these Evaluate and Export;
3. the name itself: ``solve->halo``, ``solve/halo``, ``solve::halo`` and ``solve: halo`` are parts
   of ``solve`` if there is a timer of that name. The longest such name counts.

A parent that was not measured is skipped for its own parent.

Numbers that name or date a run (of a build, a process, a seed) are no timers, see `is_label`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAMING = frozenset(
    (
        *("id", "uuid", "pid", "ppid", "tid", "uid", "gid", "seed", "version", "revision"),
        *("serial", "attempt", "timestamp", "epoch", "year", "month", "weekday"),
    )
)
"""The last word of numbers that name a run, or something of it."""
_COUNTING = frozenset(["build", "job", "run", "pipeline", "workflow", "number", "no", "nr", "pr"])
"""The same, where the values show that they count."""
_UNITS_OF_TIME = (1.0, 1e-3, 1e-6, 1e-9)


def is_label(timer: str, values: NDArray[np.float64], times: NDArray[np.float64]) -> bool:
    """Tell whether numbers without a unit name or date their runs, and measure nothing.

    They are moments of their runs in seconds, milliseconds, microseconds or nanoseconds since 1970;
    or whole numbers whose name says it, as ``build number`` or ``seed``; or whole numbers that rise
    from run to run and are called ``build``, ``job`` or ``run``.

    Parameters
    ----------
    values : float64 array, shape (observation,)
    times : float64 array, shape (observation,), seconds since 1970
        Ascending.
    """
    if any(bool((np.abs(values * unit - times) < (2 * 86400.0)).all()) for unit in _UNITS_OF_TIME):
        return True
    if not (values == np.floor(values)).all():
        return False
    words = _WORD.findall(timer)
    last = words[-1].lower() if words else ""
    rises = bool((np.diff(values) >= 0.0).all()) and values[-1] > values[0]
    return last in _NAMING or (rises and last in _COUNTING)


LAND_ICE: dict[str, str | None] = {
    "Total Time": None,
    "Setup Time": "Total Time",
    "Total Fill Time": "Total Time",
    "Residual Fill": "Total Fill Time",
    "Residual Fill Evaluate": "Residual Fill",
    "Residual Fill Export": "Residual Fill",
    "Jacobian Fill": "Total Fill Time",
    "Jacobian Fill Evaluate": "Jacobian Fill",
    "Jacobian Fill Export": "Jacobian Fill",
    "NOX Total Preconditioner Construction": "Total Time",
    "NOX Total Linear Solve": "Total Time",
}
"""Timer to parent, None for the root."""

_OTHERWISE = {"Fill Residual": "Residual Fill", "Fill Jacobian": "Jacobian Fill"}
_JOINTS = re.compile(r"\s*(?:->|/|::|:(?=\s))\s*")


def _plain(timer: str) -> str:
    """Return a timer's name as `LAND_ICE` has it, if it is one of these."""
    name = " ".join(timer.replace(":", " ").removeprefix("Albany").split())
    return _OTHERWISE.get(name, name)


def find_parents(timers: Collection[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Return the parent of every timer that has one among the timers.

    Parameters
    ----------
    stated : mapping
        Timer to parent, as stated by the readers.
    """
    by_plain = {_plain(timer): timer for timer in timers}
    found: dict[str, str] = {}
    for timer in sorted(timers):
        plain = _plain(timer)
        if timer in stated:
            parent: str | None = stated[timer]
            while parent is not None and parent not in timers:
                parent = stated.get(parent)
        elif plain in LAND_ICE:
            up = LAND_ICE[plain]
            while up is not None and up not in by_plain:
                up = LAND_ICE[up]
            parent = None if up is None else by_plain[up]
        else:
            beginnings = [timer[: joint.start()] for joint in _JOINTS.finditer(timer)]
            parent = next((name for name in reversed(beginnings) if name in timers), None)
        if parent is not None and parent != timer:
            found[timer] = parent
    return found


def unfold(timers: Sequence[str]) -> list[str]:
    """Return timers whose names are indented below their parents' as paths, ``solve->halo``."""
    above: list[tuple[int, str]] = []
    paths: list[str] = []
    for timer in timers:
        name = timer.strip()
        depth = len(timer) - len(timer.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        path = f"{above[-1][1]}->{name}" if above else name
        above.append((depth, path))
        paths.append(path)
    return paths
