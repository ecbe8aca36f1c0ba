"""The frames of a raw file, which the ranks of a node append to in turn.

Each has its rank, its number among those of the rank, a kind, a length and a checksum. A frame that
is damaged or cut off ends what is known of its rank; those of other ranks behind it are found by
the letters with which a frame begins.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from hindmost.parsing import parse_json
from hindmost.printable import cleaned

HEAD = struct.Struct("<4sIQIIII")
"""Magic, kind, bytes of the payload, number of the frame among those of its rank, rank, nothing,
and the CRC-32 of these and of the payload."""
CHECKED = HEAD.size - 4
"""Bytes of the head before its checksum."""
BACK = struct.Struct("<I")
MAGIC = b"HMRN"
MOST_JSON = 4 << 20
"""Bytes of a frame of JSON."""


class Frame(IntEnum):
    """The kinds of frames; others are passed over."""

    PROGRAM = 1
    CLOCK = 2
    SECTION = 3
    RECORDS = 4
    NORMS = 5
    EDGES = 6
    END = 7
    OPTIONS = 8
    PART = 9
    """A section so far, in JSON, after the records that it had more than at the part before it."""
    PART_RECORDS = 10
    MODULES = 11
    CODES = 12
    PLACES = 13
    CHAIN_ENDS = 14
    CHAINS = 15
    CONTEXTS = 16
    """Of each record of the section, the number of its context."""
    PART_CONTEXTS = 17
    POLLS = 18
    """By context, the calls that found nothing."""
    BACK = 19
    """The rank takes its frames back from a number on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where an array stands in a file."""

    offset: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Frames:
    """The good frames of a rank in a mapped file, in the order of time.

    Attributes
    ----------
    frames : list of tuple of int, Span
        The kind of each, which may be none of `Frame`, and where its payload stands.
    torn : str
        Why they end early; empty if nothing of the rank is damaged.
    """

    frames: list[tuple[int, Span]]
    torn: str


def frames_of(data: mmap.mmap) -> dict[int, Frames]:
    """Return the frames of each rank that has one in a file.

    A rank that was killed while it wrote left a part of a frame, behind which other ranks go on.
    """
    found: dict[int, list[tuple[int, Span]]] = {}
    next_number: dict[int, int] = {}
    torn: dict[int, str] = {}
    lost = ""  # why something that may be of any rank cannot be read
    at = 0
    while 0 <= at < len(data):
        rank, number, kind, span, why = frame_at(data, at)
        if why:
            if rank is None:
                lost = lost or f"a frame {why}"
            else:
                torn.setdefault(rank, f"frame {number} {why}")
            at = data.find(MAGIC, at + 1)
            continue
        at = span.offset + span.count
        if rank is None or rank in torn:
            continue
        expected = next_number.get(rank, 0)
        if number != expected:
            torn[rank] = f"frame {expected} is missing"
            continue
        next_number[rank] = number + 1
        frames = found.setdefault(rank, [])
        frames.append((kind, span))
        if kind == Frame.BACK and span.count == BACK.size:
            (first,) = BACK.unpack_from(data, span.offset)
            frames[first:] = [(kind, Span())] * (len(frames) - first)
    return {
        rank: Frames(
            frames=frames,
            torn=torn.get(rank) or (lost if all(kind != Frame.END for kind, _ in frames) else ""),
        )
        for rank, frames in found.items()
    }


def frame_at(data: mmap.mmap, at: int) -> tuple[int | None, int, int, Span, str]:
    """Return what stands at a place of a file.

    Returns
    -------
    int or None
        The rank, None if it is not known.
    int
        The number among its frames.
    int
        The kind.
    Span
        The payload.
    str
        Why it is no good frame; empty if it is one.
    """
    if len(data) - at < HEAD.size:
        return None, 0, 0, Span(), "is cut off"
    magic, kind, length, number, rank, _, checksum = HEAD.unpack_from(data, at)
    if magic != MAGIC:
        return None, 0, 0, Span(), "does not begin as one"
    begin = at + HEAD.size
    if length > len(data) - begin:
        return rank, number, 0, Span(), "is cut off"
    before = zlib.crc32(data[at : at + CHECKED])
    with memoryview(data) as view, view[begin : begin + length] as payload:
        good = zlib.crc32(payload, before) == checksum
    why = "" if good else "does not have its checksum"
    return rank, number, kind, Span(offset=begin, count=length), why


def json_at(data: mmap.mmap, at: Span) -> Any:
    """Parse a frame of JSON, whose texts may then be shown; raises a ValueError."""
    if at.count > MOST_JSON:
        raise ValueError(f"{at.count:,} bytes of JSON; allowed: {MOST_JSON:,}")
    return cleaned(parse_json(data[at.offset : at.offset + at.count]))
