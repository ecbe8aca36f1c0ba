"""Recorded noise to inject: the detours of ``hindmost probe noise``, or files of other programs.

`trace_formats` says which of these are read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.files import read_bytes, reason
from hindmost.harness.recorder.trace_formats import columns_of, osnoise_of
from hindmost.parsing import parse_json
from hindmost.records import RecordError, from_document
from hindmost.text import percent, seconds

DIGITS = 8
MOST_NS = 10**15
STARTS, LENGTHS = "detour_start_ns", "detour_length_ns"


Nanoseconds = Annotated[
    int, Meta(ge=0, le=MOST_NS, description=f"whole nanoseconds, at most {MOST_NS:,}")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDetours:
    """The detours of a rank, as ``hindmost probe noise`` writes them."""

    detour_start_ns: list[Nanoseconds]
    detour_length_ns: list[Nanoseconds]
    elapsed_s: Annotated[
        float, Meta(ge=1e-9, le=MOST_NS * 1e-9, description="seconds of the measurement")
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
    ranks: tuple[tuple[NDArray[np.int64], NDArray[np.int64], int], ...]

    def of_rank(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
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


def trace_of(
    path: Path, ranks: tuple[tuple[NDArray[np.int64], NDArray[np.int64], int], ...]
) -> NoiseTrace:
    """Return a trace with the digest of its detours."""
    sealed = hashlib.sha256()
    for start, length, span_ns in ranks:
        sealed.update(start.tobytes() + length.tobytes() + span_ns.to_bytes(8, "little"))
    return NoiseTrace(name=path.name, digest=sealed.hexdigest()[:DIGITS], ranks=ranks)


def detours_of(
    rank: dict[str, Any], about: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
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
