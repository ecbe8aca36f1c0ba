"""``pip install .`` alone: what reads and models run files, without MPI, PETSc or a compiler."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

PROGRAM = """
import importlib.util as u, shutil, sys
import hindmost
from hindmost.__main__ import main
assert not any(u.find_spec(name) for name in ("mpi4py", "petsc4py", "matplotlib"))
assert not any(shutil.which(name) for name in ("mpicc", "mpiexec", "cc", "gcc"))
print(hindmost.__file__)
run = sys.argv[1]
for words in ("fit --json " + run, "plot " + run, "run diagonal --solver gmres --out out"):
    sys.argv = ["hindmost", *words.split()]
    print(f"status {main()}")
"""


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment of its own into which a copy of the project was installed."""
    folder = tmp_path_factory.mktemp("installed")
    tracked = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False
    ).stdout.decode()
    for name in filter(None, tracked.split("\0")):
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink() or (ROOT / name).exists():
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    constraints = ROOT / "setup" / "constraints" / "source.txt"
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python")
    subprocess.run(
        [*pip, "install", "--quiet", "--no-compile", "-c", constraints, folder / "source"],
        check=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    shutil.rmtree(folder / "source")
    return environment


def test_it_reads_and_models_and_says_what_it_lacks(
    bare: Path, run_file: Path, tmp_path: Path
) -> None:
    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        # Loops are compiled anew here: that they can be counts, not how fast they are.
        quick = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_OPT": "0"}
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            env={**quick, "PATH": "/nowhere", "HOME": str(tmp_path)},
            cwd=tmp_path,
        )

    done = call(bare / "bin" / "python", "-c", PROGRAM, run_file)
    where, _, printed = done.stdout.partition("\n")
    assert where.startswith(str(bare)), done.stderr
    assert len(json.loads(printed.partition("status")[0])["runs"][0]["models"]) == 8
    assert re.findall(r"^status (\d)$", done.stdout, re.MULTILINE) == ["0", "4", "4"], done.stderr
    assert "pip install 'hindmost[plot]'" in done.stderr
    assert "mpicc" in done.stderr
    doctor = call(bare / "bin" / "hindmost", "doctor")
    assert (doctor.returncode, "lacks recorder" in doctor.stdout) == (4, True), doctor.stdout
