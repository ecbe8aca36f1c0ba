"""The code of functions on call chains: basic blocks of machine code, lines of Python.

Machine code is disassembled by capstone (x86-64 and AArch64), from the begin of a function to the
end that its unwind information tells. Where a jump has a target that only the processor knows (a
table of a switch), control may go to every block that nothing else leads to.
"""

from __future__ import annotations

import ast
import bisect
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from hindmost.harness.loops.graph import FORWARD, NEVER, FlowGraph, shared_loop
from hindmost.harness.runfile.contexts import PYTHON, CallContexts, Module, line_of

try:
    import capstone
except ImportError:  # loops are then those that the order of calls shows
    capstone = None

NOT_THE_PROGRAM = re.compile(r"/mpi4py/|/(libc|ld-linux)[-.][^/]*$")
"""Modules between a program and MPI, or before it, whose loops are none of the program's."""
_LOAD, _DYNAMIC, _NOTE, _BUILD_ID = 1, 2, 4, 3
NO_RETURN = -1
"""In place of where a jump leads: nowhere, it ends the program."""
_MACHINES = {62: "x86", 183: "arm64"}
_STRINGS, _SYMBOLS, _RELOCATIONS = 5, 6, ((23, 2), (7, 8))
"""Entries of the dynamic section: tables, and where each table of relocations is, with its size."""
_STUB = re.compile(rb"(\xf3\x0f\x1e\xfa)?\xf2?\xff\x25")
DOES_NOT_RETURN = re.compile(
    r"(_?exit|_Exit|quick_exit|abort|(__)?(sig)?longjmp\w*|__assert_\w*fail|__stack_chk_fail|"
    r"__chk_fail|__cxa_(re)?throw\w*|__cxa_bad_\w+|_Unwind_Resume|_ZSt9terminatev|_ZSt\d+__throw_\w+|"
    r"_gfortran_(error_)?stop_\w+|_gfortran_(runtime|os)_error\w*|_gfortran_(exit|abort)\w*)"
)
"""Functions of libraries that do not return: what lies behind their calls belongs to other ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A function whose code is not there: control goes forward to later places.

    A place is the offset of a frame in the function.

    Attributes
    ----------
    leaders : sequence of int
        Where its blocks begin: the calls, in the order in which they were first made.
    graph : FlowGraph
        Of its blocks.
    """

    leaders: Sequence[int]
    graph: FlowGraph

    def block(self, place: int) -> int | None:
        """Return the block with the call that returns to a place; None if it is in none."""
        return self.leaders.index(place) if place in self.leaders else None

    def nest(self, place: int) -> tuple[int, ...]:
        """Return the loops around a place, each by its first place, the outermost first."""
        block = self.block(place)
        nest = () if block is None else self.graph.nest[block]
        return tuple(self.leaders[header] for header in nest)

    def step(self, begin: int, end: int) -> int:
        """Tell how control comes from one place to another, as `FlowGraph.step` does."""
        one, other = self.block(begin), self.block(end)
        if one is None or other is None:
            return FORWARD if end > begin else NEVER
        found = self.graph.step(one, other, later=end > begin)
        return found if found in (FORWARD, NEVER) else self.leaders[found]

    def target(self, place: int) -> int | None:
        """Return where the function begins that is called there; None if that is not known."""
        return None

    def must_make(self, places: Collection[int], header: int | None = None) -> bool:
        """Tell whether each iteration of a loop makes one of some calls; here not known.

        Parameters
        ----------
        places : collection of int
            Of the calls.
        header : int or None
            Of the loop; None for each call of the function.
        """
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled(Unseen):
    """A function of machine code, whose blocks begin at virtual addresses.

    Attributes
    ----------
    targets : dict of int to int
        By return address, what is called.
    ends : set of int
        Blocks that return, or jump into another function; not those that end the program.
    """

    targets: dict[int, int]
    ends: set[int]

    def block(self, place: int) -> int:
        """Return the block with the call that returns to a place."""
        return max(bisect.bisect_right(self.leaders, place - 1) - 1, 0)

    def target(self, place: int) -> int | None:
        """Return the function that the call before a place calls."""
        return self.targets.get(place)

    def must_make(self, places: Collection[int], header: int | None = None) -> bool:
        """Tell whether no way through a loop, or the function, avoids some calls."""
        known = self.graph.successors
        seen = {self.block(place) for place in places}
        begin = 0 if header is None else self.leaders.index(header)
        inside = range(len(known)) if header is None else self.graph.loops[begin]
        waiting = [begin]
        while waiting:
            block = waiting.pop()
            if block in seen:
                continue
            seen.add(block)
            if (begin in known[block]) if header is not None else block in self.ends:
                return False
            waiting += [to for to in known[block] if to in inside]
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreted:
    """A function of Python.

    Attributes
    ----------
    loops : tuple of tuple of int, int
        First and last line of each, those around before those inside.
    """

    loops: tuple[tuple[int, int], ...]
    straight: Mapping[int | None, Collection[int]] | None = None
    """By the first line of a loop, None for the function: lines that each iteration goes through.
    None where the function is none of the program's, so whoever calls it means MPI."""

    def nest(self, place: int) -> tuple[int, ...]:
        """Return the loops around a call, by their first lines."""
        line = line_of(place)
        return tuple(first for first, last in self.loops if first <= line <= last)

    def step(self, begin: int, end: int) -> int:
        """Tell how control comes from one call to another: forward, or by the loop around both."""
        if end > begin:
            return FORWARD
        inner = shared_loop(self.nest(begin), self.nest(end))
        return NEVER if inner is None else inner

    def target(self, place: int) -> None:
        """Return nothing: Python has no jump into another function."""

    def must_make(self, places: Collection[int], header: int | None = None) -> bool:
        """Tell whether one of some calls is on a line that each iteration goes through."""
        return self.straight is None or any(
            line_of(place) in self.straight.get(header, ()) for place in places
        )


Function = Unseen | Compiled | Interpreted
"""The code of a function, in which a place is the offset or the line of a frame."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.While, ast.AsyncFor)
LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Raise)
AVOIDS = (*LOOPS, *COMPREHENSIONS, ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.Match)
"""Parts of Python that may pass over what is in them."""


def python_loops(file: str, name: str, first_line: int) -> Interpreted:
    """Return the loops of a function of Python; none if its source cannot be read."""
    try:
        tree: ast.AST = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return Interpreted(loops=(), straight={})
    loops: list[ast.stmt | ast.expr] = []
    if name != "<module>":
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)
        inside = [
            node
            for node in ast.walk(tree)
            if isinstance(node, functions) and first_line in _first_lines(node)
        ]
        if not inside:
            return Interpreted(loops=(), straight={})
        tree = inside[0]
        loops = [tree] if isinstance(tree, COMPREHENSIONS) else []
    loops += [node for node in _own_nodes(tree) if isinstance(node, LOOPS)]
    lines = [(each.lineno, each.end_lineno or each.lineno) for each in loops]
    return Interpreted(
        loops=tuple(sorted(lines, key=lambda each: (each[0], -each[1]))),
        straight={None: set(_straight(tree))}
        | {each.lineno: set(_straight(each)) for each in loops},
    )


def _straight(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of a body that control cannot avoid, those inside of no other statement."""
    body = getattr(tree, "body", [])
    for node in body if isinstance(body, list) else []:
        parts = [node, *_own_nodes(node)]
        if any(isinstance(each, LEAVES) for each in parts):
            return
        if isinstance(node, ast.With):
            yield from _straight(node)
        elif not any(isinstance(each, AVOIDS) for each in parts):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _first_lines(node: ast.stmt | ast.expr) -> set[int]:
    """Return the lines with which a function may be said to begin: its own or a decorator's."""
    decorators = getattr(node, "decorator_list", [])
    return {node.lineno, *(each.lineno for each in decorators)}


def _own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a function, without those of functions in it."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from _own_nodes(node)


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
    """

    data: bytes
    machine: str
    segments: tuple[tuple[int, int, int], ...]
    build_id: str
    imported: dict[int, str] = field(default_factory=dict)

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

    def called(self, address: int) -> str:
        """Return the function of another library that a call leads to; empty if it is none."""
        code = self.code(address, 16)
        stub = _STUB.match(code) if self.machine == "x86" else None
        if stub is None:
            return ""
        (off,) = struct.unpack_from("<i", code, stub.end())
        return self.imported.get(address + stub.end() + 4 + off, "")


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
    dynamic = [found.code(header[3], header[5]) for header in headers if header[0] == _DYNAMIC]
    return replace(found, imported=_imported(found, dynamic[0]) if dynamic else {})


def _imported(file: ElfFile, dynamic: bytes) -> dict[int, str]:
    """Return the symbols that a file imports; see `ElfFile`."""
    entries = dict(struct.iter_unpack("<QQ", dynamic[: len(dynamic) // 16 * 16]))
    found: dict[int, str] = {}
    for table, size in _RELOCATIONS:
        relocations = file.code(entries.get(table, 0), entries.get(size, 0))
        for slot, what, _ in struct.iter_unpack("<QQq", relocations[: len(relocations) // 24 * 24]):
            if at := what >> 32:
                symbol = file.code(entries.get(_SYMBOLS, 0) + 24 * at, 4)
                (name,) = struct.unpack("<I", symbol.ljust(4, b"\0"))
                found[slot] = file.text(entries.get(_STRINGS, 0) + name)
    return found


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


@cache
def compiled(module: Module, begin: int, size: int) -> Compiled | None:
    """Return a function of machine code; None if it cannot be disassembled."""
    file = elf_file(module)
    if capstone is None or file is None or not file.machine or size <= 0:
        return None
    how = {
        "x86": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "arm64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN),
    }[file.machine]
    instructions = capstone.Cs(*how).disasm_lite(file.code(begin, size), begin)
    return blocks_of(instructions, begin, begin + size, file.called)


def blocks_of(
    instructions: Iterable[tuple[int, int, str, str]],
    begin: int,
    end: int,
    called: Callable[[int], str] = lambda _: "",
) -> Compiled | None:
    """Return the blocks of a function.

    Parameters
    ----------
    instructions : iterable of address, bytes, mnemonic and operands
    begin, end : int
        Virtual addresses.
    called : callable
        Names the function of a library that a call leads to, by what is called.
    """
    leaders = {begin}
    # By the address behind each jump: where it is, where it leads, and whether control may go on.
    jumps: dict[int, tuple[int, int | None, bool]] = {}
    targets: dict[int, int] = {}
    following = begin
    for address, size, name, operands in instructions:
        following = address + size
        if name.startswith("call") or name in ("bl", "blr"):
            target = _address(operands)
            if target is not None:
                targets[following] = target
                if DOES_NOT_RETURN.fullmatch(called(target)):
                    jumps[following] = (address, NO_RETURN, False)
                    leaders.add(following)
        elif _is_jump(name):
            target = _address(operands)
            always = name.startswith("jmp") or name in ("b", "br")
            jumps[following] = (address, target, not always)
            leaders |= {following, *([target] if target is not None else [])}
        elif name.startswith("ret") or name in ("ud2", "hlt", "udf", "brk"):
            stops = not name.startswith("ret")
            jumps[following] = (address, NO_RETURN if stops else begin - 1, False)
            leaders.add(following)
    if following == begin:
        return None
    places = sorted(each for each in leaders if begin <= each < end)
    number = {place: at for at, place in enumerate(places)}
    successors: list[list[int]] = [[] for _ in places]
    by_table, ends = [], set()
    for at in range(len(places)):
        behind = places[at + 1] if at + 1 < len(places) else end
        _, target, goes_on = jumps.get(behind, (0, begin - 1, True))
        if behind in jumps and target is None:
            by_table.append(at)
        elif not goes_on and target not in number and target != NO_RETURN:
            ends.add(at)
        if target in number:
            successors[at].append(number[target])
        if goes_on and behind in number:
            successors[at].append(number[behind])
    if by_table:
        led_to = {to for each in successors for to in each}
        others = [at for at in range(1, len(places)) if at not in led_to]
        for at in by_table:
            successors[at] += others
    return Compiled(leaders=places, graph=FlowGraph(successors), targets=targets, ends=ends)


def is_stub(module: Module, address: int) -> bool:
    """Tell whether there is a jump into another library, by way of its table of functions."""
    file = elf_file(module)
    code = b"" if file is None else file.code(address, 16)
    if file is not None and file.machine == "arm64":
        return code[:1] == b"\x10" or code[4:5] == b"\x10"  # adrp x16, perhaps behind bti
    return _STUB.match(code) is not None


def _is_jump(name: str) -> bool:
    """Tell whether an instruction jumps, of x86-64 or AArch64."""
    of_arm = ("b", "br", "cbz", "cbnz", "tbz", "tbnz")
    return name.startswith(("j", "loop", "b.")) or name in of_arm


def _address(operands: str) -> int | None:
    """Return the address that a jump or call names; None if a register or memory holds it."""
    last = operands.rpartition(",")[2].strip().removeprefix("#")
    try:
        return int(last, 16) if last.startswith("0x") else None
    except ValueError:
        return None


class Functions:
    """The functions on the chains of call contexts, each looked at once.

    Parameters
    ----------
    contexts : CallContexts
    """

    def __init__(self, contexts: CallContexts) -> None:
        self._contexts = contexts
        self._known: dict[tuple[int, int], Function] = {}
        self.without_code: set[tuple[int, int]] = set()

    def key(self, frame: int) -> tuple[int, int]:
        """Return what tells the function of a frame from others: its module and begin."""
        return int(self._contexts.module[frame]), int(self._contexts.function[frame])

    def place(self, frame: int) -> int:
        """Return the return address of a frame, or its line."""
        return int(self._contexts.offset[frame])

    def of(self, frame: int) -> Function | None:
        """Return the code of a frame's function, None if it is not there."""
        key = self.key(frame)
        if key not in self._known:
            found = self._read(frame)
            if found is None:
                self.without_code.add(key)
                return None
            self._known[key] = found
        return self._known[key]

    def learn(self, key: tuple[int, int], function: Function) -> None:
        """Take what the order of calls shows of a function without code."""
        self._known[key] = function

    def always_calls(self, frame: int, callee: tuple[int, int] | None) -> bool:
        """Tell whether the call of a frame always leads to a function, or to MPI if it is None.

        It may lead to another one through a pointer, or if what it calls ends with a jump.
        """
        function, (module, _) = self.of(frame), self.key(frame)
        target = None if function is None else function.target(self.place(frame))
        if target is None:
            return isinstance(function, Interpreted)
        return callee == (module, target) or is_stub(self._contexts.modules[module], target)

    def _read(self, frame: int) -> Function | None:
        module, function = self.key(frame)
        contexts = self._contexts
        if module == PYTHON:
            code = contexts.codes[function]
            return python_loops(code.file, code.function, code.first_line)
        if module < 0 or not function:
            return None
        if NOT_THE_PROGRAM.search(contexts.modules[module].path):
            return Interpreted(loops=())
        return compiled(contexts.modules[module], function, int(contexts.size[frame]))
