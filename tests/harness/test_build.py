from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hindmost.errors import MissingError
from hindmost.harness.recorder import build
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.stack import Stack, current_stack


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hindmost" / "recorder"


def test_compiled_once_and_again_when_the_source_changes(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.recorder_library()
    written = first.stat().st_mtime_ns
    assert build.recorder_library() == first
    assert first.stat().st_mtime_ns == written
    changed = [tmp_path / source.name for source in build.SOURCES]
    for source, copy in zip(build.SOURCES, changed, strict=True):
        copy.write_text(source.read_text() + "\n/* changed */\n")
    monkeypatch.setattr(build, "SOURCES", changed)
    second = build.recorder_library()
    assert second != first
    assert sorted(empty_cache.glob("*.so")) == sorted([first, second])


def test_another_libmpi_is_another_recorder(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.recorder_library()
    libmpi = empty_cache / "libmpi.so.12"
    libmpi.touch()
    (noted,) = empty_cache.glob("*.json")
    noted.unlink()
    monkeypatch.setattr(build, "libmpi_path", lambda _: str(libmpi))
    assert build.recorder_library() != first


def test_ranks_that_find_it_compiled_run_no_compiler(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.recorder_library()

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a compiler was run")

    monkeypatch.setattr("subprocess.run", forbidden)
    assert build.recorder_library() == first
    first.unlink()
    with pytest.raises(AssertionError, match="compiler"):
        build.recorder_library()


def test_libmpi_is_found_behind_its_links(tmp_path: Path) -> None:
    (tmp_path / "libmpi.so.40").touch()
    (tmp_path / "libmpi.so").symlink_to("libmpi.so.40")
    assert build.libmpi_path(f"gcc -I/x -L{tmp_path} -lmpi") == str(tmp_path / "libmpi.so.40")
    assert build.libmpi_path("gcc -lmpi") == ""
    mpicc = current_stack().mpicc
    assert Path(build.libmpi_path(build.ask(mpicc, "-show"))).name.startswith("libmpi.so")


@pytest.mark.parametrize(
    ("mpicc", "word"), [("", "No mpicc"), ("/nowhere/mpicc", "cannot be run"), ("false", "compile")]
)
def test_a_compiler_that_is_none(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, mpicc: str, word: str
) -> None:
    stack = Stack(name="own", petsc_dir="", mpicc=mpicc)
    monkeypatch.setattr(build, "current_stack", lambda: stack)
    with pytest.raises(MissingError, match=word):
        build.recorder_library()
    assert not list(empty_cache.glob("*.so"))


def test_the_record_has_the_layout_of_the_source() -> None:
    assert RECORD.itemsize == 24
    assert [RECORD.fields[name][1] for name in RECORD.names or ()] == [0, 8, 16, 20]  # type: ignore[index]


WITHOUT_WAITING = re.compile(
    r"Abort|Add_error|Comm_(c2f|f2c|compare|create|delete_attr|free|get|group|rank|set|size|split_type)|Dist_graph|Error|"
    r"File_|Finali[sz]ed?|Get_(address|count|library)|Group_|Info_|Init|Op_|Reduce_local|"
    r"(Send|Recv|Neighbor_alltoallv)_init|Request_|Type_|Wtime|"
    r"Win_(allocate|attach|create|detach|free|set|get|shared)"
)
"""Calls that neither send nor wait: set-up, queries, and files, which no solve touches."""


def test_every_call_of_petsc_that_can_wait_goes_through_the_recorder() -> None:
    imported = undefined_symbols(find_libpetsc())
    assert "MPI_Allreduce" in imported
    wrapped = defined_symbols(build.recorder_library())
    open_ended = {name for name in imported if not WITHOUT_WAITING.match(name[4:])}
    assert open_ended <= wrapped, sorted(open_ended - wrapped)


def symbols(library: Path, *which: str) -> set[str]:
    answer = subprocess.run(
        ["nm", "--dynamic", *which, library], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].split("@")[0] for line in answer.stdout.splitlines()}
    return {name for name in names if name.startswith("MPI_")}


def undefined_symbols(library: Path) -> set[str]:
    return symbols(library, "--undefined-only")


def defined_symbols(library: Path) -> set[str]:
    return symbols(library, "--defined-only")


def find_libpetsc() -> Path:
    """Return the libpetsc that petsc4py loads in a process of its own."""
    program = (
        "import petsc4py; petsc4py.init(); from hindmost.harness.recorder.attach import"
        " libpetsc_path; import petsc4py.PETSc; print(libpetsc_path())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.split()[-1])
