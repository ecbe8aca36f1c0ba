"""The source stack's wheels in a second environment, when the first is gone."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.conftest import ROOT

pytestmark = pytest.mark.source_stack

MAPPED = """
import sys
for name in sys.argv[1:]:
    __import__(name)
import petsc4py.PETSc, mpi4py.MPI
print(*sorted({line.split()[-1] for line in open("/proc/self/maps")
               if "/libmpi.so" in line or "/libpetsc.so" in line}))
"""


def stack_name() -> str:
    record = Path(sys.prefix) / "hindmost-stack.json"
    return str(json.loads(record.read_text())["stack"]) if record.exists() else "own"


@pytest.fixture(scope="module")
def second_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Set up a second environment by the set-up's own code, from wheels that name a lost one."""
    if stack_name() != "source":
        pytest.skip("of the source stack: make test STACK=source")
    clone = tmp_path_factory.mktemp("second-clone")
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
    subprocess.run([sys.executable, "-c", program], check=True, cwd=clone)
    return clone


def test_the_wheels_name_an_environment_that_is_not_this_one(second_clone: Path) -> None:
    # Otherwise the tests below would pass without any rewriting.
    cache = next(
        wheel for wheel in (Path.home() / ".cache" / "hindmost" / "wheels").glob("*/petsc-*.whl")
    )
    with zipfile.ZipFile(cache) as wheel:
        library = next(name for name in wheel.namelist() if "/libpetsc.so." in name)
        assert str(second_clone).encode() not in wheel.read(library)


@pytest.mark.parametrize("order", ["mpi4py.MPI petsc4py.PETSc", "petsc4py.PETSc mpi4py.MPI"])
def test_one_libmpi_and_it_is_the_clones_own(second_clone: Path, order: str) -> None:
    done = subprocess.run(
        [second_clone / ".venv" / "bin" / "python", "-c", MAPPED, *order.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    mapped = [Path(path) for path in done.stdout.split()]
    assert [path.name.split(".so")[0] for path in mapped] == ["libmpi", "libpetsc"]
    assert all(path.is_relative_to(second_clone.resolve()) for path in mapped), mapped
