"""A PETSc that is configured with complex numbers, where there is one beside the real one."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse
from tests.conftest import Ranks

import hindmost
from hindmost.harness.runfile.ending import Ending

pytestmark = pytest.mark.mpi

FOLDER = "COMPLEX_PETSC_DIR"
"""The variable that names such a PETSc; Debian's is found without it."""


@pytest.fixture
def complex_petsc() -> dict[str, str]:
    """Return the environment in which the complex PETSc is the one that is imported."""
    named = [Path(os.environ[FOLDER])] if FOLDER in os.environ else []
    for folder in (*named, *sorted(Path("/usr/lib/petscdir").glob("petsc*/*-complex"))):
        modules = folder / "lib/python3/dist-packages"
        if (modules / "petsc4py").is_dir():
            path = os.pathsep.join(filter(None, (str(modules), os.environ.get("PYTHONPATH"))))
            return {"PETSC_DIR": str(folder), "PYTHONPATH": path}
    pytest.skip(f"no petsc4py with complex numbers; name its PETSc in {FOLDER}")


def test_a_complex_petsc_runs_what_a_real_one_does(
    ranks: Ranks, tmp_path: Path, complex_petsc: dict[str, str]
) -> None:
    random = np.random.default_rng(3)
    beside = random.normal(size=39)
    matrix = sparse.diags_array([1j * beside, np.full(40, 5.0 + 1.0j), beside], offsets=[-1, 0, 1])
    io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(matrix), field="complex")
    io.mmwrite(tmp_path / "b.mtx", np.full((40, 1), 1.0 + 2.0j), field="complex")
    asked = {
        "matrix": ("a.mtx", "b.mtx", "--solver", "gmres", "--rtol", "1e-9"),
        "jacobi-3d": ("--unknowns", "300"),
        "ice-flow": ("--unknowns", "2000", "--step", "1", "--solver", "gmres"),
    }  # fmt: skip
    for name, words in asked.items():
        done = ranks(
            2, "run", name, *words, "--iterations", "60", "--out", "runs", environment=complex_petsc
        )
        assert done.returncode == 0, done.stderr
        run = hindmost.open(next(tmp_path.glob(f"runs/{name}-*.h5")))
        ending = Ending.of(run.header)
        assert ending is not None
        assert run.header.spec["scalar"] == "complex"
        assert ending.reached == (name == "matrix")
        assert ending.true_residual is not None
        assert ending.true_residual < (1e-7 if name == "matrix" else 1.0)
        if name == "jacobi-3d":
            assert run.edges.bytes.tolist() == [16 * 49, 16 * 49]  # 7 x 7 numbers of 16 bytes
    # What a real PETSc has written is refused by name.
    integers = np.array([1211216, 2, 2, 2, 1, 1, 0, 1], ">i4").tobytes()
    (tmp_path / "real.petsc").write_bytes(integers + np.ones(2, ">f8").tobytes())
    done = ranks(
        2, "run", "matrix", "real.petsc", "--solver", "cg", "--out", "runs",
        environment=complex_petsc,
    )  # fmt: skip
    assert done.returncode == 3
    assert "numbers of 16 bytes, which this PETSc has" in done.stderr
