"""What a matrix file is by its content, and complex numbers in Matrix Market."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hindmost.errors import DataError, UsageError
from hindmost.harness.krylov import experiment, memory
from hindmost.harness.krylov.experiment import KrylovExperiment
from hindmost.harness.krylov.problems import market
from hindmost.harness.krylov.problems.file_kind import kind_of
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.solo import Solo

COMPLEX = b"%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 1 2\n2 2 3 -4\n"


def tar_with(content: bytes) -> bytes:
    """Return a tar archive with one file, as collections of matrices offer them."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("matrix/matrix.mtx")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.mtx", b"\x89HDF\r\n\x1a\n" + bytes(99), "though its name says so. It is an HDF5 file."),
        ("a.mtx", b"PK\x03\x04" + bytes(99), "It is a zip archive."),
        ("a.mtx.gz", b"BZh91AY", "though its name says so. It is compressed with bzip2."),
        ("a.mtx", b"<!DOCTYPE html>\n<html>", "It is an HTML page."),
        (
            "a.mat",
            b"MATLAB 5.0 MAT-file",
            "(which begins with %%MatrixMarket). It is a MATLAB file.",
        ),
        ("a.tar", tar_with(COMPLEX), "It is a tar archive."),
        ("a.mtx", b"", "though its name says so. It is empty."),
        ("a.mtx", bytes(64), "It is only zeros."),
    ],
)
def test_a_file_that_is_not_what_its_name_says(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        kind_of(tmp_path / name)
    assert str(caught.value).endswith(words)


def test_an_archive_in_gzip_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tar_with(COMPLEX)))
    assert kind_of(tmp_path / "a.tar.gz") == "market"
    with pytest.raises(DataError, match="It is a tar archive"):
        market.read_header(tmp_path / "a.tar.gz")


def test_complex_numbers_need_a_complex_petsc(tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_bytes(COMPLEX)
    with pytest.raises(DataError, match=r"complex numbers \('complex general'\), but this PETSc"):
        market.read_header(tmp_path / "a.mtx")
    header = market.read_header(tmp_path / "a.mtx", complex_numbers=True)
    assert (header.field, header.symmetry) == ("complex", "general")
    hermitian = COMPLEX.replace(b"general", b"hermitian")
    (tmp_path / "h.mtx").write_bytes(hermitian)
    found = market.read_header(tmp_path / "h.mtx", complex_numbers=True)
    assert found.symmetry == "hermitian"
    (tmp_path / "b.mtx").write_bytes(
        b"%%MatrixMarket matrix array complex general\n2 1\n1 2\n3 -4\n"
    )
    with pytest.raises(DataError, match="this PETSc has real ones"):
        market.read_column(tmp_path / "b.mtx", 2)
    values = market.read_column(tmp_path / "b.mtx", 2, complex_numbers=True)
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
