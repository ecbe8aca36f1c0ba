"""The code of functions on call chains: basic blocks of machine code, lines of Python.

Machine code is disassembled by capstone (x86-64 and AArch64), from the begin of a function to the
end that its unwind information tells. Where a jump has a target that only the processor knows (a
table of a switch), control may go to every block that nothing else leads to.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hindmost.harness.loops.elf import ElfFile, elf_file
from hindmost.harness.loops.graph import FORWARD, NEVER, FlowGraph, shared_loop
from hindmost.harness.runfile.contexts import PYTHON, CallContexts, Module, line_of

try:
    import capstone
except ImportError:  # loops are then those that the order of calls shows
    capstone = None

NOT_THE_PROGRAM = re.compile(r"/mpi4py/|/(libc|ld-linux)[-.][^/]*$")
"""Modules between a program and MPI, or before it, whose loops are none of the program's."""
MAX_JUMPED = 32
"""Functions that are looked at together because each may end with a jump into the next."""
RETURNS = "ret"
"""In place of the symbol to which a block jumps."""
IS_MPI = re.compile(r"p?mpi_\w+", re.IGNORECASE)
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
    """A function of machine code, with those into which it may jump instead of returning.

    Its blocks begin at virtual addresses.

    Attributes
    ----------
    ranges : tuple of range
        Where its code lies.
    targets : dict of int to int
        By return address, what is called.
    leaves : dict of int to str
        Blocks that leave it: `RETURNS`, or the symbol to which they jump elsewhere; empty if that
        is not known.
    """

    ranges: tuple[range, ...]
    targets: dict[int, int]
    leaves: dict[int, str]

    def block(self, place: int) -> int:
        """Return the block with the call that returns to a place."""
        return max(bisect.bisect_right(self.leaders, place - 1) - 1, 0)

    def has(self, place: int) -> bool:
        """Tell whether a call that returns to a place is in its code."""
        return any(place - 1 in each for each in self.ranges)

    def target(self, place: int) -> int | None:
        """Return the function that the call before a place calls."""
        return self.targets.get(place)

    def ways_out(self, place: int) -> set[str]:
        """Return how control may leave the function after a place; see `leaves`."""
        reached = self.graph.reached([self.block(place)])
        return {how for block, how in self.leaves.items() if block in reached}

    def must_make(self, places: Collection[int], header: int | None = None) -> bool:
        """Tell whether no way through a loop, or the function, avoids some calls and MPI."""
        calling = {self.block(place) for place in places}
        calling |= {block for block, how in self.leaves.items() if IS_MPI.fullmatch(how)}
        begin = self.graph.entry if header is None else self.leaders.index(header)
        inside = None if header is None else self.graph.loops[begin]
        passed = self.graph.reached([begin], inside, calling)
        if header is None:
            return not passed & self.leaves.keys()
        return not any(begin in self.graph.successors[block] for block in passed)


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
    lines = [(loop.lineno, loop.end_lineno or loop.lineno) for loop in loops]
    return Interpreted(
        loops=tuple(sorted(lines, key=lambda each: (each[0], -each[1]))),
        straight={None: set(_straight(tree))}
        | {loop.lineno: set(_straight(loop)) for loop in loops},
    )


def _straight(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of a body that control cannot avoid, those inside of no other statement."""
    body = getattr(tree, "body", [])
    for node in body if isinstance(body, list) else []:
        parts = [node, *_own_nodes(node)]
        if any(isinstance(part, LEAVES) for part in parts):
            return
        if isinstance(node, ast.With):
            yield from _straight(node)
        elif not any(isinstance(part, AVOIDS) for part in parts):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _first_lines(node: ast.stmt | ast.expr) -> set[int]:
    """Return the lines with which a function may be said to begin: its own or a decorator's."""
    decorators = getattr(node, "decorator_list", [])
    return {node.lineno, *(decorator.lineno for decorator in decorators)}


def _own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a function, without those of functions in it."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from _own_nodes(node)


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
    parts: dict[range, list[Instruction]] = {}
    waiting = [range(begin, begin + size)]
    while waiting and len(parts) < MAX_JUMPED:
        part = waiting.pop(0)
        if any(part[0] in each for each in parts):
            continue
        code = capstone.Cs(*how).disasm_lite(file.code(part[0], len(part)), part[0])
        parts[part] = [Instruction(*each) for each in code]
        targets = [each.target for each in parts[part] if each.jumps]
        functions = [file.function(each) for each in map(file.own_code, targets) if each]
        waiting += [function for function in functions if function is not None]
    return blocks_of(parts, begin, file) if any(parts.values()) else None


class Instruction(NamedTuple):
    """An instruction of x86-64 or AArch64, as capstone writes it."""

    address: int
    size: int
    name: str
    operands: str

    @property
    def plain(self) -> str:
        """Its mnemonic without prefixes of x86-64 that change nothing here."""
        return self.name.removeprefix("notrack ").removeprefix("bnd ")

    @property
    def calls(self) -> bool:
        """Whether it is a call."""
        return self.plain.startswith("call") or self.plain in ("bl", "blr")

    @property
    def jumps(self) -> bool:
        """Whether it is a jump."""
        of_arm = ("b", "br", "cbz", "cbnz", "tbz", "tbnz")
        return self.plain.startswith(("j", "loop", "b.")) or self.plain in of_arm

    @property
    def target(self) -> int | None:
        """The address that it names: code, or what has the address of code; None if none is."""
        last = self.operands.rpartition(",")[2].strip().removeprefix("#")
        relative = re.search(r"\[rip ([+-]) (\w+)\]", last)
        try:
            if relative is not None:
                return self.address + self.size + int(relative[1] + relative[2], 16)
            return int(last, 16) if last.startswith("0x") else None
        except ValueError:
            return None


class _End(NamedTuple):
    """What happens at the end of a block."""

    to: int | None = None
    """Where it jumps to in the code that is looked at."""
    goes_on: bool = False
    """Whether control may come to the next block."""
    leaves: str | None = None
    """`RETURNS`, or the symbol to which it may jump elsewhere; empty if that is not known."""
    by_table: bool = False
    """Whether a table has the addresses to which it jumps."""


def blocks_of(parts: Mapping[range, Sequence[Instruction]], begin: int, file: ElfFile) -> Compiled:
    """Return the blocks of a function.

    Parameters
    ----------
    parts : mapping of range to sequence of Instruction
        Its code, and that of functions into which it jumps, by where it lies.
    begin : int
        Virtual address of the function.
    """
    ends: dict[int, _End] = {}  # by the address behind a block
    targets: dict[int, int] = {}
    for instructions in parts.values():
        written: dict[str, str] = {}  # by register, which instruction wrote it last
        for instruction in instructions:
            behind = instruction.address + instruction.size
            if instruction.calls and instruction.target is not None:
                targets[behind] = instruction.target
                if DOES_NOT_RETURN.fullmatch(file.symbol(instruction.target) or ""):
                    ends[behind] = _End()
            elif instruction.jumps:
                ends[behind] = _end_of_jump(instruction, parts, file, written)
            elif instruction.plain.startswith("ret"):
                ends[behind] = _End(leaves=RETURNS)
            elif instruction.name in ("ud2", "hlt", "udf", "brk"):
                ends[behind] = _End()
            written[instruction.operands.partition(",")[0]] = instruction.name
    leaders = {part[0] for part in parts} | {end.to for end in ends.values()} | ends.keys()
    places = sorted(leader for leader in leaders if leader is not None and _part_of(leader, parts))
    number = {place: at for at, place in enumerate(places)}
    successors: list[list[int]] = [[] for _ in places]
    leaves: dict[int, str] = {}
    by_table = []
    for at, place in enumerate(places):
        part = _part_of(place, parts)
        assert part is not None
        behind = min([part.stop, *places[at + 1 : at + 2]])
        end = ends.get(behind, _End(goes_on=True))
        if end.to is not None:
            successors[at].append(number[end.to])
        if end.goes_on and behind in part:
            successors[at].append(number[behind])
        if end.leaves is not None:
            leaves[at] = end.leaves
        if end.by_table:
            by_table.append((at, part))
    led_to = {number[begin], *(to for successor in successors for to in successor)}
    for at, part in by_table:
        inside = (to for to, place in enumerate(places) if place in part)
        successors[at] += [to for to in inside if to not in led_to]
    return Compiled(
        leaders=places,
        graph=FlowGraph(successors, number[begin]),
        ranges=tuple(parts),
        targets=targets,
        leaves=leaves,
    )


def _part_of(address: int, parts: Iterable[range]) -> range | None:
    return next((part for part in parts if address in part), None)


def _end_of_jump(
    jump: Instruction, parts: Iterable[range], file: ElfFile, written: Mapping[str, str]
) -> _End:
    """Return what happens at a jump.

    Compilers compute what they read of a table of jumps by an addition, or read it by an index.
    """
    goes_on = jump.plain not in ("jmp", "b", "br")
    to = file.own_code(jump.target)
    if to is not None and _part_of(to, parts):
        return _End(to=to, goes_on=goes_on)
    if jump.target is None and ("*" in jump.operands or written.get(jump.operands) == "add"):
        return _End(by_table=True)
    symbol = "" if jump.target is None else file.symbol(jump.target) or ""
    if DOES_NOT_RETURN.fullmatch(symbol):
        return _End(goes_on=goes_on)
    return _End(goes_on=goes_on, leaves=symbol)


class Functions:
    """The functions on the chains of call contexts, each looked at once.

    Parameters
    ----------
    contexts : CallContexts
    """

    def __init__(self, contexts: CallContexts) -> None:
        self._contexts = contexts
        self._known: dict[tuple[int, int], Function] = {}
        self._called: dict[int, tuple[int, int] | None] = {}
        self._first: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
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

    def called_by(self, frame: int) -> tuple[int, int] | None:
        """Return the key of the function that a frame calls, None if it is not known."""
        if frame not in self._called:
            module, _ = self.key(frame)
            address, symbol = self._target(frame)
            if symbol is None or IS_MPI.fullmatch(symbol):
                known = address is not None and symbol is None
                self._called[frame] = (module, address or 0) if known else None
            else:
                every = range(len(self._contexts.modules))
                files = {at: elf_file(self._contexts.modules[at]) for at in (module, *every)}
                found = ((at, file.exported.get(symbol)) for at, file in files.items() if file)
                self._called[frame] = next(
                    ((at, begin) for at, begin in found if begin is not None), None
                )
        return self._called[frame]

    def calls_library(self, frame: int) -> bool:
        """Tell whether the call of a frame goes through the table of functions of other modules."""
        return self._target(frame)[1] is not None

    def _target(self, frame: int) -> tuple[int | None, str | None]:
        """Return what the call of a frame calls, and its symbol if that is perhaps elsewhere."""
        function = self.of(frame)
        target = None if function is None else function.target(self.place(frame))
        file = None if target is None else elf_file(self._contexts.modules[self.key(frame)[0]])
        return target, None if file is None or target is None else file.symbol(target)

    def inside(self, chain: Sequence[int], level: int) -> tuple[tuple[int, int], Function | None]:
        """Return the function that a frame is in: what was called, if that jumped to its own.

        Returns
        -------
        tuple of int, int
            Its key.
        Function or None
            Its code.
        """
        frame, key = chain[level], self.key(chain[level])
        called = self.called_by(chain[level - 1]) if level else None
        if called is not None and called[0] == key[0] and called != key:
            function = self.code(called)
            if isinstance(function, Compiled) and function.has(self.place(frame)):
                return called, function
        return key, self.of(frame)

    def code(self, key: tuple[int, int]) -> Function | None:
        """Return the code of a function that may be on no chain."""
        if key not in self._known and key[0] >= 0:
            module = self._contexts.modules[key[0]]
            file = elf_file(module)
            there = None if file is None else file.function(key[1])
            return None if not there or there[0] != key[1] else compiled(module, key[1], len(there))
        return self._known.get(key)

    def may_jump(self, frame: int) -> bool:
        """Tell whether a function may jump, after a call, to code that is not looked at."""
        function = self.of(frame)
        return not isinstance(function, Compiled) or bool(
            function.ways_out(self.place(frame)) - {RETURNS}
        )

    def jumps(self, before: Sequence[int], after: Sequence[int], level: int) -> bool:
        """Tell whether one call led to the functions of two frames, by a jump from the first.

        Where it is not known to where the first may jump, it is so if the second is not what was
        called, or has never come first from there, or if the first cannot return.
        """
        one, other = before[level], after[level]
        function = self.of(one)
        if not isinstance(function, Compiled):
            return False
        if self.key(one)[0] == self.key(other)[0] and function.has(self.place(other)):
            return function.step(self.place(one), self.place(other)) != NEVER
        called = self.called_by(before[level - 1])
        ways = function.ways_out(self.place(one))
        if ways <= {RETURNS}:
            return False
        key, _ = self.inside(after, level)
        if called is None:
            return RETURNS not in ways or key not in self._first[before[level - 1]]
        return key != called

    def comes_first(self, chain: Sequence[int], level: int) -> None:
        """Note that control came from elsewhere to the calls of a chain, from a level on."""
        for at in range(level, len(chain) - 1):
            self._first[chain[at]].add(self.inside(chain, at + 1)[0])

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
