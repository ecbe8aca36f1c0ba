"""Names of places in code: function, file and line, as far as symbols and debug data tell."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from hindmost.harness.loops.code import NOT_THE_PROGRAM
from hindmost.harness.loops.elf import elf_file
from hindmost.harness.runfile.contexts import PYTHON, CallContexts, CodePlace, Module, line_of
from hindmost.printable import printable


def places_of(contexts: CallContexts, frames: Sequence[int]) -> dict[int, CodePlace]:
    """Return where the calls of some frames are made.

    Parameters
    ----------
    frames : sequence of int
        Indices of frames.
    """
    places: dict[int, CodePlace] = {}
    by_module: dict[int, list[int]] = {}
    for frame in frames:
        module = int(contexts.module[frame])
        if module == PYTHON:
            code = contexts.codes[int(contexts.function[frame])]
            places[frame] = CodePlace(
                function=printable(code.function),
                file=printable(Path(code.file).name),
                line=line_of(int(contexts.offset[frame])),
            )
        elif module >= 0:
            by_module.setdefault(module, []).append(frame)
        else:
            places[frame] = CodePlace(function="code without a file")
    for module, members in by_module.items():
        # A return address lies behind its call, which may be the last instruction of its line.
        addresses = {frame: int(contexts.offset[frame]) - 1 for frame in members}
        begins = {frame: int(contexts.function[frame]) for frame in members}
        own = contexts.modules[module]
        if NOT_THE_PROGRAM.search(own.path):  # what it calls inside is nobody's
            stem = printable(Path(own.path).name.partition(".")[0])
            places |= {frame: CodePlace(function=stem) for frame in members}
            continue
        wanted = {*addresses.values(), *(max(begin - 1, 0) for begin in begins.values())}
        named = lines_of(own, sorted(wanted))
        places |= {
            frame: of_function(named[address][0], named[max(begins[frame] - 1, 0)], own, address)
            for frame, address in addresses.items()
        }
    return places


def of_function(
    place: CodePlace, before: Sequence[CodePlace], module: Module, address: int
) -> CodePlace:
    """Return a place; its address alone if its symbol is that of an earlier function.

    Parameters
    ----------
    before : sequence of CodePlace
        What lies before its function. Without debug data, a place has the nearest symbol before it
        that the file still has.
    """
    if place.line or not place.symbol or place.symbol != before[0].symbol:
        return place
    return CodePlace(function=f"{printable(Path(module.path).name)}+{address:#x}")


def name_of_loop(
    contexts: CallContexts,
    key: tuple[tuple[int, ...], tuple[int, int], int],
    frames: Sequence[int],
) -> str:
    """Return the name of a loop: function, file and line of where it begins.

    Parameters
    ----------
    key : LoopKey
    frames : sequence of int
        Of its function, in it.
    """
    _, (module, function), header = key
    if module == PYTHON:
        place = places_of(contexts, frames[:1])[frames[0]]
        return f"{place.function} ({place.file}:{header})"
    if module < 0:
        return "code without a file"
    place = place_of_loop(contexts, frames, function, header)
    if place.line or place.is_address:
        return str(place)
    return f"{place.function} (+{header - function:#x})"


def place_of_loop(
    contexts: CallContexts, frames: Sequence[int], function: int, header: int
) -> CodePlace:
    """Return where a loop of machine code begins.

    Its first instruction may be one of a function that the compiler inlined into the loop. The loop
    is in the innermost function that has the calls of all its frames.

    Parameters
    ----------
    frames : sequence of int
        Of its function, in it.
    function : int
        Where that begins: an address in the module.
    header : int
        Its first instruction: an address in the module.
    """
    calls = [int(contexts.offset[frame]) - 1 for frame in frames]
    module = contexts.modules[int(contexts.module[frames[0]])]
    before = max(function - 1, 0)
    named = lines_of(module, sorted({header, before, *calls}))
    outermost_first = [named[each][::-1] for each in (header, *calls)]
    place = outermost_first[0][0]
    for level in zip(*outermost_first, strict=False):
        if len({each.function for each in level}) > 1:
            break
        place = level[0]
    return of_function(place, named[before], module, header)


@lru_cache(maxsize=1 << 12)
def known_lines(module: Module) -> dict[int, tuple[CodePlace, ...]]:
    """Return what was found out about addresses in a module, for all that ask."""
    return {}


def lines_of(module: Module, addresses: Sequence[int]) -> Mapping[int, tuple[CodePlace, ...]]:
    """Return what is known of virtual addresses in a module.

    Returns
    -------
    mapping of int to tuple of CodePlace
        The function of each, the innermost inlined one first.
    """
    known = known_lines(module)
    if new := [address for address in addresses if address not in known]:
        known |= looked_up(module, new)
    return known


def looked_up(module: Module, addresses: Sequence[int]) -> Mapping[int, tuple[CodePlace, ...]]:
    """Return what addr2line of the binutils says of addresses; see `lines_of`."""
    name = printable(Path(module.path).name)
    unknown = {address: (CodePlace(function=f"{name}+{address:#x}"),) for address in addresses}
    program = shutil.which("addr2line")
    if program is None or elf_file(module) is None:
        return unknown
    words = [program, "--addresses", "--functions", "--inlines", "--demangle", "--exe", module.path]
    try:
        done = subprocess.run(
            words, input="".join(f"{address:#x}\n" for address in addresses), text=True,
            capture_output=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError:
        return unknown
    found: dict[int, tuple[CodePlace, ...]] = dict(unknown)
    for part in re.split(r"^0x", done.stdout, flags=re.MULTILINE)[1:]:
        address, *lines = part.splitlines()
        named = tuple(map(_place, lines[::2], lines[1::2]))
        if int(address, 16) in unknown and named and named[0].function != "??":
            found[int(address, 16)] = named
    return found


def _place(function: str, where: str) -> CodePlace:
    """Return a place from two lines of addr2line."""
    file, _, number = where.partition(" (")[0].rpartition(":")
    line = int(number) if number.isdecimal() and not file.startswith("?") else 0
    of_fortran = file.lower().endswith((".f90", ".f", ".f03", ".f08", ".f95"))
    return CodePlace(
        function=printable(short(function, of_fortran=of_fortran)),
        file=printable(Path(file).name) if line else "",
        line=line,
        symbol=function,
    )


def short(function: str, *, of_fortran: bool = False) -> str:
    """Return the name of a function without parameters and template arguments.

    One of Fortran is named as in its source: without the module and the last underscore. The main
    program is MAIN__.
    """
    if of_fortran:
        return (
            function
            if function == "MAIN__"
            else re.sub(r"^__\w+?_MOD_", "", function).removesuffix("_")
        )
    plain = function.replace("(anonymous namespace)::", "").replace("operator()", "operator")
    depth, kept = 0, ""
    for letter in re.sub(r"\(.*", "", plain):
        depth += letter == "<"
        if not depth:
            kept += letter
        depth -= letter == ">"
    return kept.split(" ")[-1] or function


def with_places(table: CallContexts) -> CallContexts:
    """Return contexts with function, file and line of each frame."""
    named = places_of(table, range(table.module.size))
    return replace(table, places=tuple(str(named[frame]) for frame in range(table.module.size)))
