"""What Python reads of the recorder has the layout and the numbers of abi.h."""

from __future__ import annotations

import re
import subprocess
from enum import IntEnum
from pathlib import Path

import pytest

from hindmost.harness.attach.raw import CLOCK, EDGE, HEAD, STRETCH, VERSION, Frame
from hindmost.harness.recorder.build import FOLDER
from hindmost.harness.recorder.call_contexts import PLACE
from hindmost.harness.recorder.library import NOBODY, PHASES, RECORD, CallClass, Flag
from hindmost.harness.stack import current_stack

LAYOUTS = {
    "record": RECORD,
    "place": PLACE,
    "edge": EDGE,
    "clock_offset": CLOCK,
    "stretch": STRETCH,
}
"""Structures of abi.h, by the dtype that Python reads them with."""


def printed(folder: Path, *statements: str) -> list[str]:
    """Return the lines that statements of C print that know abi.h."""
    source = folder / "layout.c"
    body = "\n".join(statements)
    head = '#include <stddef.h>\n#include <stdio.h>\n#include "abi.h"\n'
    source.write_text(f"{head}int main(void) {{\n{body}\n}}\n")
    program = folder / "layout"
    command = [current_stack().mpicc, f"-I{FOLDER}", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_structure_has_the_layout_that_is_read(name: str, tmp_path: Path) -> None:
    dtype = LAYOUTS[name]
    lines = printed(
        tmp_path,
        *(
            f'printf("%zu %zu\\n", offsetof(struct {name}, {field}), '
            f"sizeof ((struct {name} *)0)->{field});"
            for field in dtype.names or ()
        ),
    )
    expected = [
        f"{dtype.fields[field][1]} {dtype.fields[field][0].itemsize}"
        for field in dtype.names or ()
        if dtype.fields is not None
    ]
    assert lines[:-1] == expected


def enumeration(name: str) -> dict[str, int]:
    """Return an enumeration of abi.h."""
    found = re.search(rf"enum {name} {{(.*?)}}", (FOLDER / "abi.h").read_text(), re.S)
    assert found is not None
    numbers: dict[str, int] = {}
    for entry in re.sub(r"/\*.*?\*/", "", found[1], flags=re.S).split(","):
        key, _, value = entry.strip().partition(" = ")
        if key:
            numbers[key] = int(value) if value else max(numbers.values(), default=-1) + 1
    return numbers


def members(kind: type[IntEnum] | type[Flag]) -> dict[str, int]:
    return {member.name: int(member) for member in kind if member.name is not None}


def test_enumerations_have_the_same_numbers(tmp_path: Path) -> None:
    assert members(Flag) == enumeration("flag")
    frames = {name.removeprefix("RAW_"): number for name, number in enumeration("raw_kind").items()}
    assert members(Frame) == frames
    assert len(PHASES) == enumeration("phase")["PHASES"]
    names = [f'printf("%d\\n", {member.name});' for member in CallClass]
    lines = printed(
        tmp_path,
        *names,
        'printf("%d\\n%d\\n%zu\\n", NO_MESSAGE, RAW_VERSION, sizeof(struct raw_head));',
    )
    numbers = [*CallClass, NOBODY, VERSION, HEAD.size]
    assert lines[:-1] == [str(int(number)) for number in numbers]
