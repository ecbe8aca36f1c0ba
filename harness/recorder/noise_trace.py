"""Recorded noise to inject: the detours of ``hindmost probe noise``, or files of other programs.

- LogGOPSim: two columns of whole nanoseconds, no header.
- Netgauge's selfish benchmark, and Argonne's: two columns whose header names the unit,
  ``# Time [ns]	selfish duration [ns]`` or ``# start[usec] duration[usec]``.
- Netgauge's fixed work quanta (FWQ): number and duration of every quantum.
- IBM's osnoise with ``-d``: binary, for every rank the seconds of every computation and step.

Of quanta and computations, whatever lasts clearly longer than usual is a detour.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.files import read_bytes, reason
from hindmost.parsing import parse_json
from hindmost.records import RecordError, from_document
from hindmost.text import percent, seconds

DIGITS = 8
MAX_NS = 10**15
STARTS, LENGTHS = "detour_start_ns", "detour_length_ns"
Lane = tuple[NDArray[np.int64], NDArray[np.int64], int]
"""Starts and lengths of the detours of a rank, and the time in which they were recorded."""


Nanoseconds = Annotated[
    int, Meta(ge=0, le=MAX_NS, description=f"whole nanoseconds, at most {MAX_NS:,}")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDetours:
    """The detours of a rank, as ``hindmost probe noise`` writes them."""

    detour_start_ns: list[Nanoseconds]
    detour_length_ns: list[Nanoseconds]
    elapsed_s: Annotated[
        float, Meta(ge=1e-9, le=MAX_NS * 1e-9, description="seconds of the measurement")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseTrace:
    """Detours of some ranks.

    Attributes
    ----------
    name : str
        Of the file, without its folder.
    digest : str
        Of the detours: equal traces have equal digests.
    ranks : tuple of (int64 array, int64 array, int)
        For each rank the starts and lengths of its detours, in nanoseconds, and the time in which
        they were recorded.
    """

    name: str
    digest: str
    ranks: tuple[Lane, ...]

    def of_rank(self, rank: int) -> Lane:
        """Return the detours for a rank of a run; with more ranks than the trace has, in turn."""
        return self.ranks[rank % len(self.ranks)]


def read_trace(path: Path, option: str) -> NoiseTrace:
    """Read the detours of a file that ``hindmost probe noise`` wrote, or of a text of columns.

    Parameters
    ----------
    option : str
        For messages.

    Raises
    ------
    DataError
        The file cannot be read, or its detours cannot be.
    """
    about = f"{option} trace:{path}"
    try:
        raw = read_bytes(path)
    except OSError as error:
        raise DataError(f"{about}: the trace cannot be read: {reason(error)}.") from error
    every = osnoise_of(raw, about)
    if every is not None:
        return trace_of(path, every)
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
        is_json = text.lstrip().startswith(("{", "["))
        document: Any = parse_json(text) if is_json else None
    except ValueError as error:
        raise DataError(f"{about}: the trace cannot be read: {error}.") from error
    if not is_json:
        return trace_of(path, (columns_of(text, about),))
    found = []
    try:
        each_rank = document["samples"]["noise"]["ranks"]
        found = [each for each in each_rank if isinstance(each, dict) and STARTS in each]
    except (KeyError, TypeError):
        pass
    if not found:
        raise DataError(
            f"{about}: the file has no recorded detours; 'hindmost probe noise --out {path.name}' "
            "records them. Or write a line for each: its start and its duration in nanoseconds."
        )
    return trace_of(
        path,
        tuple(detours_of(each, f"{about}: rank {number}") for number, each in enumerate(found)),
    )


def trace_of(path: Path, ranks: tuple[Lane, ...]) -> NoiseTrace:
    """Return a trace with the digest of its detours."""
    sealed = hashlib.sha256()
    for start, length, span_ns in ranks:
        sealed.update(start.tobytes() + length.tobytes() + span_ns.to_bytes(8, "little"))
    return NoiseTrace(name=path.name, digest=sealed.hexdigest()[:DIGITS], ranks=ranks)


def detours_of(rank: dict[str, Any], about: str) -> Lane:
    """Return starts, lengths and the time of one rank; raise a DataError if they cannot be."""
    try:
        found = from_document(RankDetours, rank, about, ignore_unknown=True)
    except RecordError as error:
        raise DataError(str(error)) from None
    elapsed_s = found.elapsed_s
    start = np.array(found.detour_start_ns, np.int64)
    length = np.array(found.detour_length_ns, np.int64)
    if start.size != length.size or (np.diff(start) < 0).any():
        raise DataError(f"{about}: each detour should have a start and a length, in order of time.")
    span_ns = int(elapsed_s * 1e9)
    last_ns = int((start + length).max(initial=0))
    if last_ns > 1.001 * span_ns + 1000:
        raise DataError(
            f"{about}: its detours go on for {seconds(last_ns * 1e-9)}, the measurement for "
            f"{seconds(span_ns * 1e-9)}: are '{STARTS}' and '{LENGTHS}' in nanoseconds, and "
            "'elapsed_s' in seconds?"
        )
    if int(length.sum()) >= span_ns:
        raise DataError(
            f"{about}: its detours fill {percent(int(length.sum()) / span_ns, 0)} of the time, "
            f"which leaves none for work: are '{LENGTHS}' in nanoseconds?"
        )
    return start, length, max(span_ns, last_ns + 1)


UNITS_NS = {"ns": 1.0, "us": 1e3, "usec": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
UNIT = re.compile(r"\[(ns|us|usec|µs|ms|s)\]")
MIN_ROWS = 2
USUAL, MIDDLE = 0.1, 0.5
"""Quantiles of quanta: undisturbed ones, and their jitter above these."""
CLEAR = 5.0
"""Jitters that a quantum must be over the usual one, to have a detour."""
MIN_DETOUR_NS = 500.0


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
    gap = int((int(start[-1]) - int(length[:-1].sum())) // (start.size - 1))
    return start, length, last_ns + max(gap, 1)


def rows_of(text: str, about: str, scale_ns: float | None) -> NDArray[np.float64]:
    """Return the numbers of two columns: shape (row, 2), nanoseconds.

    Parameters
    ----------
    scale_ns : float or None
        The unit that a header names; None: whole nanoseconds.
    """
    try:
        lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
        rows = np.loadtxt(lines, ndmin=2) if lines else np.empty((0, 2))
        if rows.shape[1] != 2 or not (rows >= 0.0).all():
            raise ValueError("two columns of times are expected")
        if scale_ns is None and (rows % 1.0).any():
            raise ValueError("a time has a fraction")
    except ValueError as error:
        raise DataError(
            f"{about}: {error}; write the start and the duration of a detour in whole "
            "nanoseconds, or name the unit of both in a header, as '# start [us] duration [us]'."
        ) from error
    if len(rows) < MIN_ROWS:
        raise DataError(f"{about}: it has fewer than {MIN_ROWS} detours.")
    rows *= scale_ns or 1.0
    if not (rows <= MAX_NS).all():
        raise DataError(f"{about}: a time of {rows.max() * 1e-9:g} s; is its unit right?")
    return rows


def over_usual(lasted_ns: NDArray[np.float64], start_ns: NDArray[np.float64], about: str) -> Lane:
    """Return what pieces of equal work took over the usual.

    Parameters
    ----------
    lasted_ns, start_ns : float64 array, shape (piece,), nanoseconds
    """
    usual, middle = np.quantile(lasted_ns, (USUAL, MIDDLE))
    excess = lasted_ns - usual
    found = excess > max(CLEAR * (middle - usual), MIN_DETOUR_NS)
    if found.sum() < MIN_ROWS:
        raise DataError(
            f"{about}: fewer than {MIN_ROWS} of its {lasted_ns.size} pieces of work last clearly "
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
    if len(raw) < 8 or len(raw) % 8:
        return None
    (ranks, steps), values = np.frombuffer(raw, np.int32)[:2], np.frombuffer(raw, np.float32)[2:]
    if ranks < 1 or steps < 1 or values.size != 2 * int(ranks) * int(steps):
        return None
    seconds = values.reshape(ranks, 2, steps).astype(np.float64)
    if not (np.isfinite(seconds).all() and (seconds >= 0.0).all() and seconds.sum() < MAX_NS):
        raise DataError(f"{about}: a file of osnoise with times that cannot be.")
    return tuple(
        over_usual(1e9 * work, 1e9 * (np.cumsum(step) - step), f"{about}: rank {rank}")
        for rank, (work, step) in enumerate(seconds)
    )
