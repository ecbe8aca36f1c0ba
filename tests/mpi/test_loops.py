"""Loops of programs that nobody marked: found in their code from the contexts of MPI calls."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.programs.attaching import (
    PROGRAMS,
    Program,
    alone,
    attached,
    close_books,
    compiled_fortran,
    record_all,
)

import hindmost
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.loops.code import compiled
from hindmost.harness.loops.elf import elf_file
from hindmost.harness.loops.names import places_of
from hindmost.harness.runfile.contexts import CallContexts, Module
from hindmost.harness.runfile.reader import Run
from hindmost.harness.stack import current_stack

SHAPES = {
    "conditional": ("300", 300),
    "chunks": ("200", 200),
    "solves": ("40", 40),
    "few": ("7", 7),
    "kinds": ("300", 300),
    "recursion": ("100", 100),
    "phases": ("150", 150),
    "unrolled": ("240", 240),
    "inlined": ("100", 100),
    "stages": ("200", 600),
    "fields": ("120", 120),
    "messages": ("200", 200),
    "benchmarks": ("", 12),
    "repeats": ("50", 200),
    "implicit": ("40", 244),
    "points": ("9", 39),
    "script": ("30", 330),
    "polls": ("120", 120),
}
"""What each is asked for, and its iterations."""
HALO = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
for number in range(60):
    both = [world.isend(0, 0), world.isend(1, 0)]; got = [world.irecv() for _ in both]
    MPI.Request.waitall(both + got)
    sum(range(20_000))
    world.barrier()
"""
STEPS = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
def step(parts):
    for part in range(parts):
        world.allreduce(part)
        sum(range(100_000))
for number in range(30):
    world.barrier()
    step(number % 4 + 1)
    sum(range(200_000))
"""
JUMPS = ("nested", "deep", "direct", "branches", "pointers", "stages", "inner", "moved")
"""Of functions that end with jumps, each with as many iterations as it is asked for."""
JUMPING = [
    *(("whole", shape) for shape in JUMPS),
    *((way, shape) for way in ("no-plt", "library") for shape in ("nested", "pointers")),
]
"""How each is compiled: what differs are the calls between functions."""
HARD = ("chunks", "kinds", "recursion", "stages")
"""Those that compilers change most."""


def by_share(runs: list[Run]) -> list[Run]:
    """Return the runs of a program, that of the loop with most of the time first."""
    return sorted(runs, key=lambda each: -attached(each)["loop"]["share"])


def only_run(folder: Path) -> Run:
    (path,) = (folder / "runs").glob("*.h5")
    return hindmost.open(path)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the program, compiled in several ways; one is stripped."""
    folder = tmp_path_factory.mktemp("programs")
    for level in ("-O0", "-O2", "-O3"):
        words = [current_stack().mpicc, "-g", level, "-o", folder / level, PROGRAMS / "loops.c"]
        subprocess.run(words, check=True, timeout=120)
    subprocess.run(["strip", "-o", folder / "stripped", folder / "-O2"], check=True, timeout=60)
    return folder


CASES = [
    *(("-O2", shape) for shape in SHAPES),
    *((level, shape) for level in ("-O0", "-O3", "stripped") for shape in HARD),
]


@pytest.fixture(scope="module")
def found(programs: Path) -> dict[str, list[Run]]:
    """Return the runs of each way to compile each shape, and of programs of Python."""
    (programs / "halo.py").write_text(HALO)
    (programs / "steps.py").write_text(STEPS)
    auto = ("--iterate-at", "auto")
    given = {
        f"{level} {shape}": Program(command=(programs / level, shape, SHAPES[shape][0]), words=auto)
        for level, shape in CASES
    }
    given["halo"] = Program(command=(sys.executable, programs / "halo.py"))
    given["steps"] = Program(command=(sys.executable, programs / "steps.py"), words=auto)
    return record_all(programs, given)


@pytest.mark.parametrize(("level", "shape"), CASES)
def test_the_iterations_are_those_of_the_program(
    level: str, shape: str, found: dict[str, list[Run]]
) -> None:
    iterations = SHAPES[shape][1]
    run, *phases = by_share(found[f"{level} {shape}"])
    loop = attached(run)["loop"]
    assert run.durations.shape[0] == loop["iterations"] == iterations, loop
    assert [phase.durations.shape[0] for phase in phases] == [150] * (shape == "phases")
    assert loop["by_code"]
    assert level == "stripped" or "(loops.c:" in loop["name"]
    assert loop["few"] == (shape == "few")
    # Code alone does not prove that a call is in each iteration that calls its own function.
    assert bool(run.header.passes) == (shape == "recursion")
    if shape == "inlined":
        assert level == "stripped" or loop["name"].startswith("inlined (")
    around = [
        (each["iterations"], each["at_least"]) for each in loop["loops"] if each["role"] == "around"
    ]
    if shape in ("chunks", "stages"):  # with output between, of each chunk or of some steps
        assert around == [(20, shape == "stages")]
    if shape == "unrolled" and level == "-O2":  # calls of one function, told by their lines
        callers = {each["caller"].rpartition(":")[0] for each in loop["loops"]}
        assert callers == {"unrolled (loops.c"}
    if shape == "phases":
        assert [each["iterations"] for each in loop["loops"] if each["role"] == "phase"] == [150]
    close_books(run)


@pytest.fixture(scope="module")
def jumping(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Run]]:
    """Return the runs of programs whose functions end with jumps, by how they are compiled."""
    folder = tmp_path_factory.mktemp("jumps")
    source, compiler = PROGRAMS / "tails.c", current_stack().mpicc
    library = ("-shared", "-fPIC", "-DLIBRARY", source, "-o", folder / "libtails.so")
    program = ("-DPROGRAM", source, f"-L{folder}", "-ltails", f"-Wl,-rpath,{folder}")
    classes = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-x", "c++", PROGRAMS / "tails.cpp")
    programs = [
        (source, "-o", folder / "whole"),
        ("-fno-plt", source, "-o", folder / "no-plt"),
        library,
        (*program, "-o", folder / "library"),
    ]
    if shutil.which("g++"):
        programs.append((*classes, "-lstdc++", "-o", folder / "classes"))
    for words in programs:
        subprocess.run([compiler, "-O2", *words], check=True, timeout=120)
    auto = ("--iterate-at", "auto")
    given = {
        f"{way} {shape}": Program(command=(folder / way, shape, "100"), words=auto, ranks=1)
        for way, shape in JUMPING
    }
    if shutil.which("g++"):
        given["virtual"] = Program(command=(folder / "classes",), words=auto, ranks=1)
    return record_all(folder, given)


@pytest.mark.parametrize(("way", "shape"), JUMPING)
def test_a_function_that_ends_with_a_jump_is_called_once(
    way: str, shape: str, jumping: dict[str, list[Run]]
) -> None:
    (run,) = jumping[f"{way} {shape}"]
    assert run.durations.shape[0] == 100
    assert not run.header.passes


def test_jumps_through_virtual_functions(jumping: dict[str, list[Run]]) -> None:
    if "virtual" not in jumping:
        pytest.skip("no compiler for C++")
    (run,) = jumping["virtual"]
    assert run.durations.shape[0] == 71


def test_jumps_between_subroutines_of_fortran(tmp_path: Path) -> None:
    flags = ("-O2", "-fno-inline", "-fno-ipa-cp", "-fno-ipa-pure-const")
    program = compiled_fortran(tmp_path, *flags, PROGRAMS / "tails.f90")
    done = alone("--out", "runs", "--iterate-at", "auto", "--", program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert (run.durations.shape[0], run.header.passes) == (60, "")


def test_a_loop_may_have_more_iterations_than_calls_separate(
    found: dict[str, list[Run]], capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = found["-O2 recursion"]
    assert main(["show", str(run.path)]) == 0
    assert "100 iterations, each of one or more passes of its loop" in capsys.readouterr().out


def test_ranks_agree_and_a_person_may_choose_another_loop(
    programs: Path, ranks: Ranks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("attach", "--out", "runs", "--iterate-at", "solve", "--")
    done = ranks(2, *words, programs / "-O2", "solves", "40")
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    loop = attached(run)["loop"]
    assert run.durations.shape == (200, 2)  # 3 to 7 of each solve
    assert loop["name"].startswith("solve (loops.c:")
    close_books(run)
    assert main(["show", str(tmp_path / "runs")]) == 0
    assert "loop solve (loops.c:" in capsys.readouterr().out


def test_without_a_loop_all_is_one_iteration_and_records_are_kept(
    programs: Path, tmp_path: Path
) -> None:
    words = ("--out", "runs", "--iterate-at", "auto", "--", programs / "-O2", "few", "1")
    done = alone(*words, folder=tmp_path)
    assert ": no loop " in done.stderr
    run = only_run(tmp_path)
    assert run.header.iteration_is == "the whole program"
    (raw,) = (tmp_path / "runs").glob("*.raw")
    assert f"hindmost attach --convert {raw}" in done.stderr
    with pytest.raises(DataError, match=r"no loop .* is named 'nowhere'\. Loops: 'solve"):
        main(["attach", "--convert", str(raw), "--iterate-at", "nowhere"])
    run.path.unlink()
    assert main(["attach", "--convert", str(raw), "--iterate-at", "solve"]) == 0
    assert only_run(tmp_path).durations.shape[0] == 3
    assert not raw.exists()


def test_calls_on_one_line_of_python_are_no_loop(found: dict[str, list[Run]]) -> None:
    (run,) = found["halo"]
    assert (run.durations.shape[0], attached(run)["loop"]["name"]) == (60, "<module> (halo.py:3)")


SYMBOLS = """
int first(int at) { return at * 3; }
static __attribute__((noinline)) int second(int at) { return at * at + first(at); }
int third(int at) { return second(at) + 1; }
"""


def test_a_function_without_a_symbol_has_not_that_of_another(tmp_path: Path) -> None:
    (tmp_path / "code.c").write_text(SYMBOLS)
    whole, library = tmp_path / "whole.so", tmp_path / "library.so"
    words = (current_stack().mpicc, "-O1", "-shared", "-fPIC", "-o", whole, tmp_path / "code.c")
    subprocess.run(words, check=True, timeout=60)
    subprocess.run(("strip", "-o", library, whole), check=True, timeout=60)
    listed = subprocess.run(("nm", whole), capture_output=True, text=True, check=True, timeout=60)
    symbols = (line.split() for line in listed.stdout.splitlines())
    begins = {
        symbol[-1]: int(symbol[0], 16)
        for symbol in symbols
        if symbol[-1] in ("first", "second", "third")
    }
    known = library.stat()
    frames = np.array([*begins.values()])
    contexts = replace(
        CallContexts.none(),
        modules=(Module(path=str(library), identity=f"{known.st_size}:{known.st_mtime_ns}"),),
        module=np.zeros(3, np.int32),
        offset=frames + 4,
        function=frames,
        size=np.full(3, 8),
    )
    named = places_of(contexts, range(3))
    said = dict(zip(begins, (named[at].function for at in range(3)), strict=True))
    assert (said["first"], said["third"]) == ("first", "third")
    assert said["second"] == f"library.so+{begins['second'] + 3:#x}"


ENDING = """
#include <stdlib.h>
int sum(int count) {
  int all = 0;
  for (int at = 0; at < count; at++) {
    if (at == 77) abort();
    all += rand();
  }
  return all;
}
"""


def test_nothing_follows_a_call_that_ends_the_program(tmp_path: Path) -> None:
    (tmp_path / "code.c").write_text(ENDING)
    library = tmp_path / "code.so"
    words = (current_stack().mpicc, "-O1", "-shared", "-fPIC", "-o", library, tmp_path / "code.c")
    subprocess.run(words, check=True, timeout=60)
    listed = subprocess.run(("nm", "-S", library), capture_output=True, text=True, check=True)
    (row,) = (line.split() for line in listed.stdout.splitlines() if line.endswith(" sum"))
    known = library.stat()
    module = Module(path=str(library), identity=f"{known.st_size}:{known.st_mtime_ns}")
    file, function = elf_file(module), compiled(module, int(row[0], 16), int(row[1], 16))
    assert file is not None
    assert function is not None
    follow = {
        file.symbol(target): function.graph.successors[function.block(place)]
        for place, target in function.targets.items()
    }
    if file.machine == "x86":  # of others it is not known
        assert set(follow) == {"abort", "rand"}
        assert not follow["abort"]
    assert len(function.graph.loops) == 1


def test_loops_of_python(found: dict[str, list[Run]]) -> None:
    (run,) = found["steps"]
    loop = attached(run)["loop"]
    assert (run.durations.shape[0], loop["name"]) == (30, "<module> (steps.py:7)")
    inside = [each for each in loop["loops"] if each["role"] == "inside"]
    found_inside = [(each["name"], each["iterations"], each["at_least"]) for each in inside]
    assert found_inside == [("step (steps.py:4)", 73, False)]
