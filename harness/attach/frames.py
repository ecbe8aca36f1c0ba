"""The frames of a raw file: each has a kind, a length and a checksum.

A frame that is damaged or cut off ends the file at the frame before it.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from hindmost.parsing import parse_json
from hindmost.printable import cleaned

HEAD = struct.Struct("<4sIQII")
"""Magic, kind, bytes of the payload, CRC-32 of the payload, number of the frame."""
MAGIC = b"HMRW"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where an array stands in a file."""

    offset: int = 0
    count: int = 0


class Frames:
    """The good frames of a mapped file: kind, and where the payload stands.

    Attributes
    ----------
    number : int
        Of the frame that is looked at.
    torn : str
        Why the frames ended before the file did.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.number = 0
        self.torn = ""

    def __iter__(self) -> Iterator[tuple[Frame, Span]]:
        """Yield frames of known kinds, up to the first that is damaged."""
        size, at = len(self._data), 0
        while at < size:
            if size - at < HEAD.size:
                self.torn = f"frame {self.number} is cut off"
                return
            magic, kind, length, checksum, number = HEAD.unpack_from(self._data, at)
            at += HEAD.size
            if magic != MAGIC or number != self.number:
                self.torn = f"frame {self.number} does not begin as one"
                return
            if length > size - at:
                self.torn = f"frame {self.number} is cut off"
                return
            with memoryview(self._data) as view, view[at : at + length] as payload:
                good = zlib.crc32(payload) == checksum
            if not good:
                self.torn = f"frame {self.number} does not have its checksum"
                return
            if kind in iter(Frame):
                yield Frame(kind), Span(offset=at, count=length)
            at += length
            self.number += 1


def json_at(data: mmap.mmap, at: Span) -> Any:
    """Parse a frame of JSON, whose texts may then be shown; raises a ValueError."""
    return cleaned(parse_json(data[at.offset : at.offset + at.count]))
