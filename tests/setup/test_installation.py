"""``pip install .`` alone: what reads and models run files, without MPI, PETSc or a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

QUICK = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_OPT": "0"}
"""Loops are compiled anew here: that they can be counts, not how fast they are."""
PROGRAM = """
import importlib.util as u, shutil, sys
import hindmost
from hindmost.analysis.fits.study import FitOptions, fit_groups
from hindmost.analysis.runs.groups import group_runs
assert not any(u.find_spec(name) for name in ("mpi4py", "petsc4py", "matplotlib"))
assert not any(shutil.which(name) for name in ("mpicc", "mpiexec", "cc", "gcc"))
run = hindmost.open(sys.argv[1])
(group,) = fit_groups(group_runs([run]), FitOptions(families=False))
print(len(group.runs[0].models), hindmost.__file__)
"""


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


def test_it_reads_and_models(bare: Path, run_file: Path) -> None:
    done = subprocess.run(
        [bare / "bin" / "python", "-c", PROGRAM, run_file],
        capture_output=True,
        text=True,
        check=False,
        env={**QUICK, "PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")},
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    count, where = done.stdout.split()
    assert count == "8"
    assert where.startswith(str(bare))


def test_what_it_lacks_is_said(bare: Path, run_file: Path, tmp_path: Path) -> None:
    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in (bare / "bin" / "hindmost", *words)],
            capture_output=True,
            text=True,
            check=False,
            env={**QUICK, "PATH": "/nowhere", "HOME": str(tmp_path)},
            cwd="/",
        )

    assert call("fit", run_file).returncode == 0
    plot = call("plot", run_file)
    assert (plot.returncode, "pip install 'hindmost[plot]'" in plot.stderr) == (4, True)
    run = call("run", "diagonal", "--solver", "gmres", "--out", tmp_path / "out")
    assert (run.returncode, "mpicc" in run.stderr) == (4, True), run.stderr
    doctor = call("doctor")
    assert (doctor.returncode, "lacks recorder" in doctor.stdout) == (4, True), doctor.stdout
