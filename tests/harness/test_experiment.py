"""Complex numbers in Matrix Market, and what does not fit into memory."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from hindmost.errors import UsageError
from hindmost.harness import memory
from hindmost.harness.krylov.problems import PROBLEMS, by_rows, matrix_file
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.launch import assigned_rank, check_size
from hindmost.harness.runfile import provenance
from hindmost.harness.solo import Solo
from hindmost.harness.solves import experiment
from hindmost.harness.solves.experiment import KrylovExperiment

PLAN = KrylovExperiment(
    workload="laplacian-1d",
    solvers=("gmres", "pgmres"),
    system=SystemRequest(unknowns=10),
    iterations=5,
    repeats=4,
    warmup=1,
    seed=11,
)


def test_each_block_of_the_order_holds_each_solver_once() -> None:
    order = PLAN.order()
    assert [planned.repeat for planned in order] == [0, 0, 1, 1, 2, 2, 3, 3]
    for block in range(4):
        assert {planned.case for planned in order[2 * block : 2 * block + 2]} == {"gmres", "pgmres"}
    assert order == PLAN.order()
    assert len({tuple(replace(PLAN, seed=seed).order()) for seed in range(10)}) > 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"workload": "ice"}, "Unknown workload 'ice'; choose laplacian-1d, laplacian-2d"),
        ({"solvers": ()}, "No --solver; choose gmres, pgmres"),
        ({"solvers": ("cg", "cg")}, "A solver is named twice"),
        (
            {"solvers": ("cg", "tfqmr"), "pair": True},
            "--pair: 'tfqmr' has no pipelined variant; choose bcgs, cg, cr, fcg, fgmres, gcr or",
        ),
        ({"solvers": ("pgmres",), "pair": True}, "did you mean (gmres or fgmres|fgmres or gmres)"),
        ({"system": SystemRequest(unknowns=-1)}, "--unknowns -1: it must be at least 1"),
        ({"iterations": 0}, "--iterations 0"),
        ({"warmup": -1}, "--warmup -1: it must be at least 0"),
        ({"petsc_options": ("-ksp_max_it", "3")}, "use --iterations instead"),
        ({"petsc_options": ("ksp_gmres_restart", "3")}, "'ksp_gmres_restart' after '--'"),
        ({"petsc_options": ("-pc_type", "none", "7")}, "'7' after '--'"),
    ],
)
def test_what_cannot_be_run_is_said(change: dict[str, object], word: str) -> None:
    PLAN.check()
    with pytest.raises(UsageError, match=word):
        replace(PLAN, **change).check()  # type: ignore[arg-type]


def test_a_problem_may_stand_for_a_solver() -> None:
    relaxation = replace(PLAN, workload="jacobi-3d", solvers=())
    assert relaxation.cases() == ("richardson",)
    assert replace(relaxation, solvers=("cg",)).cases() == ("cg",)
    problem = PROBLEMS["jacobi-3d"]
    assert problem.options_for("richardson") == {"ksp_norm_type": "none"}
    assert not problem.options_for("cg")


ROWS = {"laplacian-1d": by_rows.laplacian, "diagonal": by_rows.diagonal}


def whole_matrix(name: str, unknowns: int, borders: list[int]) -> NDArray[np.float64]:
    """Put the rows of several ranks together."""
    parts = []
    for first, last in pairwise(borders):
        starts, columns, values = ROWS[name](first, last, unknowns)
        parts.append(sparse.csr_matrix((values, columns, starts), shape=(last - first, unknowns)))
    return np.asarray(sparse.vstack(parts).todense())


@pytest.mark.parametrize("borders", [[0, 9], [0, 1, 5, 9], [0, 3, 3, 9]])
def test_rows_of_the_laplacian(borders: list[int]) -> None:
    expected = 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
    np.testing.assert_array_equal(whole_matrix("laplacian-1d", 9, borders), expected)


@pytest.mark.parametrize("borders", [[0, 9], [0, 4, 9]])
def test_rows_of_the_diagonal(borders: list[int]) -> None:
    expected = np.diag(np.geomspace(1e-6, 1, 9))
    np.testing.assert_allclose(whole_matrix("diagonal", 9, borders), expected, rtol=1e-12)


def test_every_solver_declares_what_models_need() -> None:
    for solver in SOLVERS:
        assert solver.lag == 0 or solver.synchronisation == "pipelined"
        letters = {mark.letter for mark in solver.pattern.marks}
        used = {letter for letter in solver.pattern.grammar if letter.isalpha()}
        assert used == letters


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ("", 1, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2"}, ("Open MPI's mpiexec", 4, 2)),
        ({"PMI_SIZE": "8", "PMI_RANK": "7"}, ("mpiexec (PMI)", 8, 7)),
        ({"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "1"}, ("srun", 3, 1)),
        ({"PMI_SIZE": "many", "PMI_RANK": "0"}, ("", 1, 0)),
        ({"PMI_SIZE": "\u00b2", "PMI_RANK": "0"}, ("", 1, 0)),
    ],
)
def test_the_place_that_a_launcher_gives(
    variables: dict[str, str], expected: tuple[str, int, int]
) -> None:
    found = assigned_rank(variables)
    assert (found.launcher, found.size, found.rank) == expected


def test_singletons_are_told_from_ranks() -> None:
    promised = assigned_rank({"PMI_SIZE": "8", "PMI_RANK": "7"})
    check_size(8, "MPICH", promised)
    check_size(4, "MPICH", assigned_rank({}))
    with pytest.raises(RuntimeError, match="started 8 processes, but MPI sees 1"):
        check_size(1, "MPICH", promised)


def test_credentials_of_a_batch_system_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    assert provenance.scheduler() == {"SLURM_JOB_ID": "42"}


def test_a_complex_right_side(tmp_path: Path) -> None:
    column = b"%%MatrixMarket matrix array complex general\n2 1\n1 2\n3 -4\n"
    (tmp_path / "b.mtx").write_bytes(column)
    values = matrix_file.read_column(tmp_path / "b.mtx", 2, complex_numbers=True)
    np.testing.assert_array_equal(values, [1 + 2j, 3 - 4j])


def test_the_memory_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most, used, info = (tmp_path / name for name in ("most", "used", "info"))
    monkeypatch.setattr(memory, "MEMINFO", info)
    monkeypatch.setattr(memory, "GROUP_LIMITS", ((most, used),))
    assert memory.available_bytes() is None
    info.write_text("MemTotal: 100 kB\nMemAvailable: 40 kB\n")
    assert memory.available_bytes() == 40 * 1024
    most.write_text("max\n")
    used.write_text("7\n")
    assert memory.available_bytes() == 40 * 1024
    most.write_text("1007\n")
    assert memory.available_bytes() == 1000


class OneHost(Solo):
    def Split_type(self, kind: int) -> OneHost:  # noqa: N802
        return self

    def Free(self) -> None:  # noqa: N802
        """Do nothing."""


def test_a_system_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = SimpleNamespace(MPI=SimpleNamespace(COMM_TYPE_SHARED=0))
    monkeypatch.setitem(sys.modules, "mpi4py", mpi)
    monkeypatch.setattr(experiment, "check_types", lambda names: None)
    monkeypatch.setattr(memory, "available_bytes", lambda: 20 << 30)
    for grid, unknowns in (((40_000, 40_000), None), ((), 1_600_000_000)):
        wanted = KrylovExperiment(
            workload="laplacian-2d",
            solvers=("cg",),
            system=SystemRequest(grid=grid, unknowns=unknowns),
            iterations=1,
        )
        with pytest.raises(UsageError, match=r"needs at least 89\.4 GiB on a host with 1 rank"):
            wanted.check_ranks(OneHost())
