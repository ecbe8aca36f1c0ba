"""``hindmost doctor``: what it says of this machine, and of one whose MPI ends who starts it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hindmost.harness.verbs.doctor import CHECKS, diagnoses

pytestmark = pytest.mark.mpi

PETSC = "from petsc4py import lib; print(lib.ImportPETSc().__file__)"


def test_the_blas_of_petsc() -> None:
    module = subprocess.run([sys.executable, "-c", PETSC], capture_output=True, text=True)
    linked = subprocess.run(["ldd", module.stdout.strip()], capture_output=True, text=True)
    libraries = {
        line.split()[0]: line.split()[2] for line in linked.stdout.splitlines() if "=>" in line
    }
    blas = next(
        path for name, path in libraries.items() if name.startswith(("libblas", "libopenblas"))
    )
    command = [str(Path(sys.executable).with_name("hindmost")), "doctor", "--json"]
    findings = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)[
        "findings"
    ]
    (found,) = [finding for finding in findings if finding["subject"] == "BLAS"]
    assert str(Path(blas).resolve()) in found["text"]
    assert found["verdict"] == ("ok" if "openblas" in str(Path(blas).resolve()) else "note")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("raise(11)", "was ended by SIGSEGV"),
        ("exit(7)", "ended with status 7"),
        ("pause()", "did not answer for 4 s"),
    ],
)
def test_an_mpi_that_does_not_start_ends_one_look(
    broken: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is preloaded, so that it is started in place of the MPI that is installed."""
    source, library = tmp_path / "mpi.c", tmp_path / "mpi.so"
    source.write_text(
        "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        f"int MPI_Init_thread(void) {{ {broken}; return 0; }}\n"
        f"int MPI_Init(void) {{ {broken}; return 0; }}\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    hangs = broken == "pause()"  # then the others are not asked: they may be slow, too
    looks = ("PETSc",) if hangs else ("clock", "PETSc", "caches")
    verdicts = {
        diagnosis.subject: diagnosis for diagnosis in diagnoses(looks, 4.0 if hangs else 120.0)
    }
    assert tuple(verdicts) == looks
    assert set(looks) <= set(CHECKS)
    assert (verdicts["PETSc"].verdict, said in verdicts["PETSc"].text) == ("lacks", True)
    assert hangs or verdicts["caches"].verdict == "ok"
