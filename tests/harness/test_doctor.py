"""``hindmost doctor``: the BLAS that it names is the one that the linker gives to petsc4py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    (found,) = [each for each in findings if each["subject"] == "BLAS"]
    assert str(Path(blas).resolve()) in found["text"]
    assert found["verdict"] == ("ok" if "openblas" in str(Path(blas).resolve()) else "note")
