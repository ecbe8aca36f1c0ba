"""Programs with the recorder linked into them, where nothing can be loaded before MPI."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.programs.attaching import (
    ATTACH,
    DEEP,
    PROGRAMS,
    alone,
    close_books,
    compiled,
    compiled_fortran,
    shared_petsc,
)

import hindmost
from hindmost.harness.stack import current_stack

pytestmark = pytest.mark.mpi

WITHOUT_PRELOADING = ("env", "-u", "LD_PRELOAD")

ANOTHER_MPI = """
#include <string.h>
int PMPI_Get_library_version(char *version, int *size) {
  *size = (int)strlen(strcpy(version, %s));
  return 0;
}
"""


@pytest.fixture(scope="module")
def linked() -> list[str]:
    """Return the words that link the recorder into a program."""
    return alone("--print", "link", folder=ROOT).stdout.split()


def test_a_program_with_the_recorder_in_it(linked: list[str], tmp_path: Path) -> None:
    program = compiled(tmp_path, "loop", f"-I{ATTACH}", *linked)
    for out, words in {"alone": WITHOUT_PRELOADING, "both": ()}.items():
        done = alone("--out", out, "--", *words, program, "header", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / out).glob("*.h5")
        run = hindmost.open(path)
        assert run.durations.shape == (19, 1)
        for phase in ("halo", "stencil", "wait"):
            assert run.phase(phase).sum() > 0
        close_books(run)
    bare = subprocess.run([program, "header"], capture_output=True, text=True, check=True)
    assert bare.stderr == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a program other rights")
def test_a_program_with_other_rights_does_not_follow_the_environment(linked: list[str]) -> None:
    # Not in tmp_path: the other user could not read it.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled(folder, "loop", f"-I{ATTACH}", *linked)
        printed = alone("--print", "env", "--out", "runs", folder=folder)
        for path, mode in ((folder, 0o755), (folder / "runs", 0o777)):
            path.chmod(mode)
        for settings in (folder / "runs").iterdir():
            settings.chmod(0o644)
        command = ["sh", "-ec", f"{printed.stdout}\n{program} header"]
        for mode, recordings in ((0o755, 1), (0o4755, 1)):  # none by the second
            os.chown(program, 65534, -1)
            program.chmod(mode)
            subprocess.run(command, check=True, cwd=folder, timeout=60, capture_output=True)
            assert len(list((folder / "runs").glob("*.raw"))) == recordings


def test_a_petsc_program_with_the_recorder_in_it(linked: list[str], tmp_path: Path) -> None:
    petsc = shared_petsc()
    program = compiled(tmp_path, "solves", *linked, petsc, f"-Wl,-rpath,{petsc.parent}")
    words = (*WITHOUT_PRELOADING, program, "well", *DEEP)
    done = alone("--out", "runs", "--only", "ice", "--", *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = [int(count) for count in re.findall(r"^ice_ (\d+)$", done.stdout, re.M)]
    (path,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(path)
    assert np.unique(run.variable("solve"), return_counts=True)[1].tolist() == printed
    close_books(run)


def is_open_mpi() -> bool:
    """Tell whether the stack's MPI is Open MPI."""
    shown = subprocess.run(
        [current_stack().mpicc, "-show"], capture_output=True, text=True, check=True
    )
    return "openmpi" in shown.stdout


def test_a_recorder_for_another_mpi_in_a_program(linked: list[str], tmp_path: Path) -> None:
    answer = '"MPICH Version: 4.0"' if is_open_mpi() else '"Open MPI v4.1.4"'
    (tmp_path / "another.c").write_text(ANOTHER_MPI % answer)
    program = compiled(tmp_path, "loop", f"-I{ATTACH}", tmp_path / "another.c", *linked)
    done = alone("--out", "runs", "--", *WITHOUT_PRELOADING, program, "header", folder=tmp_path)
    assert done.returncode == 4
    assert "it uses another MPI than hindmost's recorder" in done.stderr
    assert "--mpicc" in done.stderr


def test_a_program_of_fortran_with_the_recorder_in_it(linked: list[str], tmp_path: Path) -> None:
    sources = (ATTACH / "hindmost.f90", PROGRAMS / "loop_fortran.F90")
    program = compiled_fortran(tmp_path, "-DMODULE", *sources, *linked)
    done = alone("--out", "runs", "--", program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(path)
    assert run.durations.shape == (19, 1)
    assert run.phase("halo").sum() > 0
    assert run.phase("stencil").sum() > 0
