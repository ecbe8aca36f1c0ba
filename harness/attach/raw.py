"""Read what an attached program left: a folder of raw files, one of each rank.

A raw file is a sequence of frames, each with a checksum, written while the program runs. One
that is damaged or cut off, as of a killed rank, ends the file at the frame before it. Records
stay in the file, which is mapped into memory.
"""

from __future__ import annotations

import mmap
import resource
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError
from hindmost.files import matching, open_regular, reason
from hindmost.harness.attach.raw_json import ADDRESS, End, Program, Section
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.contexts import CallContexts, Module, PythonCode
from hindmost.parsing import parse_json
from hindmost.printable import cleaned
from hindmost.records import from_document

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


T = TypeVar("T")
VERSION = 1
"""Of raw files; a later one is refused."""
SUFFIX = ".raw"
"""Of a folder of raw files, and of these."""
PATTERN = "rank-*.raw"
SPARE_FILES = 64
"""Open files of a process besides those of the ranks."""
CLOCK = np.dtype([("own_ns", "<i8"), ("root_ns", "<i8"), ("round_trip_ns", "<i8")])
EDGE = np.dtype([("peer", "<i4"), ("pad", "<i4"), ("messages", "<i8"), ("bytes", "<i8")])
NORM = np.dtype("<f8")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSection:
    """A section of a rank, with what was recorded of it.

    Attributes
    ----------
    facts : Section
    at : dict of Frame to list of Span
        Where its arrays stand in the file, in parts; one that is missing is empty.
    data : mmap
        The file.
    """

    facts: Section
    at: dict[Frame, list[Span]]
    data: mmap.mmap

    def array(self, kind: Frame) -> NDArray[Any]:
        """Return an array of the section, shape (entry,); in one part it is mapped, not read."""
        parts = [
            np.frombuffer(self.data, ARRAYS[kind], span.count, span.offset)
            for span in self.at.get(kind, [])
            if span.count
        ]
        if len(parts) < 2:
            return parts[0] if parts else np.empty(0, ARRAYS[kind])
        return np.concatenate(parts)


ARRAYS = {
    Frame.RECORDS: RECORD,
    Frame.CONTEXTS: np.dtype("<u4"),
    Frame.NORMS: NORM,
    Frame.EDGES: EDGE,
}
"""Frames that hold arrays of the section before them."""
PARTS = {Frame.PART_RECORDS: Frame.RECORDS, Frame.PART_CONTEXTS: Frame.CONTEXTS}
"""Frames that hold the first entries of arrays of a section that has not ended, and which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRank:
    """The raw file of one rank, up to its last good frame.

    Attributes
    ----------
    clocks : int64 array, shape (reading, 3), nanoseconds
        Own clock, rank 0's clock, and the round trip of each reading.
    options : dict of str to str
        PETSc's options.
    end : End or None
        None if the rank did not write its end.
    torn : str
        Why the rest of the file cannot be read; empty if it was read whole.
    contexts : CallContexts
    polls : int64 array, shape (context,)
        Calls that found nothing, such as an MPI_Test, by context; empty if the rank wrote none.
    """

    path: Path
    program: Program
    clocks: NDArray[np.int64]
    sections: tuple[RawSection, ...]
    options: dict[str, str]
    end: End | None
    torn: str
    contexts: CallContexts
    polls: NDArray[np.int64]

    def contexts_of(self, section: RawSection) -> NDArray[np.uint32]:
        """Return the context of each record of a section, shape (record,); 0: not known."""
        noted = section.array(Frame.CONTEXTS)
        known = np.zeros(section.array(Frame.RECORDS).size, np.uint32)
        known[: noted.size] = noted[: known.size]
        known[known >= self.contexts.count] = 0  # the file is torn
        return known


def read_rank(path: Path) -> RawRank:
    """Read the raw file of one rank.

    Raises
    ------
    DamagedFileError
        It does not begin with what a rank says of its program.
    UnreadableError
        It cannot be read here, or a later version of hindmost wrote it.
    DataError
        It is empty.
    """
    try:
        with open_regular(path) as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise UnreadableError(
            f"{path} cannot be read: {reason(error)}. Nothing is lost: convert it as a user who "
            "may read it, or move it away to convert what the other ranks left."
        ) from error
    except ValueError as error:  # an empty file cannot be mapped
        raise DataError(f"{path} is empty.") from error
    frames = Frames(data)
    program, end = None, None
    clocks = [np.empty(0, CLOCK)]
    done: set[Frame] = set()
    sections: list[RawSection] = []
    open_part: Section | None = None
    waiting: dict[Frame, list[Span]] = {}
    noted = NotedContexts()
    options: dict[str, str] = {}
    try:
        for kind, at in frames:
            if program is None and kind is not Frame.PROGRAM:
                raise ValueError("it does not begin with its program")
            if kind is Frame.PROGRAM:  # may come again, when the program has begun to use PETSc
                program = from_document(Program, json_at(data, at), ignore_unknown=True)
                refuse_later(path, program)
            elif kind is Frame.CLOCK and at.count == CLOCK.itemsize:
                clocks.append(np.frombuffer(data, CLOCK, 1, at.offset))
            elif kind is Frame.SECTION:
                facts = section_at(data, at)
                sections.append(RawSection(facts=facts, at=waiting, data=data))
                done, waiting = set(), {}
            elif kind in PARTS:
                waiting.setdefault(PARTS[kind], []).append(span_of(PARTS[kind], at))
            elif kind in NotedContexts.KINDS:
                noted.read(kind, data, at)
            elif kind is Frame.PART:
                open_part = section_at(data, at)
            elif kind in ARRAYS and sections:
                if kind in done:
                    raise ValueError("the section before it is not there")
                done.add(kind)
                sections[-1].at.setdefault(kind, []).append(span_of(kind, at))
                if kind is Frame.RECORDS:
                    open_part = None
            elif kind is Frame.OPTIONS:
                options = options_of(json_at(data, at))
            elif kind is Frame.END:
                end = from_document(End, json_at(data, at), ignore_unknown=True)
    except UnreadableError:
        raise
    except ValueError as error:
        frames.torn = f"frame {frames.number}: {error}"
    if open_part is not None:  # it was not ended, or its last records are not there
        if not waiting and sections:
            waiting = sections.pop().at
        sections.append(RawSection(facts=open_part, at=waiting, data=data))
    if program is None:
        raise DamagedFileError(f"{path} is no raw file of a rank: {frames.torn or 'it is empty'}.")
    return RawRank(
        path=path,
        program=program,
        clocks=readings_of(np.concatenate(clocks)),
        sections=tuple(sections),
        options=options,
        end=end,
        torn=frames.torn,
        contexts=noted.table(),
        polls=noted.polls,
    )


PLACE = np.dtype(
    [
        ("offset", "<i8"),
        ("function", "<i8"),
        ("bytes", "<i8"),
        ("module", "<i4"),
        ("pad", "<i4"),
    ]
)


class NotedContexts:
    """The call contexts of a rank as its file brings them, those that are new in each frame.

    Attributes
    ----------
    polls : int64 array, shape (context,)
    """

    KINDS = (
        Frame.MODULES,
        Frame.CODES,
        Frame.PLACES,
        Frame.CHAIN_ENDS,
        Frame.CHAINS,
        Frame.POLLS,
    )

    def __init__(self) -> None:
        self.polls = np.empty(0, np.int64)
        self._modules: list[Module] = []
        self._codes: list[PythonCode] = []
        self._places = [np.empty(0, PLACE)]
        self._ends = [np.zeros(2, np.int64)]
        self._chains = [np.empty(0, np.uint32)]

    def read(self, kind: Frame, data: mmap.mmap, at: Span) -> None:
        """Read one frame; raises a ValueError."""
        if kind is Frame.MODULES:
            self._modules += entries_of(Module, self._modules, json_at(data, at))
        elif kind is Frame.CODES:
            self._codes += entries_of(PythonCode, self._codes, json_at(data, at))
        elif kind is Frame.PLACES:
            self._places.append(array_at(data, at, PLACE))
        elif kind is Frame.CHAIN_ENDS:
            self._ends.append(array_at(data, at, np.dtype("<u4")).astype(np.int64))
        elif kind is Frame.CHAINS:
            self._chains.append(array_at(data, at, np.dtype("<u4")))
        else:
            self.polls = array_at(data, at, np.dtype("<i8"))

    def table(self) -> CallContexts:
        """Return the contexts; none if they do not fit together."""
        places, start = np.concatenate(self._places), np.concatenate(self._ends)
        inner_first, lengths = np.concatenate(self._chains), np.diff(start)
        if (lengths < 0).any() or start[-1] != inner_first.size:  # the file is torn
            return CallContexts.none()
        mirrored = np.repeat(start[:-1] + start[1:] - 1, lengths) - np.arange(inner_first.size)
        found = CallContexts(
            modules=tuple(self._modules),
            codes=tuple(self._codes),
            module=places["module"].astype(np.int32),
            offset=places["offset"].astype(np.int64),
            function=places["function"].astype(np.int64),
            size=places["bytes"].astype(np.int64),
            start=start,
            frames=inner_first[mirrored],
        )
        try:
            found.check()
        except ValueError:
            return CallContexts.none()
        return found


def entries_of(kind: type[T], before: list[T], said: Any) -> list[T]:
    """Return the modules, or the codes, of a frame; raises a ValueError."""
    if not isinstance(said, dict) or said.get("first") != len(before):
        raise ValueError("names of call contexts are missing")
    entries = said.get("entries")
    if not isinstance(entries, list):
        raise ValueError("names of call contexts are no list")
    return [from_document(kind, each, ignore_unknown=True) for each in entries]


def array_at(data: mmap.mmap, at: Span, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return an array that a frame consists of, mapped, not read."""
    return np.frombuffer(data, kind, at.count // kind.itemsize, at.offset)


def section_at(data: mmap.mmap, at: Span) -> Section:
    """Return what a frame says of a section; raises a ValueError."""
    facts = from_document(Section, json_at(data, at), ignore_unknown=True)
    return replace(facts, prefix=ADDRESS.sub("", facts.prefix))


def span_of(kind: Frame, at: Span) -> Span:
    """Return where the entries of an array stand."""
    return Span(offset=at.offset, count=at.count // ARRAYS[kind].itemsize)


def readings_of(clocks: NDArray[np.void]) -> NDArray[np.int64]:
    """Return readings of a clock as rows."""
    return np.stack([clocks[name] for name in ("own_ns", "root_ns", "round_trip_ns")], axis=1)


class UnreadableError(DataError):
    """A raw file or folder that another user, or a later hindmost, can read."""


def refuse_later(path: Path, program: Program) -> None:
    """Refuse the raw file of a later version, by name."""
    if program.version > VERSION:
        raise UnreadableError(
            f"{path} follows version {program.version} of raw files; this hindmost reads up to "
            f"{VERSION}. Install a newer hindmost to convert it."
        )


def options_of(value: Any) -> dict[str, str]:
    """Return options of PETSc by name; an option without a value has an empty one."""
    if not isinstance(value, dict):
        raise ValueError("options are not an object")
    return {name: str(text or "") for name, text in value.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RawProgram:
    """A raw folder.

    Attributes
    ----------
    folder : Path
    ranks : dict of int to RawRank
        Those that left a readable file.
    size : int
        Ranks of the program.
    unreadable : tuple of str
        Why files of ranks could not be read.
    """

    folder: Path
    ranks: dict[int, RawRank]
    size: int
    unreadable: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder's name, which is that of the program and a number."""
        return self.folder.name.removesuffix(SUFFIX)

    @property
    def first(self) -> RawRank:
        """The first rank that left a file."""
        return self.ranks[min(self.ranks)]

    @property
    def finished(self) -> bool:
        """Whether every rank wrote its end."""
        return len(self.ranks) == self.size and all(each.end for each in self.ranks.values())


def read_program(folder: Path) -> RawProgram:
    """Read a raw folder.

    Raises
    ------
    UnreadableError
        The folder or a file cannot be read here.
    DataError
        No rank left a usable file, or the files are of different programs.
    """
    try:
        paths = matching(folder, PATTERN)
    except OSError as error:
        raise UnreadableError(f"{folder} cannot be read: {reason(error)}.") from error
    allow_files(2 * len(paths) + SPARE_FILES)
    ranks: dict[int, RawRank] = {}
    unreadable: list[str] = []
    for path in paths:
        try:
            found = read_rank(path)
        except UnreadableError:
            raise
        except DataError as error:
            unreadable.append(str(error))
            continue
        if path.name != f"rank-{found.program.rank:07d}{SUFFIX}":
            raise DamagedFileError(f"{path} is of rank {found.program.rank}, by its own words.")
        ranks[found.program.rank] = found
    if not ranks:
        why = unreadable[0] if unreadable else f"{folder} has no raw file ({PATTERN})."
        raise DataError(f"Nothing can be converted: {why}")
    sizes = {each.program.size for each in ranks.values()}
    if len(sizes) > 1 or max(ranks) >= min(sizes):
        raise DamagedFileError(
            f"{folder}: its files are of programs of {', '.join(map(str, sorted(sizes)))} ranks."
        )
    return RawProgram(folder=folder, ranks=ranks, size=sizes.pop(), unreadable=tuple(unreadable))


def allow_files(count: int) -> None:
    """Let this process keep more files open, as far as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
