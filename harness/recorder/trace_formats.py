"""Traces of noise that other programs write, as starts and lengths of detours in nanoseconds.

- LogGOPSim: two columns of whole nanoseconds, no header.
- Netgauge's selfish benchmark, and Argonne's: two columns whose header names the unit,
  ``# Time [ns]	selfish duration [ns]`` or ``# start[usec] duration[usec]``. Netgauge also says how
  long it measured.
- Netgauge's fixed work quanta (FWQ): number and duration of every quantum.
- IBM's osnoise with ``-d``: binary, for every rank the seconds of every computation and step.

Of quanta and computations, whatever lasts clearly longer than usual is a detour.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError

Lane = tuple[NDArray[np.int64], NDArray[np.int64], int]
"""Starts and lengths of the detours of a rank, and the time in which they were recorded."""
UNITS_NS = {"ns": 1.0, "us": 1e3, "usec": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
UNIT = re.compile(r"\[(ns|us|usec|µs|ms|s)\]")
PERIOD = re.compile(r"# Measurement period: (\d+(?:\.\d+)?) s\s*")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
LEAST_ROWS = 2
MOST_NS = 10**15
USUAL, MIDDLE = 0.1, 0.5
"""Quantiles of quanta: undisturbed ones, and their jitter above these."""
CLEAR = 5.0
"""Jitters that a quantum must be over the usual one, to have a detour."""
LEAST_DETOUR_NS = 500.0
HEAD_BYTES = 8
MOST_RANKS = 1 << 22


def columns_of(text: str, about: str) -> Lane:
    """Return the detours of a text of two columns.

    Raises
    ------
    DataError
        It is no such text, or its detours cannot be.
    """
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    if any("Fixed Time Quantum" in line for line in comments):
        raise DataError(
            f"{about}: a trace of fixed time quanta counts work and not time; record one with "
            "Netgauge's method selfish or fwq."
        )
    units = {unit for line in comments for unit in UNIT.findall(line)}
    if len({UNITS_NS[unit] for unit in units}) > 1:
        raise DataError(
            f"{about}: its header names several units, {' and '.join(sorted(units))}; write both "
            "columns in one."
        )
    scale_ns = UNITS_NS[units.pop()] if units else None
    rows = rows_of(text, about, scale_ns)
    if any("Fixed Work Quantum" in line for line in comments):
        return over_usual(rows[:, 1], np.cumsum(rows[:, 1]) - rows[:, 1], about)
    start, length = np.rint(rows).astype(np.int64).T
    start = np.ascontiguousarray(start - start[0])
    length = np.ascontiguousarray(length)
    # Times that were rounded to two digits may overlap by the last of these.
    if (start[1:] < start[:-1] + length[:-1] - 1).any():
        raise DataError(
            f"{about}: a detour begins before the one above it has ended: are starts and durations "
            "both in nanoseconds?"
        )
    last_ns = int(start[-1] + length[-1])
    said = [float(found[1]) for line in comments if (found := PERIOD.fullmatch(line))]
    if said and not 0.9 * last_ns - 1e7 <= 1e9 * said[0] <= 1.1 * last_ns + 1e7:
        raise DataError(
            f"{about}: its detours go on for {last_ns * 1e-9:g} s, and its header speaks of "
            f"{said[0]:g} s: is the unit of the columns right?"
        )
    gap = int((int(start[-1]) - int(length[:-1].sum())) // (start.size - 1))
    return start, length, last_ns + max(gap, 1)


def rows_of(text: str, about: str, scale_ns: float | None) -> NDArray[np.float64]:
    """Return the numbers of two columns: shape (row, 2), nanoseconds.

    Parameters
    ----------
    scale_ns : float or None
        The unit that a header names; None: whole nanoseconds.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        whole = all(word.isascii() and word.isdigit() and len(word) < 16 for word in words)
        known = scale_ns is not None and all(
            NUMBER.fullmatch(word) and len(word) < 32 for word in words
        )
        if len(words) != 2 or not (whole or known):
            raise DataError(
                f"{about}: line {number} is '{line[:40]}'; write the start and the duration of a "
                "detour in whole nanoseconds, or name the unit of both in a header, as "
                "'# start [us] duration [us]'."
            )
        rows.append((float(words[0]), float(words[1])))
    if len(rows) < LEAST_ROWS:
        raise DataError(f"{about}: it has fewer than {LEAST_ROWS} detours.")
    found = np.array(rows) * (scale_ns or 1.0)
    if not (found <= MOST_NS).all():
        raise DataError(f"{about}: a time of {found.max() * 1e-9:g} s; is its unit right?")
    return found


def over_usual(lasted_ns: NDArray[np.float64], start_ns: NDArray[np.float64], about: str) -> Lane:
    """Return what pieces of equal work took over the usual.

    Parameters
    ----------
    lasted_ns, start_ns : float64 array, shape (piece,), nanoseconds
    """
    usual, middle = np.quantile(lasted_ns, (USUAL, MIDDLE))
    excess = lasted_ns - usual
    found = excess > max(CLEAR * (middle - usual), LEAST_DETOUR_NS)
    if found.sum() < LEAST_ROWS:
        raise DataError(
            f"{about}: fewer than {LEAST_ROWS} of its {lasted_ns.size} pieces of work last clearly "
            "longer than usual, so it has no noise to inject."
        )
    start = np.rint(start_ns[found] + usual - start_ns[0]).astype(np.int64)
    length = np.rint(excess[found]).astype(np.int64)
    span = int(start_ns[-1] - start_ns[0] + lasted_ns[-1])
    return start, length, max(span, int((start + length).max()) + 1)


def osnoise_of(raw: bytes, about: str) -> tuple[Lane, ...] | None:
    """Return the detours of every rank of a file of IBM's osnoise; None if it is none.

    Its layout: two int32, ranks and steps; then for every rank float32 seconds of all computations,
    and of all steps.
    """
    if len(raw) <= HEAD_BYTES:
        return None
    ranks, steps = np.frombuffer(raw, np.int32, 2).tolist()
    if not (1 <= ranks <= MOST_RANKS and steps >= 1):
        return None
    if len(raw) != HEAD_BYTES + 8 * ranks * steps:
        return None
    values: NDArray[Any] = np.frombuffer(raw, np.float32, offset=HEAD_BYTES)
    seconds = values.reshape(ranks, 2, steps).astype(np.float64)
    if not (np.isfinite(seconds).all() and (seconds >= 0.0).all() and seconds.sum() < MOST_NS):
        raise DataError(f"{about}: a file of osnoise with times that cannot be.")
    return tuple(
        over_usual(1e9 * work, 1e9 * (np.cumsum(step) - step), f"{about}: rank {rank}")
        for rank, (work, step) in enumerate(seconds)
    )
