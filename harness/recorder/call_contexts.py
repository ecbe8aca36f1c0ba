"""The call contexts that the recorder of this process has noted: its tables in memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.contexts import CallContexts, Module, PythonCode

PLACE = np.dtype(
    [
        ("offset", "<i8"),
        ("function", "<i8"),
        ("bytes", "<i8"),
        ("module", "<i4"),
        ("pad", "<i4"),
    ]
)
"""A frame of a context, as in the C source; see `CallContexts`."""


class ContextTables(ctypes.Structure):
    """What the recorder tells of its tables, as in the C source."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("places", "chain_start", "chain_places", "polls")),
        *((f"{name}_count", ctypes.c_int64) for name in ("place", "chain", "module", "code")),
    )


class NotedContexts:
    """The contexts of the calls that are recorded into memory of this process.

    Parameters
    ----------
    library : ctypes.CDLL
        The recorder, which has the memory for its records already.
    capacity : int
        Records.

    Attributes
    ----------
    known : bool
        Whether contexts are noted.
    numbers : uint32 array, shape (record,)
        Of each record, that of its context.
    """

    def __init__(self, library: Any, capacity: int) -> None:
        self._library = library
        self.numbers = np.empty(capacity, np.uint32)  # only what is used takes memory
        library.hindmost_context_memory.argtypes = [ctypes.c_void_p]
        self.known = bool(library.hindmost_context_memory(self.numbers.ctypes.data))
        self._polls_before = self._polls() if self.known else np.empty(0, np.int64)

    def end(self) -> None:
        """Note no further ones."""
        self._library.hindmost_context_memory(None)

    def _tables(self) -> ContextTables:
        tables = ContextTables()
        self._library.hindmost_context_tables(ctypes.byref(tables))
        return tables

    def _polls(self) -> NDArray[np.int64]:
        tables = self._tables()
        return array_at(tables.polls, "<i8", tables.chain_count + 1)

    def polls(self) -> NDArray[np.int64]:
        """Return the calls since then that found nothing: shape (context,)."""
        polls = self._polls()
        polls[: self._polls_before.size] -= self._polls_before
        return polls

    def contexts(self) -> CallContexts:
        """Return the contexts of this process."""
        tables = self._tables()
        places = array_at(tables.places, PLACE, tables.place_count)
        start = array_at(tables.chain_start, "<u4", tables.chain_count + 1).astype(np.int64)
        inner_first = array_at(tables.chain_places, "<u4", int(start[-1]))
        return CallContexts(
            modules=tuple(map(self._module, range(tables.module_count))),
            codes=tuple(map(self._code, range(tables.code_count))),
            module=places["module"].astype(np.int32),
            offset=places["offset"].astype(np.int64),
            function=places["function"].astype(np.int64),
            size=places["bytes"].astype(np.int64),
            start=np.append(0, start),
            frames=outer_first(np.append(0, start), inner_first),
        )

    def _module(self, number: int) -> Module:
        path, identity = ctypes.c_char_p(), ctypes.c_char_p()
        self._library.hindmost_context_module(
            ctypes.c_int64(number), ctypes.byref(path), ctypes.byref(identity)
        )
        return Module(path=text_of(path), identity=text_of(identity))

    def _code(self, number: int) -> PythonCode:
        file, function = ctypes.c_char_p(), ctypes.c_char_p()
        line = self._library.hindmost_context_code(
            ctypes.c_int64(number), ctypes.byref(file), ctypes.byref(function)
        )
        return PythonCode(file=text_of(file), function=text_of(function), first_line=line)


def outer_first(start: NDArray[np.int64], inner_first: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the frames of all chains with the outermost frame of each first.

    Parameters
    ----------
    start : int64 array, shape (context + 1,)
        Where each chain begins.
    inner_first : uint32 array, shape (place,)
        The chains with the innermost frame first, as the recorder has them.
    """
    lengths = np.diff(start)
    mirrored = np.repeat(start[:-1] + start[1:] - 1, lengths) - np.arange(start[-1])
    return np.asarray(inner_first[mirrored])


def array_at(address: int | None, kind: Any, count: int) -> NDArray[Any]:
    """Return a copy of an array in memory, shape (entry,)."""
    dtype = np.dtype(kind)
    if not address or not count:
        return np.empty(0, dtype)
    return np.frombuffer(ctypes.string_at(address, dtype.itemsize * count), dtype).copy()


def text_of(text: ctypes.c_char_p) -> str:
    """Return a text of C."""
    return (text.value or b"").decode(errors="replace")
