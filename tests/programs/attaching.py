"""Compile programs of the tests, run them under `hindmost attach`, and look at the runs."""

from __future__ import annotations

import io
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import BIN, ROOT

import hindmost
from hindmost.cli import main
from hindmost.harness.attach.convert import convert_all
from hindmost.harness.runfile.reader import Run
from hindmost.harness.stack import current_stack

PROGRAMS = ROOT / "tests" / "programs"
ATTACH = ROOT / "harness" / "attach"
FIND_PETSC = (
    "import petsc4py; petsc4py.init(); import petsc4py.PETSc;"
    "from hindmost.harness.recorder.petsc_library import libpetsc_path; print(libpetsc_path())"
)
DEEP = (
    *("-deep_ksp_type", "fgmres", "-deep_pc_type", "ksp"),
    *("-deep_ksp_ksp_type", "cg", "-deep_ksp_pc_type", "jacobi", "-deep_ksp_ksp_max_it", "3"),
)


def compiled(folder: Path, name: str, *words: str | Path) -> Path:
    """Compile one of the programs with the stack's mpicc."""
    program = folder / name
    command = [current_stack().mpicc, "-o", program, PROGRAMS / f"{name}.c", *words]
    subprocess.run(command, check=True, timeout=120)
    return program


def fortran_compiler() -> str:
    """Return the stack's Fortran compiler for MPI; skip where there is none."""
    compiler = shutil.which("mpifort", path=str(Path(current_stack().mpicc).parent))
    if compiler is None or shutil.which("gfortran") is None:
        pytest.skip("no gfortran, or the MPI has no compiler for Fortran (MPICH's wheel has none)")
    return compiler


def compiled_fortran(folder: Path, *words: str | Path) -> Path:
    """Compile sources of Fortran with the stack's MPI."""
    program = folder / "fortran"
    flags = ("-cpp", "-w", "-fallow-argument-mismatch", "-J", str(folder))
    command: list[str | Path] = [fortran_compiler(), *flags, "-o", program, *words]
    subprocess.run(command, check=True, timeout=120)
    return program


@cache
def shared_petsc() -> Path:
    """Return the stack's libpetsc."""
    asked = subprocess.run(
        [sys.executable, "-c", FIND_PETSC], capture_output=True, text=True, check=True
    )
    return Path(asked.stdout.split()[-1])


def alone(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the verb without a launcher."""
    command = [Path(sys.prefix) / "bin" / "hindmost", "attach", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=folder
    )


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program to record: its command line, words for `hindmost attach`, and its ranks."""

    command: Sequence[str | Path]
    words: Sequence[str] = ()
    ranks: int = 1


def environment_for(out: Path, *words: str) -> str:
    """Return the lines of a script after which programs are recorded into a folder."""
    with redirect_stdout(io.StringIO()) as said:
        assert main(["attach", "--print", "env", "--out", str(out), *words]) == 0
    return said.getvalue()


def record_all(folder: Path, programs: Mapping[str, Program]) -> dict[str, list[Run]]:
    """Record programs from one script with ``--print env``, and convert what each left.

    `hindmost attach` starts Python for each, which takes longer than most of them.

    Returns
    -------
    dict of str to list of Run
        Of each, in the order of their file names.
    """
    lines = []
    for name, program in programs.items():
        environment = environment_for(folder / name, *program.words)
        launcher = [BIN / "mpiexec", "-n", program.ranks] if program.ranks > 1 else []
        words = shlex.join(map(str, [*launcher, *program.command]))
        lines.append(f"({environment}\n{words}) || true")
    subprocess.run(
        ["sh", "-c", "\n".join(lines)], check=True, timeout=600, cwd=folder, capture_output=True
    )
    return {
        name: [hindmost.open(path) for path in sorted(convert_all(folder / name, folder / name))]
        for name in programs
    }


def attached(run: Run) -> dict[str, Any]:
    """Return what a run says of the program."""
    said: dict[str, Any] = run.header.spec["attached"]
    return said


def close_books(run: Run) -> None:
    parts = run.lead_in + run.durations.sum(axis=0) + run.restart_durations.sum(axis=0)
    np.testing.assert_allclose(parts + run.lead_out, run.solve_time, atol=1e-6, rtol=0)
