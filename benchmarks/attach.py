"""What `hindmost attach` costs a program: ``python -m benchmarks.attach [SECONDS OF A CASE]``.

Pairs of processes in turn: the bare program, and the program with the recorder preloaded, in which
every second solve (or loop) is recorded. Three differences follow: recorded and unrecorded solves
of one process; recorded solves and those of the bare program, as the recorder times them; and the
same as the program times them, which includes writing the records after each solve.

``PEERS="mpip=/opt/mpip/lib/libmpiP.so"`` in the environment preloads other tools in turn with
these: names and what to preload, separated by blanks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.recorder import interval
from numpy.typing import NDArray

from hindmost.harness.attach.environment import variables
from hindmost.harness.attach.raw import Frame
from hindmost.harness.attach.raw_program import read_program
from hindmost.harness.attach.settings import AttachRequest
from hindmost.harness.recorder.build import recorder_library
from hindmost.harness.recorder.library import record_cost_ns
from hindmost.harness.stack import current_stack

SOURCES = Path(__file__).with_name("peers")
SECONDS = 25.0
"""For each case."""
MIN_PAIRS = 4
UNKNOWNS, ITERATIONS, SOLVES = 1000, 1500, 8
"""Of a rank; of a solve; of a process."""
LOOPS, CALLS, ROUNDS = 5000, 10, 12
"""Iterations of a loop, calls of an iteration, loops of a process."""
DEEPER = 18
"""Functions around the loop, so that a call's context has as many frames more."""
GOAL_ITERATION_NS, GOAL_CALL_NS = 600.0, 40.0
LIMIT_S = 120.0
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
COST_ROUNDS = 5
FIND_PETSC = (
    "import petsc4py; petsc4py.init(); import petsc4py.PETSc;"
    "from hindmost.harness.recorder.petsc_library import libpetsc_path; print(libpetsc_path())"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program that is timed.

    Attributes
    ----------
    name : str
    words : tuple of str
        The program and its arguments.
    ranks : int
    units : int
        Iterations of a solve, or calls of a loop: what the cost is given for.
    unit : str
    goal_ns : float
    """

    name: str
    words: tuple[str, ...]
    ranks: int
    units: int
    unit: str
    goal_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the recorder says of the recorded solves of one process.

    Attributes
    ----------
    seconds : float64 array, shape (solve,), seconds
        Of the slowest rank.
    marks, calls : float
        Records per unit, the mean of ranks.
    """

    seconds: NDArray[np.float64]
    marks: float
    calls: float


def compile_programs(folder: Path) -> tuple[Path, Path]:
    """Return the programs with solves and with loops."""
    asked = subprocess.run(
        [sys.executable, "-c", FIND_PETSC], capture_output=True, text=True, check=True
    )
    petsc = Path(asked.stdout.split()[-1])
    libraries = {"attach_solves": [str(petsc), f"-Wl,-rpath,{petsc.parent}"], "attach_loop": []}
    for name, words in libraries.items():
        source = str(SOURCES / f"{name}.c")
        mpicc = current_stack().mpicc
        subprocess.run([mpicc, "-O2", "-o", str(folder / name), source, *words], check=True)
    return folder / "attach_solves", folder / "attach_loop"


def cases(solves: Path, loop: Path) -> list[Case]:
    """Return what is timed: two solvers, and a loop in main or below it, on one and two ranks."""
    found = []
    for ranks in (1, 2):
        for solver in ("gmres", "pgmres"):
            numbers = (str(UNKNOWNS * ranks), str(ITERATIONS), str(SOLVES))
            found.append(
                Case(
                    name=solver,
                    words=(str(solves), *numbers, solver),
                    ranks=ranks,
                    units=ITERATIONS,
                    unit="iteration",
                    goal_ns=GOAL_ITERATION_NS,
                )
            )
        found += [
            Case(
                name="deep loop" if depth else "loop",
                words=(str(loop), str(LOOPS), str(CALLS), str(ROUNDS), str(depth)),
                ranks=ranks,
                units=LOOPS * CALLS,
                unit="call",
                goal_ns=GOAL_CALL_NS,
            )
            for depth in (0, DEEPER)
        ]
    return found


def run(case: Case, environment: dict[str, str]) -> NDArray[np.float64]:
    """Run the program; return the seconds of its solves as it times them, shape (solve,)."""
    mpiexec = str(Path(sys.prefix) / "bin" / "mpiexec")
    given = [f"{name}={value}" for name, value in (ONE_THREAD | environment).items()]
    words = [mpiexec, "-n", str(case.ranks), "env", *given, *case.words]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return np.array([float(line) for line in done.stdout.split()])


def run_recorded(case: Case, folder: Path) -> tuple[NDArray[np.float64], Recorded]:
    """Run the program under the recorder, which takes every second solve; the raw files go."""
    out = folder / "runs"
    out.mkdir()
    settings = folder / "attach.settings"
    every = 1 if case.unit == "call" else 2  # a loop takes every second one by its marks
    settings.write_text(AttachRequest(out=out, every=every).text(None))
    times = run(case, variables(recorder_library(), settings, {}))
    (raw,) = out.glob("*.raw")
    ranks = read_program(raw).here.values()
    marks = calls = 0
    for each in ranks:
        kinds = [section.array(Frame.RECORDS)["what"] for section in each.sections]
        marks += sum(int(np.count_nonzero(kind > 0)) for kind in kinds)
        calls += sum(int(np.count_nonzero(kind < 0)) for kind in kinds)
    seconds = np.array([[section.facts.seconds for section in rank.sections] for rank in ranks])
    shutil.rmtree(out)
    units = case.units * seconds.size
    return times, Recorded(seconds=seconds.max(axis=0), marks=marks / units, calls=calls / units)


def peers() -> dict[str, str]:
    """Return what else is to be preloaded, by name."""
    given = os.environ.get("PEERS", "").split()
    return dict(each.split("=", 1) for each in given if "=" in each)


def judged(differences_ns: list[float], goal_ns: float) -> str:
    """Return the median of pairs with its 90 % interval, and whether it reaches the goal."""
    values = np.array(differences_ns)
    low, high = interval(lambda drawn: float(np.median(drawn)), values)
    verdict = "reached" if high <= goal_ns else "missed" if low > goal_ns else "undecided"
    return f"{np.median(values):.1f} [{low:.1f}, {high:.1f}] ns: {verdict}"


def measure(case: Case, folder: Path, seconds: float, costs_ns: tuple[float, float]) -> str:
    """Run pairs for some seconds and return a line."""
    tools = peers()
    differences: dict[str, list[float]] = {}
    bare: list[float] = []
    per_unit = 1e9 / case.units
    deadline = time.monotonic() + seconds
    while len(bare) < MIN_PAIRS or time.monotonic() < deadline:
        # The first two solves of a process touch memory for the first time.
        if len(bare) % 2:
            own = run(case, {})[2:]
            times, recorded = run_recorded(case, folder)
        else:
            times, recorded = run_recorded(case, folder)
            own = run(case, {})[2:]
        base, in_solve = float(np.median(own)), float(np.median(recorded.seconds[1:]))
        bare.append(base * per_unit)
        found = {
            "in one process": in_solve - float(np.median(times[3::2])),
            "against bare": in_solve - base,
            "with writing": float(np.median(times[2::2])) - base,
        }
        for name, library in tools.items():
            found[name] = float(np.median(run(case, {"LD_PRELOAD": library})[2:])) - base
        for name, difference in found.items():
            differences.setdefault(name, []).append(difference * per_unit)
    counted_ns = recorded.marks * costs_ns[0] + recorded.calls * costs_ns[1]
    cells = (
        f"{case.name}, {case.ranks} ranks, {len(bare)} pairs",
        f"{np.median(bare):.1f} ns a bare {case.unit}; goal {case.goal_ns:.0f} ns more",
        f"{recorded.marks:.1f} marks of {costs_ns[0]:.0f} ns, {recorded.calls:.1f} calls of "
        f"{costs_ns[1]:.0f} ns: counted {counted_ns:.1f} ns",
        *(f"{name} {judged(values, case.goal_ns)}" for name, values in differences.items()),
    )
    return " | ".join(cells)


def least_cost_ns(*, interval_of_mpi: bool) -> float:
    """Return the cost of a record, the least of some rounds."""
    return min(record_cost_ns(interval=interval_of_mpi) for _ in range(COST_ROUNDS))


def main() -> None:
    """Measure and print one line for each case."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    costs_ns = least_cost_ns(interval_of_mpi=False), least_cost_ns(interval_of_mpi=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in cases(*compile_programs(folder)):
            print(measure(case, folder, seconds, costs_ns), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
