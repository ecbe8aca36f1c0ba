"""The linear systems on several ranks: against PETSc's own programs, brute force and files."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io, sparse
from tests.conftest import Ranks, starter
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.errors import UsageError
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest

pytestmark = pytest.mark.mpi

# What PETSc 3.26.1's compiled tutorial ex48 prints with -M 6 -N 5 -P 4 -thi_hom CASE
# -snes_linesearch_type basic -pc_type jacobi -ksp_type gmres -ksp_max_it 50
# -ksp_convergence_test skip -da_refine 0 -dm_mat_type aij -ksp_monitor -snes_monitor:
# norm of the residual, first two of the linear solve; for the Newton steps 0 and 1.
EX48 = {
    "A": (
        (8.067962526027e01, 8.605354189232e-04, 6.798828310836e-04),
        (7.004874034207e01, 5.809644622648e-03, 3.768119473414e-03),
    ),
    "C": (
        (1.679443003126e01, 1.946120728000e-04, 1.537713287790e-04),
        (2.028061074088e01, 1.832798381825e-03, 5.627524679641e-04),
    ),
    "X": (
        (5.102668981450e01, 5.999508237638e-04, 5.748285343050e-04),
        (1.681739387756e02, 9.787802406312e-02, 3.318388976156e-02),
    ),
    "Y": (
        (8.326887372070e01, 9.696609192460e-04, 9.118315849337e-04),
        (1.112082646944e02, 1.783670788747e-02, 5.311268737339e-03),
    ),
    "Z": (
        (8.504379219710e01, 9.996638739201e-04, 9.568467447205e-04),
        (1.311754098386e02, 2.710207482125e-02, 8.068661930980e-03),
    ),
}

SCRIPT = """
import json, sys
from hindmost.harness import petsc
parallel = petsc.start(["-ksp_convergence_test", "skip"])
PETSc, comm = parallel.PETSc, parallel.PETSc.COMM_WORLD
import numpy as np
from pathlib import Path
from hindmost.harness.krylov.problems import PROBLEMS, matrix_file
from hindmost.harness.krylov.problems.ice_flow import IceFlow
from hindmost.harness.krylov.problems.problem import SystemRequest, own_rows

def gathered(matrix):
    starts, columns, values = matrix.getValuesCSR()
    first, last = matrix.getOwnershipRange()
    dense = np.zeros((last - first, matrix.getSize()[1]))
    dense[np.repeat(np.arange(last - first), np.diff(starts)), columns] = values
    parts = comm.tompi4py().gather(dense)
    return None if parts is None else np.concatenate(parts)

found = {}
for case in "ACXYZ":
    ice = IceFlow(shape=(6, 5, 4), case=case)
    mesh = ice.mesh(PETSc, comm)
    state = mesh.createGlobalVec()
    state.set(0.0)
    steps = []
    for _ in range(2):
        matrix, residual = ice.assemble(mesh, PETSc, state)
        solver = PETSc.KSP().create(comm)
        solver.setOperators(matrix)
        solver.setType("gmres")
        solver.getPC().setType("jacobi")
        solver.setTolerances(max_it=50)
        solver.setFromOptions()
        solver.setConvergenceHistory()
        change = residual.duplicate()
        solver.solve(residual, change)
        nonzeros = matrix.getInfo(PETSc.Mat.InfoType.GLOBAL_SUM)["nz_used"]
        steps.append([residual.norm(), *solver.getConvergenceHistory()[:2].tolist()])
        state.axpy(-1.0, change)
    found[case] = {"rows": matrix.getSize()[0], "nonzeros": nonzeros, "steps": steps}
grids = {"laplacian-2d": (7, 5), "laplacian-3d": (5, 4, 6), "convection-diffusion-2d": (6, 9),
         "jacobi-3d": (4, 4, 4)}
for name, shape in grids.items():
    system = PROBLEMS[name].build(SystemRequest(grid=shape), PETSc, comm)
    mesh = PETSc.DMDA().create(dim=len(shape), dof=1, sizes=shape, stencil_width=1, comm=comm)
    unknowns = int(np.prod(shape))
    order = mesh.getAO().petsc2app(np.arange(unknowns, dtype=PETSc.IntType))
    dense = gathered(system.matrix)
    if comm.rank == 0:
        natural = np.zeros_like(dense)
        natural[np.ix_(order, order)] = dense
        found[name] = natural.tolist()
for path in sorted(Path("matrices").iterdir()):
    system = PROBLEMS["matrix"].build(SystemRequest(file=path), PETSc, comm)
    dense = gathered(system.matrix)
    if comm.rank == 0:
        found[path.name] = dense.tolist()
read = matrix_file.read_rows(Path("hermitian.mtx"), PETSc, comm, complex_numbers=True)
(starts, columns, values), size = read
own = own_rows(size, PETSc, comm)
rows = np.repeat(np.arange(*own), np.diff(starts))
parts = comm.tompi4py().gather((rows, columns, values))
if comm.rank == 0:
    dense = np.zeros((size, size), complex)
    for rows, columns, values in parts:
        dense[rows, columns] = values
    found["hermitian.mtx"] = [dense.real.tolist(), dense.imag.tolist()]
if comm.rank == 0:
    Path("found.json").write_text(json.dumps(found))
"""

SHAPES = {
    "laplacian-2d": (7, 5),
    "laplacian-3d": (5, 4, 6),
    "convection-diffusion-2d": (6, 9),
    "jacobi-3d": (4, 4, 4),
}


@pytest.fixture(scope="module")
def matrices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose folder ``matrices`` has one matrix in several formats."""
    return write_matrices(tmp_path_factory.mktemp("systems"))


def write_matrices(folder: Path) -> Path:
    inside = folder / "matrices"
    inside.mkdir()
    random = np.random.default_rng(5)
    whole = sparse.random_array((37, 37), density=0.2, rng=random) + sparse.eye_array(37)
    symmetric = whole + whole.T
    io.mmwrite(inside / "general.mtx", whole, comment="by scipy", symmetry="general")
    io.mmwrite(inside / "symmetric.mtx", symmetric, symmetry="symmetric")
    (inside / "packed.mtx.gz").write_bytes(gzip.compress((inside / "symmetric.mtx").read_bytes()))
    pattern = "%%MatrixMarket matrix coordinate pattern general\n% ones\n4 4 5\n"
    (inside / "pattern.mtx").write_text(pattern + "1 1\n2 2\n3 3\n4 4\n1 4\n")
    twice = "%%MatrixMarket matrix coordinate real general\n4 4 6\n"
    entries = "1 1 1\n2 2 2.5\n3 3 3\n4 4 4\n2 2 0.5\n4 1 -1"
    (inside / "twice.mtx").write_text(twice + entries)
    (inside / "general.petsc").write_bytes(petsc_binary(sparse.csr_array(whole)))
    np.save(folder / "whole.npy", whole.toarray())
    turned = whole + 1j * sparse.random_array((37, 37), density=0.1, rng=random)
    hermitian = (turned + turned.conj().T).toarray()
    io.mmwrite(folder / "hermitian.mtx", sparse.coo_array(hermitian), symmetry="hermitian")
    np.save(folder / "hermitian.npy", hermitian)
    return folder


def petsc_binary(matrix: sparse.csr_array) -> bytes:
    """Return a matrix as PETSc writes it: big-endian, 32-bit integers, sorted columns."""
    matrix.sort_indices()
    rows, columns = matrix.shape
    integers = [1211216, rows, columns, matrix.nnz, *np.diff(matrix.indptr), *matrix.indices]
    content: bytes = np.array(integers, ">i4").tobytes() + matrix.data.astype(">f8").tobytes()
    return content


@pytest.fixture(scope="module")
def found(matrices: Path) -> dict[str, Any]:
    done = starter(matrices)(4, script=SCRIPT)
    assert done.returncode == 0, done.stderr
    return dict(json.loads((matrices / "found.json").read_text()))


@pytest.mark.parametrize("case", EX48)
def test_ice_flows_as_in_the_tutorial_of_petsc(found: dict[str, Any], case: str) -> None:
    assert found[case]["rows"] == 240
    assert found[case]["nonzeros"] == 10800
    np.testing.assert_allclose(found[case]["steps"], EX48[case], rtol=1e-9)


@pytest.mark.parametrize("name", SHAPES)
def test_stencils_are_those_of_kronecker_sums(found: dict[str, Any], name: str) -> None:
    matrix, shape = np.array(found[name]), SHAPES[name]
    if name == "convection-diffusion-2d":
        assert not np.allclose(matrix, matrix.T)
        # An M-matrix: rows of inner points add up to 0, all others to more.
        assert (matrix - np.diag(np.diag(matrix)) <= 0.0).all()
        sums = matrix.sum(axis=1).reshape(shape, order="F")
        np.testing.assert_allclose(sums[1:-1, 1:-1], 0.0, atol=1e-11)
        assert (sums >= -1e-11).all()
        matrix = 0.5 * (matrix + matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > 0.0
        return
    spacing = [1.0 / (count + 1) for count in shape]
    scale = np.prod(spacing) / spacing[0] ** (len(shape) - 2)
    whole = np.zeros_like(matrix)
    for direction, count in enumerate(shape):
        one = 2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)
        factors = [np.eye(each) for each in shape]
        factors[direction] = one / spacing[direction] ** 2
        product = np.eye(1)
        for factor in factors:  # the first direction is numbered first
            product = np.kron(factor, product)
        whole += scale * product
    np.testing.assert_allclose(matrix, whole, rtol=1e-12, atol=1e-12)


def test_matrices_are_those_of_the_files(found: dict[str, Any], matrices: Path) -> None:
    whole = np.load(matrices / "whole.npy")
    np.testing.assert_allclose(found["general.mtx"], whole, rtol=1e-12)
    np.testing.assert_array_equal(found["general.petsc"], whole)
    np.testing.assert_allclose(found["symmetric.mtx"], whole + whole.T, rtol=1e-12)
    assert found["packed.mtx.gz"] == found["symmetric.mtx"]
    expected = np.eye(4)
    expected[0, 3] = 1.0
    np.testing.assert_array_equal(found["pattern.mtx"], expected)
    real, imaginary = np.array(found["hermitian.mtx"])
    expected = np.load(matrices / "hermitian.npy")
    np.testing.assert_allclose(real + 1j * imaginary, expected, rtol=1e-12)
    np.testing.assert_array_equal(
        found["twice.mtx"], [[1, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0], [-1, 0, 0, 4]]
    )


def commands(folder: Path) -> Commands:
    """Return a solve of each kind of system, for a folder."""
    write_matrices(folder)
    right_side = "%%MatrixMarket matrix array real general\n37 1\n"
    (folder / "b.mtx").write_text(right_side + "\n".join(map(str, range(37))))
    asked = {
        "ice-flow": ("--grid", "6x5x4", "--case", "Z", "--step", "1"),
        "laplacian-3d": ("--unknowns", "1000"),
        "matrix": ("matrices/symmetric.mtx", "b.mtx"),
    }
    more = ("--solver", "gmres", "--iterations", "20", "--warmup", "0", "--out", "runs")
    return {name: ("run", name, *words, *more) for name, words in asked.items()}


def test_runs_say_which_system_they_solved(launched: Launched) -> None:
    folder = launched[0]
    file = folder / "matrices" / "symmetric.mtx"
    for name, done in launched[1].items():
        assert done.returncode == 0, done.stderr
        run = hindmost.open(folder / "runs" / f"{name}-gmres-p2-0.h5")
        spec = run.header.spec
        if name == "ice-flow":
            assert spec["unknowns"] == 240
            assert spec["grid"] == [6, 5, 4]
            assert (spec["case"], spec["step"]) == ("Z", 1)
            norm = run.variable("residual_norm")[0]  # step 0 was solved less exactly by ex48
            np.testing.assert_allclose(norm, EX48["Z"][1][2], rtol=0.1)
        elif name == "laplacian-3d":
            assert (spec["unknowns"], spec["grid"]) == (1000, [10, 10, 10])
            assert spec["nonzeros"] == 7 * 1000 - 6 * 100
            assert sorted(run.edges.source.tolist()) == [0, 1]
            assert run.edges.bytes.tolist() == [800, 800]
        else:
            assert spec["unknowns"] == 37
            assert spec["matrix"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
            assert spec["right_side"]["file"] == "b.mtx"


REAL = b"%%MatrixMarket matrix coordinate real general\n"
DENSE = b"%%MatrixMarket matrix array real general\n"
PACKED = gzip.compress(REAL + b"2 2 9999\n" + b"1 1 1\n" * 9999)
BAD = {
    "text.mtx": (b"Hello, world.\n", "neither a matrix in PETSc's binary format nor"),
    "complex.mtx": (
        REAL.replace(b"real", b"complex") + b"1 1 1\n1 1 1 0\n",
        "complex numbers, but this PETSc has real",
    ),
    "dense.mtx": (REAL.replace(b"coordinate", b"array") + b"1 1\n1\n", "a dense matrix"),
    "wide.mtx": (REAL + b"2 3 1\n1 1 1\n", "2 rows and 3 columns"),
    "beyond.mtx": (REAL + b"2 2 2\n1 1 1\n3 1 1\n", "Row index out of bounds"),
    "short.mtx": (REAL + b"2 2 3\n1 1 1\n2 2 1\n", "Truncated file"),
    "nan.mtx": (REAL + b"2 2 2\n1 1 nan\n2 2 1\n", "not a finite number"),
    "words.mtx": (REAL + b"2 2 2\n1 1 one\n2 2 1\n", "Invalid floating-point value"),
    "few.mtx": (REAL + b"1 1 1\n1 1 1\n", "1 rows on 2 ranks"),
    "cut.mtx.gz": (PACKED[: len(PACKED) // 2], "cannot be read"),
    "damaged.mtx.gz": (PACKED[:80] + bytes(99) + PACKED[80:], "cannot be read"),
    "nan.petsc": (
        np.array([1211216, 2, 2, 2, 1, 1, 0, 1], ">i4").tobytes()
        + np.array([1.0, np.nan], ">f8").tobytes(),
        "not a finite number",
    ),
    "cut.petsc": (
        np.array([1211216, 3, 3, 4], ">i4").tobytes(),
        "16 bytes do not fit a sparse matrix",
    ),
    "complex.petsc": (
        np.array([1211216, 1, 1, 1, 1, 0], ">i4").tobytes() + bytes(16),
        "numbers of 8 bytes",
    ),
    "wide.petsc": (
        np.array([1211216, 2, 3, 2, 1, 1, 0, 2], ">i4").tobytes() + np.ones(2, ">f8").tobytes(),
        "2 rows and 3 columns",
    ),
    "zeros.mtx": (REAL + b"2 2 2\n1 1 1\n2 2 0\n", "row 2 (the first is 1) has only zeros"),
    "empty.mtx": (REAL + b"2 2 2\n1 1 1\n1 2 1\n", "row 2 (the first is 1) has only zeros"),
    "vector.petsc": (np.array([1211214, 2], ">i4").tobytes() + bytes(16), "a vector of PETSc's"),
}


BAD_SIDES = {
    "longer.mtx": (DENSE + b"3 1\n1\n2\n3\n", "3 numbers for a matrix with 2 rows"),
    "shorter.mtx": (DENSE + b"2 1\n1\n", "Truncated file"),
    "nan.mtx": (DENSE + b"2 1\n1\nnan\n", "not a finite number"),
    "sparse.mtx": (REAL + b"2 1 1\n1 1 1\n", "not a dense column"),
    "complex.mtx": (DENSE.replace(b"real", b"complex") + b"2 1\n1 1\n2 2\n", "complex numbers"),
    "matrix.petsc": (np.array([1211216, 2, 2, 0, 0, 0], ">i4").tobytes(), "a right side is a vec"),
    "nan.petsc": (
        np.array([1211214, 2], ">i4").tobytes() + np.array([1.0, np.nan], ">f8").tobytes(),
        "not a finite number",
    ),
    "huge.petsc": (np.array([1211214, 1 << 30], ">i4").tobytes(), "1,073,741,824 numbers in 8"),
    "cut.petsc": (np.array([1211214, 2], ">i4").tobytes() + bytes(8), "2 numbers in 16 bytes"),
}


def test_files_that_are_no_matrix_are_refused_by_all_ranks(ranks: Ranks, tmp_path: Path) -> None:
    script = """
import json, sys
from pathlib import Path
from hindmost.harness import petsc
from hindmost.errors import HindmostError
parallel = petsc.start([])
PETSc = parallel.PETSc
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
found = {}
for path in sorted(Path("bad").iterdir()):
    try:
        PROBLEMS["matrix"].build(SystemRequest(file=path), PETSc, PETSc.COMM_WORLD)
    except HindmostError as error:
        found[path.name] = str(error)
whole = Path("whole.mtx")
for path in sorted(Path("sides").iterdir()):
    try:
        request = SystemRequest(file=whole, right_side=path)
        PROBLEMS["matrix"].build(request, PETSc, PETSc.COMM_WORLD)
    except HindmostError as error:
        found["side " + path.name] = str(error)
everybody = parallel.communicator.allgather(found)
if parallel.communicator.rank == 0:
    print(json.dumps(everybody))
"""
    (tmp_path / "whole.mtx").write_bytes(REAL + b"2 2 2\n1 1 1\n2 2 1\n")
    for folder, files in (("bad", BAD), ("sides", BAD_SIDES)):
        (tmp_path / folder).mkdir()
        for name, (content, _) in files.items():
            (tmp_path / folder / name).write_bytes(content)
    done = ranks(2, script=script)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    assert first == second
    for name, (_, words) in BAD_SIDES.items():
        assert words in first.pop(f"side {name}")
    assert set(first) == set(BAD)
    for name, (_, words) in BAD.items():
        assert words in first[name], first[name]


@pytest.mark.parametrize(
    ("name", "request_", "words"),
    [
        ("laplacian-1d", SystemRequest(grid=(3, 3)), "--grid 3x3: 'laplacian-1d' does not use it"),
        ("laplacian-2d", SystemRequest(grid=(3, 3, 3)), "needs 2 numbers"),
        ("laplacian-2d", SystemRequest(grid=(3, 3), unknowns=9), "both give the size"),
        ("ice-flow", SystemRequest(case="B"), "--case B: choose A, C, X, Y or Z"),
        ("ice-flow", SystemRequest(grid=(2, 5, 4)), "at least 3 each"),
        ("ice-flow", SystemRequest(step=-1), "--step -1"),
        ("matrix", SystemRequest(), "'matrix' needs a file"),
        ("matrix", SystemRequest(file=Path("no-such.mtx")), "no-such.mtx: no such file"),
        ("matrix", SystemRequest(file=Path("/dev")), "/dev: it is not a regular file"),
    ],
)
def test_what_a_problem_does_not_use_is_refused(
    name: str, request_: SystemRequest, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        PROBLEMS[name].check_request(request_)
