"""Complex numbers in Matrix Market, and what does not fit into memory."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hindmost.errors import DataError, UsageError
from hindmost.harness import memory
from hindmost.harness.collectives.experiment import CollectivesExperiment
from hindmost.harness.krylov import experiment
from hindmost.harness.krylov.experiment import KrylovExperiment
from hindmost.harness.krylov.problems import matrix_file
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.solo import Solo

COMPLEX = b"%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 1 2\n2 2 3 -4\n"


def test_complex_numbers_need_a_complex_petsc(tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_bytes(COMPLEX)
    with pytest.raises(DataError, match=r"complex numbers \('complex general'\), but this PETSc"):
        matrix_file.rows_in(tmp_path / "a.mtx")
    assert matrix_file.rows_in(tmp_path / "a.mtx", complex_numbers=True) == 2
    hermitian = COMPLEX.replace(b"general", b"hermitian")
    (tmp_path / "h.mtx").write_bytes(hermitian)
    assert matrix_file.rows_in(tmp_path / "h.mtx", complex_numbers=True) == 2
    (tmp_path / "b.mtx").write_bytes(
        b"%%MatrixMarket matrix array complex general\n2 1\n1 2\n3 -4\n"
    )
    with pytest.raises(DataError, match="this PETSc has real ones"):
        matrix_file.read_column(tmp_path / "b.mtx", 2)
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
    buffers = CollectivesExperiment(operations=("bcast", "allreduce"), sizes=(8, 1 << 30), calls=1)
    buffers.check_ranks(OneHost())
    monkeypatch.setattr(memory, "available_bytes", lambda: 1 << 30)
    with pytest.raises(UsageError, match=r"allreduce-1073741824B: its buffers need 2 GiB on a"):
        buffers.check_ranks(OneHost())
