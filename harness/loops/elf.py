"""What is needed of the file of a program or library: its code, functions and symbols."""

from __future__ import annotations

import bisect
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from hindmost.harness.runfile.contexts import Module

_LOAD, _DYNAMIC, _NOTE, _UNWIND, _BUILD_ID = 1, 2, 4, 0x6474E550, 3
_MACHINES = {62: "x86", 183: "arm64"}
_STRINGS, _SYMBOLS, _RELOCATIONS = 5, 6, ((23, 2), (7, 8))
"""Entries of the dynamic section: tables, and where each table of relocations is, with its size."""
_SECTION = struct.Struct("<IIQQQQIIQQ")
_EXPORTS, _FUNCTION = 11, 2
"""Kinds of a section, and of a symbol in it."""
_STUB = re.compile(rb"(\xf3\x0f\x1e\xfa)?\xf2?\xff\x25")
_SEARCH_TABLE = b"\x03\x3b"
"""How linkers encode the count and the entries of the unwind information's table of functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfFile:
    """What is needed of a program or library.

    Attributes
    ----------
    data : bytes
    machine : str
        As `_MACHINES` names it; empty for others.
    segments : tuple of tuple of int, int, int
        Virtual address, offset in the file and bytes of what is loaded.
    build_id : str
        Hexadecimal digits; empty if it has none.
    imported : dict of int to str
        By virtual address, the symbol whose address is written there when the program starts.
    exported : dict of str to int
        By symbol, its virtual address.
    begins : tuple of int
        Where functions begin, in order, as far as unwind information tells.
    """

    data: bytes
    machine: str
    segments: tuple[tuple[int, int, int], ...]
    build_id: str
    imported: dict[int, str] = field(default_factory=dict)
    exported: dict[str, int] = field(default_factory=dict)
    begins: tuple[int, ...] = ()

    def code(self, address: int, size: int) -> bytes:
        """Return the bytes at a virtual address; none if they are not in the file."""
        for begin, offset, length in self.segments:
            if begin <= address and address + size <= begin + length:
                at = offset + address - begin
                return self.data[at : at + size]
        return b""

    def text(self, address: int) -> str:
        """Return the text at a virtual address; empty if it is not in the file."""
        for begin, offset, length in self.segments:
            if begin <= address < begin + length:
                at = offset + address - begin
                return self.data[at : self.data.find(b"\0", at)].decode(errors="replace")
        return ""

    def function(self, address: int) -> range | None:
        """Return the addresses of the function around one, None if they are not known."""
        at = bisect.bisect_right(self.begins, address)
        return range(*self.begins[at - 1 : at + 1]) if 0 < at < len(self.begins) else None

    def symbol(self, address: int) -> str | None:
        """Return the symbol to which a call or jump leads by way of the table of functions.

        Parameters
        ----------
        address : int
            What is called: a stub, or the entry of the table.

        Returns
        -------
        str or None
            Empty if the symbol is not known; None if the address is code of the file itself.
        """
        if address in self.imported:
            return self.imported[address]
        code = self.code(address, 16)
        if self.machine == "arm64":  # adrp x16, perhaps behind bti
            words = struct.unpack("<2I", code[:8].ljust(8, b"\0"))
            return "" if any(word & 0x9F00001F == 0x90000010 for word in words) else None
        stub = _STUB.match(code) if self.machine == "x86" else None
        if stub is None:
            return None
        (off,) = struct.unpack_from("<i", code, stub.end())
        return self.imported.get(address + stub.end() + 4 + off, "")

    def own_code(self, address: int | None) -> int | None:
        """Return the code of this file to which a call or jump leads, None if it is elsewhere."""
        symbol = None if address is None else self.symbol(address)
        return address if symbol is None else self.exported.get(symbol)


@cache
def elf_file(module: Module) -> ElfFile | None:
    """Return the file of a module, None if it is not there or not the one that ran."""
    path = Path(module.path)
    try:
        status, data = path.stat(), path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":  # 64 bits, the least significant byte first
            return None
        (machine,) = struct.unpack_from("<H", data, 18)
        (table,) = struct.unpack_from("<Q", data, 32)
        each, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, table + at * each) for at in range(count)]
    except (OSError, struct.error):
        return None
    notes = [data[header[2] : header[2] + header[5]] for header in headers if header[0] == _NOTE]
    found = ElfFile(
        data=data,
        machine=_MACHINES.get(machine, ""),
        segments=tuple((h[3], h[2], h[5]) for h in headers if h[0] == _LOAD),
        build_id=next(filter(None, map(_build_id, notes)), ""),
    )
    known = (found.build_id, f"{status.st_size}:{status.st_mtime_ns}")
    if module.identity not in known:
        return None
    dynamic = b"".join(found.code(h[3], h[5]) for h in headers if h[0] == _DYNAMIC)
    entries = dict(struct.iter_unpack("<QQ", dynamic[: len(dynamic) // 16 * 16]))
    unwind = [header[3] for header in headers if header[0] == _UNWIND]
    return replace(
        found,
        imported=_imported(found, entries),
        exported=dict(_exported(found, entries)),
        begins=_functions(found, unwind[0]) if unwind else (),
    )


def _imported(file: ElfFile, entries: Mapping[int, int]) -> dict[int, str]:
    """Return the symbols that a file imports; see `ElfFile`."""
    found: dict[int, str] = {}
    for table, size in _RELOCATIONS:
        relocations = file.code(entries.get(table, 0), entries.get(size, 0))
        for slot, what, _ in struct.iter_unpack("<QQq", relocations[: len(relocations) // 24 * 24]):
            if at := what >> 32:
                symbol = file.code(entries.get(_SYMBOLS, 0) + 24 * at, 4)
                (name,) = struct.unpack("<I", symbol.ljust(4, b"\0"))
                found[slot] = file.text(entries.get(_STRINGS, 0) + name)
    return found


def _exported(file: ElfFile, entries: Mapping[int, int]) -> Iterator[tuple[str, int]]:
    """Yield the functions that a file exports, with their virtual addresses."""
    (table,) = struct.unpack_from("<Q", file.data, 40)
    each, count = struct.unpack_from("<HH", file.data, 58)
    strings = entries.get(_STRINGS, 0)
    for at in range(count if each == _SECTION.size else 0):
        header = file.data[table + at * each : table + (at + 1) * each].ljust(each, b"\0")
        _, kind, _, _, offset, size, *_ = _SECTION.unpack(header)
        if kind == _EXPORTS:
            symbols = file.data[offset : offset + size // 24 * 24]
            for name, what, _, section, address, _ in struct.iter_unpack("<IBBHQQ", symbols):
                if what & 15 == _FUNCTION and section:
                    yield file.text(strings + name), address


def _functions(file: ElfFile, table: int) -> tuple[int, ...]:
    """Return where functions begin, by the table in which a program looks for them to unwind."""
    head = file.code(table, 12)
    if head[2:4] != _SEARCH_TABLE:
        return ()
    (count,) = struct.unpack_from("<I", head, 8)
    rows = struct.iter_unpack("<ii", file.code(table + 12, 8 * count))
    begins = sorted({table + begin for begin, _ in rows})
    ends = [begin + size for begin, _, size in file.segments if begins[-1:] < [begin + size]]
    return (*begins, min(ends, default=0)) if begins else ()


def _build_id(notes: bytes) -> str:
    """Return the build id among the notes of a file; empty if it is not there."""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, at)
        begin = at + 12 + -(-name // 4) * 4
        if kind == _BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0":
            return notes[begin : begin + size].hex()
        at = begin + -(-size // 4) * 4
    return ""
