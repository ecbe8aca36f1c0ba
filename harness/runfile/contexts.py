"""Call contexts: by which functions a program came to each of its MPI calls.

A context is a chain of frames, from the outermost function to the one that called MPI. A frame of
compiled code is a return address, as an offset in its module; a frame of Python is a line of a
function. Both are equal on all ranks of a program, whatever addresses its libraries have there.

A rank notes each context once, with a number from 1 on, and with each record the number of its
context. 0 is a context that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

PYTHON = -1
"""In place of a frame's module: it is a line of Python."""
NOWHERE = -2
"""In place of a frame's module: code that no file contains, such as that of a JIT compiler."""


_PLACE = re.compile(r"(.*) \((.+):(\d+)\)")


class CodePlace(NamedTuple):
    """A place in code: a function, inlined ones too, and the line that ran or made a call.

    Attributes
    ----------
    function : str
        The module and an address where there is no symbol.
    file : str
        Without folders; empty if it is not known.
    line : int
        0 if it is not known.
    symbol : str
        The function with its parameters, where debug data were just read.
    """

    function: str
    file: str = ""
    line: int = 0
    symbol: str = ""

    def __str__(self) -> str:
        """Write it as ``flux (flux.f90:210)``, which is how run files have it."""
        return f"{self.function} ({self.file}:{self.line})" if self.line else self.function

    @classmethod
    def read(cls, text: str) -> CodePlace:
        """Return the place that a run file has as a text."""
        known = _PLACE.fullmatch(text)
        return cls(known[1], known[2], int(known[3])) if known else cls(text)

    @property
    def without_line(self) -> str:
        """What stays the same while other lines are edited: ``flux (flux.f90)``."""
        return f"{self.function} ({self.file})" if self.file else self.function

    @property
    def is_address(self) -> bool:
        """Whether no symbol names it: ``libpetsc.so+0x1f``."""
        return "+0x" in self.function


def line_of(offset: int) -> int:
    """Return the line of a frame of Python.

    Its offset is the line, times 2^32, and the place of the call in the function's code; older
    files, and Python before 3.11, have the line alone.
    """
    return offset >> 32 or offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A program or a library that was loaded.

    Attributes
    ----------
    path : str
    identity : str
        The build id, in hexadecimal digits; where the file has none, ``SIZE:MTIME``, in bytes and
        nanoseconds since 1970.
    """

    path: str
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCode:
    """A function of Python; ``<module>`` for the lines outside of any.

    Attributes
    ----------
    file, function : str
    first_line : int
    """

    file: str
    function: str
    first_line: Annotated[int, Meta(ge=0, le=(1 << 31) - 1)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContexts:
    """The contexts of one rank, or of all ranks of a program.

    Attributes
    ----------
    modules : tuple of Module
    codes : tuple of PythonCode
    module : int32 array, shape (frame,)
        Index of each frame's module; `PYTHON` or `NOWHERE`.
    offset : int64 array, shape (frame,)
        The return address, as the virtual address in the module's file; of Python, the line that
        makes the call, and which of its calls, see `line_of`; of `NOWHERE`, 0.
    function : int64 array, shape (frame,)
        Where the function begins, as the virtual address in the module's file, by its unwind
        information; 0 where there is none. The ``.cold`` part of a function has a beginning of its
        own. Of Python, the index of its code.
    size : int64 array, shape (frame,)
        Bytes from there on; 0 where they are not known.
    start : int64 array, shape (context + 1,)
        Where the chain of each context begins in `frames`. Context 0 has an empty one.
    frames : uint32 array, shape (place,)
        The chains one after the other, each from the outermost frame to the caller of MPI. Two
        chains have the same frames if and only if they have the same numbers.
    places : tuple of str, one a frame
        Function, file and line of each, as ``hydro (hydro.f90:62)``; empty where they were not
        looked up.
    """

    modules: tuple[Module, ...]
    codes: tuple[PythonCode, ...]
    module: NDArray[np.int32]
    offset: NDArray[np.int64]
    function: NDArray[np.int64]
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    frames: NDArray[np.uint32]
    places: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of contexts, with context 0."""
        return self.start.size - 1

    def chain(self, context: int) -> NDArray[np.uint32]:
        """Return the frames of a context, shape (frame,), the outermost first."""
        return self.frames[self.start[context] : self.start[context + 1]]

    @property
    def callers(self) -> NDArray[np.int64]:
        """Where the function begins that calls MPI: shape (context,); 0 where it is not known."""
        found = np.zeros(self.count, np.int64)
        here = np.diff(self.start) > 0
        found[here] = self.function[self.frames[self.start[1:][here] - 1]]
        return found

    @property
    def known(self) -> bool:
        """Whether any context but 0 is known."""
        return self.count > 1

    def variables(self) -> dict[str, Any]:
        """Return what a run file has of them, by the names that it has there."""
        return {
            "chain_end": self.start[1:],
            "chain_frame": self.frames,
            "frame_module": self.module,
            "frame_offset": self.offset,
            "frame_function": self.function,
            "frame_bytes": self.size,
            "code_line": np.array([code.first_line for code in self.codes], np.int32),
            "code_file": [code.file for code in self.codes],
            "code_function": [code.function for code in self.codes],
            "module_path": [module.path for module in self.modules],
            "module_identity": [module.identity for module in self.modules],
            **({"frame_place": list(self.places)} if self.places else {}),
        }

    def check(self) -> None:
        """Raise a ValueError if parts of it do not fit together: it comes from a file."""
        numbers = (self.offset, self.function, self.size)
        if (
            self.start.size < 2
            or self.start[:2].any()
            or (np.diff(self.start) < 0).any()
            or self.start[-1] != self.frames.size
            or (self.frames >= self.module.size).any()
            or len(self.places) not in (0, self.module.size)
            or ((self.module < NOWHERE) | (self.module >= len(self.modules))).any()
            or any((number < 0).any() for number in numbers)
            or (self.function[self.module == PYTHON] >= len(self.codes)).any()
        ):
            raise ValueError("call contexts do not fit together")

    @classmethod
    def none(cls) -> CallContexts:
        """Return the contexts of a rank that noted none: context 0 alone."""
        return cls(
            modules=(),
            codes=(),
            module=np.empty(0, np.int32),
            offset=np.empty(0, np.int64),
            function=np.empty(0, np.int64),
            size=np.empty(0, np.int64),
            start=np.zeros(2, np.int64),
            frames=np.empty(0, np.uint32),
        )


def merged(
    ranks: Iterable[CallContexts],
) -> tuple[CallContexts, tuple[NDArray[np.uint32], ...]]:
    """Return one table for all ranks, and the number in it of each context of each rank.

    Modules are equal if their files have the same name and identity, wherever each rank found them.

    Parameters
    ----------
    ranks : iterable of CallContexts
        In the order of ranks; one after the other is looked at.

    Returns
    -------
    CallContexts
        The order is that in which the ranks have them, so the first rank's numbers stay.
    tuple of uint32 array, shape (context,)
        For each rank, the number in the table of its contexts.
    """
    modules: dict[tuple[str, str], tuple[int, Module]] = {}
    codes: dict[PythonCode, int] = {}
    frames: dict[tuple[int, int, int, int], int] = {}
    chains: dict[bytes, int] = {b"": 0}
    numbers: list[NDArray[np.uint32]] = []
    for rank in ranks:
        of_module = [
            modules.setdefault((own.path.rpartition("/")[2], own.identity), (len(modules), own))[0]
            for own in rank.modules
        ]
        of_code = [codes.setdefault(own, len(codes)) for own in rank.codes]
        rows = zip(
            rank.module.tolist(),
            rank.offset.tolist(),
            rank.function.tolist(),
            rank.size.tolist(),
            strict=True,
        )
        of_frame = np.array(
            [
                frames.setdefault(
                    (
                        of_module[module] if module >= 0 else module,
                        offset,
                        of_code[function] if module == PYTHON else function,
                        size,
                    ),
                    len(frames),
                )
                for module, offset, function, size in rows
            ],
            np.uint32,
        )
        places = of_frame[rank.frames].tobytes()
        bounds = (rank.start * of_frame.itemsize).tolist()
        numbers.append(
            np.array(
                [
                    chains.setdefault(places[begin:end], len(chains))
                    for begin, end in pairwise(bounds)
                ],
                np.uint32,
            )
        )
    table = np.array(list(frames), np.int64).reshape(-1, 4)
    lengths = np.array([len(chain) // np.uint32().itemsize for chain in chains], np.int64)
    return (
        CallContexts(
            modules=tuple(own for _, own in modules.values()),
            codes=tuple(codes),
            module=table[:, 0].astype(np.int32),
            offset=table[:, 1].copy(),
            function=table[:, 2].copy(),
            size=table[:, 3].copy(),
            start=np.concatenate([[0], np.cumsum(lengths)]),
            frames=np.frombuffer(b"".join(chains), np.uint32),
        ),
        tuple(numbers),
    )


def merged_over(
    communicator: Any, ranks: Sequence[CallContexts]
) -> tuple[CallContexts, list[NDArray[np.uint32]]]:
    """Return one table for the ranks of all processes, and the numbers in it; collective.

    Parameters
    ----------
    ranks : sequence of CallContexts
        Those of this process; see `merged`.

    Returns
    -------
    CallContexts
        On the first process that of all, elsewhere that of the own ranks.
    list of uint32 array, shape (context,)
        For each rank of this process.
    """
    table, own = merged(ranks)
    tables = communicator.gather(table)
    whole, numbers = merged(tables) if tables is not None else (table, ())
    mine = communicator.scatter(list(numbers))
    return whole, [mine[each] for each in own]
