"""Read what an attached program left: a folder of raw files, one of each node.

A raw file is a sequence of frames of its ranks, each with a checksum, written while the program
runs. Each frame has its rank, its number among those of the rank, a kind and a length. One that is
damaged or cut off, as of a killed rank, ends what is known of its rank; those of other ranks behind
it are found by the letters with which a frame begins. Records stay in the file, which is mapped
into memory.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError
from hindmost.files import open_regular, reason
from hindmost.harness.attach.odd_numbers import (
    PLACE_NUMBERS,
    in_order,
    usable,
    usable_counts,
    usable_places,
)
from hindmost.harness.attach.raw_json import ADDRESS, End, Program, Section
from hindmost.harness.recorder.call_contexts import PLACE, outer_first
from hindmost.harness.recorder.library import RECORD, CallClass
from hindmost.harness.runfile.checksum import BLOCK_BYTES
from hindmost.harness.runfile.contexts import NOWHERE, CallContexts, Module, PythonCode
from hindmost.parsing import parse_json
from hindmost.printable import cleaned

T = TypeVar("T")
VERSION = 4
"""Of raw files; another one is refused."""
SUFFIX = ".raw"
"""Of a folder of raw files, and of these."""
PATTERN = "node-*.raw"
CLOCK = np.dtype([("own_ns", "<i8"), ("root_ns", "<i8"), ("round_trip_ns", "<i8")])
EDGE = np.dtype([("peer", "<i4"), ("pad", "<i4"), ("messages", "<i8"), ("bytes", "<i8")])
NORM = np.dtype("<f8")
STRETCH = np.dtype(
    [
        ("before", "<u4"),
        ("after", "<u4"),
        ("calls", "<i8"),
        ("work_ns", "<i8"),
        ("in_mpi_ns", "<i8"),
    ]
)


HEAD = struct.Struct("<4sIQIIII")
"""Magic, kind, bytes of the payload, number of the frame among those of its rank, rank, nothing,
and the CRC-32 of these and of the payload."""
BACK = struct.Struct("<I")
MAGIC = b"HMRN"


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
    WORLD_RANKS = 20
    """Numbers in MPI_COMM_WORLD of the ranks of the section, if they differ."""
    SAMPLER = 21
    """How samples are taken, in JSON; the last one holds. See `hindmost.harness.attach.samples`."""
    SAMPLE_PLACES = 22
    SAMPLE_CHAIN_ENDS = 23
    SAMPLE_CHAINS = 24
    SAMPLE_PAIRS = 25
    """Of samples: the last context of a call, and the chain of frames, the innermost first."""
    SAMPLES = 26
    ACTIVITIES = 27
    """At each mark of a solve, the time in each activity so far."""
    CONTEXT_CPU = 28
    """By context, the processor time from calls to the next ones; the last one has all."""
    STRETCHES = 29
    """Of a section in which loops are to be found: its time by the contexts of calls in a row."""
    COUNTS = 30
    """At each mark of a solve, instructions and cycles so far."""
    NOTES = 31
    """What the program says of an iteration, in JSON; see `hindmost.harness.attach.cycle_notes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where the payload of a frame stands in a file: its first byte, and how many there are."""

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
    Behind a frame that is missing, only the rank's end is of use.
    """
    found: dict[int, list[tuple[int, Span]]] = {}
    next_number: dict[int, int] = {}
    torn: dict[int, str] = {}
    lost = ""  # why something that may be of any rank cannot be read
    at = released = 0
    while 0 <= at < len(data):
        if at - released > BLOCK_BYTES:  # give back the memory that it took
            data.madvise(mmap.MADV_DONTNEED)
            released = at
        rank, number, kind, span, why = frame_at(data, at)
        if why:
            if rank is None:
                lost = lost or f"a frame {why}"
            else:
                torn.setdefault(rank, f"frame {number} {why}")
            at = data.find(MAGIC, at + 1)
            continue
        at = span.offset + span.count
        if rank is None:
            continue
        expected, frames = next_number.get(rank, 0), found.setdefault(rank, [])
        if rank not in torn and number != expected:
            torn[rank] = f"frame {expected} is missing"
        if rank in torn:
            if kind == Frame.END:  # it refers to no other
                frames.append((kind, span))
            continue
        next_number[rank] = number + 1
        frames.append((kind, span))
        if kind == Frame.BACK and span.count == BACK.size:
            (first,) = BACK.unpack_from(data, span.offset)
            frames[first:] = [(kind, Span())] * (len(frames) - first)
    data.madvise(mmap.MADV_DONTNEED)
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
    before = zlib.crc32(data[at : begin - 4])
    with memoryview(data) as view, view[begin : begin + length] as payload:
        good = zlib.crc32(payload, before) == checksum
    why = "" if good else "does not have its checksum"
    return rank, number, kind, Span(offset=begin, count=length), why


class RawFile:
    """The raw file of a node, mapped into memory; another process that gets it maps its own.

    Parameters
    ----------
    path : Path

    Raises
    ------
    UnreadableError
        It cannot be read here.
    ValueError
        It is empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open_regular(path) as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UnreadableError(
                f"{path} cannot be read: {reason(error)}. Nothing is lost: convert it as a user "
                "who may read it, or move it away to convert what the other nodes left."
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what opens it elsewhere."""
        return opened, (self.path,)

    def release(self) -> None:
        """Give back the memory that reading it took; what is needed is read again."""
        self.data.madvise(mmap.MADV_DONTNEED)


OPENED: WeakValueDictionary[tuple[Path, int, int], RawFile] = WeakValueDictionary()
"""Files of which ranks came from another process, by path, inode and time of change."""


def opened(path: Path) -> RawFile:
    """Return a file of which several ranks come from another process."""
    try:
        status = path.stat()
        key = path, status.st_ino, status.st_ctime_ns
    except OSError:
        return RawFile(path)  # which says why
    if (file := OPENED.get(key)) is None:
        file = OPENED[key] = RawFile(path)
    return file


def json_at(data: mmap.mmap, at: Span) -> Any:
    """Parse a frame of JSON, whose texts may then be shown; raises a ValueError."""
    return cleaned(parse_json(data[at.offset : at.offset + at.count]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSection:
    """A section of a rank, with what was recorded of it.

    Attributes
    ----------
    facts : Section
    at : dict of Frame to list of Span
        Where its arrays stand in the file, in parts; one that is missing is empty.
    file : RawFile
    instead : dict of Frame to array
        Arrays of which some numbers in the file cannot be.
    """

    facts: Section
    at: dict[Frame, list[Span]]
    file: RawFile
    instead: Mapping[Frame, NDArray[Any]] = field(default_factory=dict)

    def array(self, kind: Frame) -> NDArray[Any]:
        """Return an array of the section, shape (entry,)."""
        if kind in self.instead:
            return self.instead[kind]
        return array_of(self.file.data, kind, self.at.get(kind, []))

    def size(self, kind: Frame) -> int:
        """Return how many entries an array of the section has."""
        if kind in self.instead:
            return self.instead[kind].size
        return sum(part.size for part in parts_of(self.file.data, kind, self.at.get(kind, [])))

    def parts(self, kind: Frame) -> Iterator[NDArray[Any]]:
        """Yield an array of the section part by part, shape (entry,); the file takes no memory."""
        read = 0
        mapped = parts_of(self.file.data, kind, self.at.get(kind, []))
        for whole in [self.instead[kind]] if kind in self.instead else mapped:
            for at in range(0, whole.size, PART_ENTRIES):
                part = whole[at : at + PART_ENTRIES]
                yield part
                read += part.size
                if read >= PART_ENTRIES:
                    read = 0
                    self.file.release()


PART_ENTRIES = 1 << 20
"""Entries of an array of a section that are looked at together."""
OF_SECTIONS = {
    Frame.RECORDS: RECORD,
    Frame.CONTEXTS: np.dtype("<u4"),
    Frame.NORMS: NORM,
    Frame.EDGES: EDGE,
    Frame.WORLD_RANKS: np.dtype("<i4"),
    Frame.ACTIVITIES: np.dtype("<i8"),
    Frame.STRETCHES: STRETCH,
    Frame.COUNTS: np.dtype("<i8"),
}
"""Frames that hold arrays of the section before them."""
OF_RANKS = {
    Frame.CLOCK: CLOCK,
    Frame.PLACES: PLACE,
    Frame.CHAIN_ENDS: np.dtype("<u4"),
    Frame.CHAINS: np.dtype("<u4"),
    Frame.POLLS: np.dtype("<i8"),
    Frame.SAMPLE_PLACES: PLACE,
    Frame.SAMPLE_CHAIN_ENDS: np.dtype("<u4"),
    Frame.SAMPLE_CHAINS: np.dtype("<u4"),
    Frame.CONTEXT_CPU: np.dtype("<i8"),
}
"""Frames that hold what is new in arrays of the rank; `Frame.POLLS` has all again."""
TABLES = (Frame.PLACES, Frame.CHAIN_ENDS, Frame.CHAINS)
NAMES = (Frame.MODULES, Frame.CODES)
"""Frames that hold what is new in lists of the rank, in JSON."""
READ_ELSEWHERE = (Frame.SAMPLER, Frame.SAMPLE_PAIRS, Frame.SAMPLES, Frame.NOTES)
"""Frames that `hindmost.harness.attach.samples` reads, and ``cycle_notes``."""


def array_of(data: mmap.mmap, kind: Frame, spans: Sequence[Span]) -> NDArray[Any]:
    """Return the array whose parts stand there, shape (entry,); one part is mapped, not read."""
    parts = parts_of(data, kind, spans)
    empty = np.empty(0, (OF_SECTIONS | OF_RANKS)[kind])
    return parts[0] if len(parts) == 1 else np.concatenate([empty, *parts])


def parts_of(data: mmap.mmap, kind: Frame, spans: Sequence[Span]) -> list[NDArray[Any]]:
    """Return the parts of an array that stand there, mapped: shape (entry,) each."""
    entry = (OF_SECTIONS | OF_RANKS)[kind]
    return [
        np.frombuffer(data, entry, span.count // entry.itemsize, span.offset)
        for span in spans
        if span.count >= entry.itemsize
    ]


KNOWN = frozenset(Frame) - {Frame.BACK}
PARTS = {Frame.PART_RECORDS: Frame.RECORDS, Frame.PART_CONTEXTS: Frame.CONTEXTS}
"""Frames that hold the first entries of arrays of a section that has not ended, and which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRank:
    """What one rank wrote to the raw file of its node, up to its last good frame.

    Attributes
    ----------
    file : RawFile
    clocks : int64 array, shape (reading, 3), nanoseconds
        Own clock, rank 0's clock, and the round trip of each reading.
    options : dict of str to str
        PETSc's options.
    end : End or None
        None if the rank did not write its end.
    torn : str
        Why the rest cannot be read; empty if all was read.
    odd : list of str
        Remarks on numbers that cannot be.
    noted : dict of Frame to list of Span
        Where its own arrays stand in the file, in parts.
    odd_contexts : bool
        Whether its table of contexts has such numbers.
    contexts : CallContexts
    polls : int64 array, shape (context,)
        Calls that found nothing, such as an MPI_Test, by context; empty if the rank wrote none.
    """

    file: RawFile
    program: Program
    clocks: NDArray[np.int64]
    sections: tuple[RawSection, ...]
    options: dict[str, str]
    end: End | None
    torn: str
    odd: list[str]
    noted: Mapping[Frame, Sequence[Span]]
    odd_contexts: bool
    contexts: CallContexts
    polls: NDArray[np.int64]

    def noted_array(self, kind: Frame) -> NDArray[Any]:
        """Return an array of the rank, shape (entry,)."""
        return array_of(self.file.data, kind, self.noted.get(kind, []))


def read_node(path: Path) -> tuple[dict[int, RawRank], list[str]]:
    """Read the raw file of one node.

    Returns
    -------
    dict of int to RawRank
        By rank, those that can be read.
    list of str
        Why others cannot.

    Raises
    ------
    UnreadableError
        It cannot be read here.
    """
    try:
        file = RawFile(path)
    except UnreadableError:
        raise
    except ValueError:  # an empty file cannot be mapped
        return {}, [f"{path} is empty."]
    ranks, unreadable = {}, []
    frames = frames_of(file.data)
    for rank, own in sorted(frames.items()):
        try:
            ranks[rank] = read_rank(file, rank, own)
        except DamagedFileError as error:
            unreadable.append(str(error))
    file.release()
    if not frames:
        unreadable.append(f"{path} is no raw file of a node: no whole frame begins in it.")
    return ranks, unreadable


def read_rank(file: RawFile, rank: int, frames: Frames) -> RawRank:
    """Read what one rank wrote.

    Raises
    ------
    DamagedFileError
        It does not begin with what a rank says of its program.
    """
    path, data = file.path, file.data
    program, end = None, None
    noted: dict[Frame, list[Span]] = {}
    sections: list[RawSection] = []
    open_part: Section | None = None
    waiting: dict[Frame, list[Span]] = {}
    options: dict[str, str] = {}
    odd: list[str] = []
    has_facts = False  # whether what was said of the last section can be used
    for number, (code, at) in enumerate(frames.frames):
        if code not in KNOWN:
            continue
        kind = Frame(code)
        try:
            if kind is Frame.PROGRAM:  # may come again, when the program has begun to use PETSc
                program = program_at(data, at, rank, odd)
            elif program is None:
                raise DamagedFileError(
                    f"{path} has nothing of rank {rank} that can be read: frame {number}: it does "
                    "not begin with its program."
                )
            elif kind in OF_RANKS or kind in NAMES or kind in READ_ELSEWHERE:
                noted.setdefault(kind, []).append(at)
            elif kind is Frame.SECTION:
                has_facts, parts, waiting = False, waiting, {}
                facts = section_at(data, at, odd)
                has_facts = True
                sections.append(RawSection(facts=facts, at=parts, file=file))
            elif kind in PARTS:
                waiting.setdefault(PARTS[kind], []).append(at)
            elif kind is Frame.PART:
                open_part = section_at(data, at, odd)
            elif kind in OF_SECTIONS and has_facts:
                sections[-1].at.setdefault(kind, []).append(at)
                if kind is Frame.RECORDS:
                    open_part = None
            elif kind is Frame.OPTIONS:
                options = options_of(json_at(data, at))
            elif kind is Frame.END:
                end = usable(End, json_at(data, at), odd)
        except DamagedFileError:
            raise
        except ValueError as error:
            odd.append(f"frame {number}: {error}")
    torn, remarks = frames.torn, len(odd)
    contexts = contexts_of(data, noted, odd)
    odd_contexts = len(odd) > remarks
    if open_part is not None:  # it was not ended, or its last records are not there
        if not waiting and has_facts:
            waiting = sections.pop().at
        sections.append(RawSection(facts=open_part, at=waiting, file=file))
    if program is None:
        why = torn or (odd[0] if odd else "")
        raise DamagedFileError(f"{path} has nothing of rank {rank} that can be read: {why}.")
    return RawRank(
        file=file,
        program=program,
        clocks=array_of(data, Frame.CLOCK, noted.get(Frame.CLOCK, [])).view("<i8").reshape(-1, 3),
        sections=tuple(sections),
        options=options,
        end=end,
        torn=torn,
        contexts=contexts,
        odd=odd,
        noted=noted,
        odd_contexts=odd_contexts,
        polls=usable_counts(array_of(data, Frame.POLLS, noted.get(Frame.POLLS, [])[-1:]), odd),
    )


def program_at(data: mmap.mmap, at: Span, rank: int, odd: list[str]) -> Program:
    """Return what a frame of a rank says of its program; raises a ValueError."""
    found = usable(Program, json_at(data, at), odd)
    strange = {*found.call_classes} - CallClass.__members__.keys()
    if strange and found.version == VERSION:
        raise ValueError(f"unknown classes of calls: {', '.join(sorted(strange))}")
    if found.rank != rank:
        odd.append(f"it calls itself rank {found.rank}")
    return replace(
        found,
        rank=rank,
        call_names=kept_once(found.call_names),
        call_classes=kept_once(found.call_classes),
    )


@lru_cache(maxsize=8)
def kept_once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names as an equal tuple before had them: all ranks of a program have the same."""
    return names


def contexts_of(
    data: mmap.mmap,
    noted: Mapping[Frame, Sequence[Span]],
    odd: list[str],
    tables: tuple[Frame, Frame, Frame] = TABLES,
) -> CallContexts:
    """Return the call contexts that a rank noted; none if they do not fit together.

    A frame that cannot be is code that no file contains.

    Parameters
    ----------
    tables : tuple of Frame
        Where its frames are, the ends of chains, and the chains.
    """
    of_places, of_ends, of_chains = tables

    def array(kind: Frame) -> NDArray[Any]:
        return array_of(data, kind, noted.get(kind, []))

    def entries(kind: Frame, of: type[T]) -> tuple[T, ...]:
        said = [json_at(data, at)["entries"] for at in noted.get(kind, [])]
        return tuple(usable(of, one, odd) for each in said for one in each)

    inner_first = array(of_chains).copy()
    ends, repairs, used = in_order(
        np.concatenate([[0, 0], array(of_ends).astype(np.int64), [inner_first.size]])
    )
    try:
        modules, codes = entries(Frame.MODULES, Module), entries(Frame.CODES, PythonCode)
        start = ends[:-1] if used == ends.size and ends.size > 3 else np.zeros(2, np.int64)
        numbers = {name: array(of_places)[name].astype(np.int64) for name in PLACE_NUMBERS}
        places, strange = usable_places(numbers, len(modules), len(codes))
        beyond = inner_first >= places["module"].size
        if beyond.any():  # one place more, of code that no file contains
            inner_first[beyond] = places["module"].size
            places = {
                name: np.append(each, NOWHERE if name == "module" else 0)
                for name, each in places.items()
            }
        if repairs or strange or beyond.any():
            odd.append("places of calls that cannot be")
        contexts = CallContexts(
            modules=modules,
            codes=codes,
            module=places["module"].astype(np.int32),
            offset=places["offset"],
            function=places["function"],
            size=places["bytes"],
            start=start,
            frames=outer_first(start, inner_first),
        )
        contexts.check()
    except (ValueError, TypeError, LookupError):  # the file is torn
        return CallContexts.none()
    return contexts


def section_at(data: mmap.mmap, at: Span, odd: list[str]) -> Section:
    """Return what a frame says of a section; raises a ValueError."""
    facts = usable(Section, json_at(data, at), odd)
    return replace(facts, prefix=ADDRESS.sub("", facts.prefix))


class UnreadableError(DataError):
    """A raw file or folder that another user, or a later hindmost, can read."""


def options_of(value: Any) -> dict[str, str]:
    """Return options of PETSc by name; an option without a value has an empty one."""
    if not isinstance(value, dict):
        raise ValueError("options are not an object")
    return {name: str(text or "") for name, text in value.items()}
