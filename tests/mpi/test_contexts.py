"""The chains of real programs: each call of MPI has those functions that the source says."""

import shutil
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import BIN, starter
from tests.programs.attaching import PROGRAMS, compiled, compiled_fortran, environment_for

import hindmost
from hindmost.harness.attach.loops import PAUSE
from hindmost.harness.attach.raw import Frame, RawRank
from hindmost.harness.attach.raw_program import RawProgram, read_program
from hindmost.harness.recorder.library import Flag
from hindmost.harness.runfile.contexts import NOWHERE, PYTHON, CallContexts, line_of, merged
from hindmost.harness.stack import current_stack

pytestmark = pytest.mark.mpi
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
MPI4PY = """
from mpi4py import MPI

def exchange(comm):
    comm.allreduce(1)

def step(comm):
    exchange(comm)
    comm.Barrier()

for _ in range(5):
    step(MPI.COMM_SELF)
list(map(lambda comm: comm.Barrier(), [MPI.COMM_SELF]))
"""
PETSC4PY = """
import sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc

class Operator:
    def mult(self, matrix, x, y):
        self.apply(x, y)

    def apply(self, x, y):
        inner.mult(x, y)
        x.norm()

inner = PETSc.Mat().createAIJ([50, 50], nnz=3, comm=PETSc.COMM_WORLD)
for row in range(*inner.getOwnershipRange()):
    inner[row, row] = 2.0 + row
inner.assemble()
matrix = PETSc.Mat().createPython([50, 50], context=Operator(), comm=PETSc.COMM_WORLD)
matrix.setUp()
ksp = PETSc.KSP().create(PETSc.COMM_WORLD)
ksp.setOperators(matrix)
ksp.setType("cg")
ksp.getPC().setType("none")
x, b = inner.createVecs()
b.set(1.0)

def solve():
    ksp.solve(b, x)

solve()
"""


def recorded(folder: Path, *words: str | Path, ranks: int = 0, status: int = 0) -> RawProgram:
    """Run a program with all of its calls recorded until it ends so; read what it left."""
    environment = environment_for(folder / "runs", "--iterate-at", "auto")
    started: list[str | Path] = ["sh", "-ec", f'{environment}\nexec "$@"', "sh", *words]
    launcher: list[str | Path] = [BIN / "mpiexec", "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, *started], check=False, cwd=folder, timeout=120)
    assert done.returncode == status
    (left,) = (folder / "runs").glob("*.raw")
    return read_program(left)


@cache
def symbols(program: Path) -> tuple[list[int], list[str]]:
    """Return the beginnings of a program's functions in order, and their names."""
    said = subprocess.run(
        ["nm", "--defined-only", program], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in said.stdout.splitlines()]
    found = sorted((int(at, 16), name) for at, kind, name in lines if kind in "tT")
    return [at for at, _ in found], [name for _, name in found]


@dataclass
class Named:
    """The calls of a rank as chains of names, the outermost first, after `main`."""

    raw: RawRank
    program: Path

    def frame(self, table: CallContexts, at: int) -> str:
        """Return a function's name; of a library, that of its file."""
        module, offset = int(table.module[at]), int(table.offset[at])
        if module == PYTHON:
            return table.codes[int(table.function[at])].function
        assert module != NOWHERE
        path = Path(table.modules[module].path)
        if path.name != self.program.name:
            return path.name.split(".")[0]
        begins, names = symbols(self.program)
        found = bisect_right(begins, offset - 1) - 1
        return names[found]

    def chains(self) -> Counter[tuple[str, ...]]:
        """Return how often each call was made, by the names of its chain and its own."""
        table = self.raw.contexts
        counts: Counter[tuple[str, ...]] = Counter()
        for section in self.raw.sections:
            contexts = section.array(Frame.CONTEXTS)
            assert contexts.all()
            records = section.array(Frame.RECORDS)
            # A call of several messages has a record for each, of which all but one are further.
            calls = (records["what"] < 0) & ((records["flags"] & Flag.FURTHER) == 0)
            numbers, contexts = records["what"][calls], contexts[calls]
            for what, context in zip(numbers.tolist(), contexts.tolist(), strict=True):
                names = [self.frame(table, at) for at in table.chain(context).tolist()]
                inside = names[names.index("main") :] if "main" in names else names
                counts[*inside, self.raw.program.call_names[-1 - what]] += 1
        return counts


@LEVELS
def test_chains_of_a_stripped_program(level: str, tmp_path: Path) -> None:
    """Loops, recursion, a moved frame, a signal, and libraries that come and go."""
    whole = compiled(tmp_path, "contexts", level, "-ldl")
    stripped = tmp_path / "stripped" / "contexts"
    stripped.parent.mkdir()
    shutil.copy(whole, stripped)
    subprocess.run(["strip", stripped], check=True)
    libraries = []
    for padding in ("16", "64", "4096"):
        library = tmp_path / f"libpadded{padding}.so"
        source = PROGRAMS / "contexts_library.c"
        words = ("-shared", "-fPIC", "-O2", f'-DPADDING="{padding}"', "-o", library, source)
        subprocess.run([current_stack().mpicc, *words], check=True, timeout=120)
        libraries.append(library)
    raw = recorded(tmp_path, stripped, *libraries).here[0]
    assert raw.program.program[0] == str(stripped)
    calls = Named(raw, whole).chains()
    assert calls["main", "step", "exchange", "MPI_Sendrecv"] == 12
    assert calls["main", "step", "aligned", "MPI_Allreduce"] == 4
    assert calls["main", *["deep"] * 41, "MPI_Barrier"] == 1
    assert (
        calls["main", "interrupted", "libc", "libc", "libc", "at_signal", "MPI_Bcast"]
        + calls["main", "interrupted", "libc", "libc", "at_signal", "MPI_Bcast"]
        == 1
    ), calls
    for library in libraries:
        assert calls["main", "from_libraries", library.stem, "MPI_Barrier"] == 1
    table = raw.contexts
    begins, _ = symbols(whole)
    own = table.module == [Path(module.path) == stripped for module in table.modules].index(True)
    assert set(table.function[own].tolist()) <= set(begins)
    (contexts,) = np.nonzero(raw.polls)
    polls = [
        (Named(raw, whole).frame(table, table.chain(context)[-1]), raw.polls[context])
        for context in contexts
    ]
    assert polls == [("poll_often", 500)] * 3
    # Calls that find nothing leave one record of a phase, whichever they are, between two pauses.
    (section,) = raw.sections
    records = section.array(Frame.RECORDS)
    polls_by = [raw.program.call_names.index(name) for name in ("MPI_Test", "MPI_Iprobe")]
    pauses = np.count_nonzero(records["what"] == PAUSE)
    idle = records[np.isin(-1 - records["what"], polls_by)]
    assert np.unique(idle["phase"]).size == 2
    assert 2 <= idle.size <= 2 * (1 + pauses) <= 20
    assert (idle["begin_ns"][1:] >= idle["end_ns"][:-1]).all()
    assert section.facts.between_polls_ns >= 999_000


def test_ranks_have_the_same_contexts(tmp_path: Path) -> None:
    """Their libraries lie at other addresses."""
    program = compiled(tmp_path, "contexts", "-O2", "-ldl")
    read = recorded(tmp_path, program, ranks=2)
    table, numbers = merged(raw.contexts for _, raw in sorted(read.here.items()))
    assert numbers[0].tolist() == numbers[1].tolist() == list(range(table.count))
    assert table.count > 6


@LEVELS
def test_chains_of_fortran(level: str, tmp_path: Path) -> None:
    """The bindings of MPI are no part of them."""
    source = tmp_path / "steps.F90"
    source.write_text(
        "subroutine reduce(x)\n use mpi\n double precision :: x, y\n integer :: failed\n"
        " call MPI_Allreduce(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_SELF, failed)\n"
        " x = y + 1\nend subroutine\n"
        "subroutine step(x)\n double precision :: x\n call reduce(x)\n x = x / 2\nend subroutine\n"
        "program steps\n use mpi\n double precision :: x\n integer :: failed, i\n x = 1\n"
        " call MPI_Init(failed)\n do i = 1, 10\n  call step(x)\n end do\n print *, x\n"
        " call MPI_Finalize(failed)\nend program\n"
    )
    program = compiled_fortran(tmp_path, level, "-fno-inline", "-fno-ipa-cp", source)
    calls = Named(recorded(tmp_path, program).here[0], program).chains()
    assert calls == {("main", "MAIN__", "step_", "reduce_", "MPI_Allreduce"): 10}


def of_python(calls: Counter[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """Return chains from the script on, each library once for all of its frames."""
    shown: Counter[tuple[str, ...]] = Counter()
    for names, count in calls.items():
        inside = names[names.index("<module>") :] if "<module>" in names else names
        shown[
            tuple(at for at, after in zip(inside, (*inside[1:], ""), strict=True) if at != after)
        ] += count
    return shown


def test_chains_of_mpi4py(tmp_path: Path) -> None:
    """Lines of Python stand in place of the interpreter."""
    script = tmp_path / "steps.py"
    script.write_text(MPI4PY)
    raw = recorded(tmp_path, sys.executable, script).here[0]
    calls = of_python(Named(raw, Path(sys.executable)).chains())
    assert calls["<module>", "step", "MPI", "MPI_Barrier"] == 5
    assert calls["<module>", "<lambda>", "MPI", "MPI_Barrier"] == 1
    inside = {names[:4] for names, count in calls.items() if count >= 5 and "exchange" in names}
    assert inside == {("<module>", "step", "exchange", "MPI")}
    table = raw.contexts
    own = [at for at, code in enumerate(table.codes) if code.function == "step"]
    lines = table.offset[(table.module == PYTHON) & (table.function == own[0])]
    assert sorted(map(line_of, lines.tolist())) == [8, 9]
    assert table.codes[own[0]].first_line == 7
    assert table.codes[own[0]].file == str(script)


def test_chains_of_petsc4py(tmp_path: Path) -> None:
    """PETSc's own frames stand between the Python that called it and that which it calls."""
    script = tmp_path / "solves.py"
    script.write_text(PETSC4PY)
    raw = recorded(tmp_path, sys.executable, script, ranks=2).here[0]
    calls = of_python(Named(raw, Path(sys.executable)).chains())
    petsc = next(name for names in calls for name in names if name.startswith("libpetsc"))
    outer = ("<module>", "solve", "PETSc", petsc)
    assert any(names[:4] == outer and names[4:] == ("MPI_Allreduce",) for names in calls)
    between = (*outer, "PETSc", "mult", "apply", "PETSc", petsc, "MPI_Allreduce")
    assert calls[between] > 1, calls


def test_a_run_file_has_the_contexts_of_its_events(tmp_path: Path) -> None:
    """Of each event that of its first call, in one table for all ranks."""
    program = compiled(tmp_path, "contexts", "-O2", "-ldl")
    words = ("attach", "--out", "runs", "--iterate-at", "MPI_Allreduce", "--", program)
    done = starter(tmp_path)(2, *words)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(path)
    table = run.contexts
    leaf = {
        context: symbols(program)[1][
            bisect_right(symbols(program)[0], int(table.offset[table.chain(context)[-1]]) - 1) - 1
        ]
        for context in range(1, table.count)
    }
    kind, context = run.variable("event_kind"), run.variable("event_context")
    named = [[leaf[each] for each in row if each] for row in context[:, 0].tolist()]
    assert named == [["exchange"] * 2 * 3 + ["aligned"]] * 3 or named == [["aligned"]] * 3, named
    assert (context[:, 0] == context[:, 1]).all()
    assert ((context > 0) == (kind > 0)[:, None, :]).all()
    polls = run.variable("context_polls")
    assert [(leaf[each], int(polls[each])) for each in np.flatnonzero(polls)] == [
        ("poll_often", 1000)
    ] * 3


def test_a_program_that_is_killed_leaves_its_contexts(tmp_path: Path) -> None:
    """Those of all records that it wrote before."""
    program = compiled(tmp_path, "ends")
    raw = recorded(tmp_path, program, "kill", "30000", status=-9).here[0]
    assert raw.end is None
    (section,) = raw.sections
    assert section.array(Frame.RECORDS).size > 10_000
    calls = Named(raw, program).chains()
    assert {names[:1] for names in calls} == {("main",)}
    assert {names[-1] for names in calls} >= {"MPI_Sendrecv", "MPI_Allreduce"}


WORKERS = """
#include <mpi.h>
#include <pthread.h>

static void *call(void *unused) {
  for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_SELF);
  return unused;
}

void run_workers(void) {
  pthread_t workers[2];
  for (int i = 0; i < 2; i++) pthread_create(&workers[i], NULL, call, NULL);
  for (int i = 0; i < 2; i++) pthread_join(workers[i], NULL);
}
"""
WAITS_WITH_THE_LOCK = """
import ctypes
import sys
from mpi4py import MPI

for _ in range(5):
    ctypes.PyDLL(sys.argv[1]).run_workers()
    MPI.COMM_SELF.Barrier()
print(MPI.Query_thread() == MPI.THREAD_MULTIPLE)
"""


def test_threads_of_other_code_do_not_wait_for_python(tmp_path: Path) -> None:
    """An extension may keep the interpreter's lock until its threads have ended."""
    library = tmp_path / "workers.so"
    (tmp_path / "workers.c").write_text(WORKERS)
    words = ("-shared", "-fPIC", "-pthread", "-o", library, tmp_path / "workers.c")
    subprocess.run([current_stack().mpicc, *words], check=True, timeout=120)
    attach = ("attach", "--out", tmp_path, "--iterate-at", "MPI_Barrier", "--")
    done = subprocess.run(
        [BIN / "hindmost", *attach, sys.executable, "-c", WAITS_WITH_THE_LOCK, library],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
