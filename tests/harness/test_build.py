from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hindmost.errors import MissingError
from hindmost.harness.recorder import build
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.stack import Stack


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "hindmost" / "recorder"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the libraries that were compiled; an empty file stands for each."""
    libraries: list[Path] = []

    def compiled(_: str, library: Path, __: object) -> None:
        libraries.append(library)
        library.touch()

    monkeypatch.setattr(build, "compile_recorder", compiled)
    return libraries


@pytest.mark.parametrize("folder", ["/proc/nothing", "/dev/full", "shared", "theirs", "group"])
def test_a_cache_that_is_not_ours_alone_or_cannot_be_written_is_passed_over(
    folder: str, empty_cache: Path, compilations: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = empty_cache.parent.parent / folder
    if not folder.startswith("/"):
        (place / "hindmost" / "recorder").mkdir(parents=True)
    if folder in ("shared", "group"):
        (place / "hindmost").chmod(0o777)
    if folder == "shared":
        place.chmod(0o777)
    if folder == "theirs":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(place / "hindmost" / "recorder", 12345, -1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    found = build.recorder_library()
    assert compilations == [found]
    used = found.parent
    if folder == "group":  # the user's own folder is closed to others instead
        assert used.parent.parent == place
        assert used.parent.stat().st_mode & 0o022 == 0
    else:
        assert used == empty_cache.parent.parent / f"hindmost-{os.geteuid()}" / "recorder"


def test_compiled_once_and_again_when_source_or_compiler_changes(
    empty_cache: Path,
    compilations: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mpicc = tmp_path / "mpicc"
    mpicc.write_text("#!/bin/sh\n")
    mpicc.chmod(0o755)
    first = build.recorder_library(str(mpicc))
    assert build.recorder_library(str(mpicc)) == first
    assert compilations == [first]
    changed = [tmp_path / source.name for source in build.SOURCES]
    for source, copy in zip(build.SOURCES, changed, strict=True):
        copy.write_text(source.read_text() + "\n/* changed */\n")
    monkeypatch.setattr(build, "SOURCES", changed)
    second = build.recorder_library(str(mpicc))
    os.utime(mpicc, (0, 0))
    third = build.recorder_library(str(mpicc))
    assert compilations == [first, second, third]
    assert sorted(empty_cache.glob("*.so")) == sorted({first, second, third})


@pytest.mark.parametrize(
    ("mpicc", "word"),
    [
        ("", "There is no mpicc"),
        ("/nowhere/mpicc", "cannot be run"),
        ("false", "compile"),
        ("true", "wrote no library"),
    ],
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
    assert [RECORD.fields[name][1] for name in RECORD.names or ()] == [0, 8, 16, 18, 20, 21, 22]  # type: ignore[index]


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


AT_ONCE = re.compile(
    r"Abi_|Abort|Aint_|Add_error|Address|Alloc_mem|Attr_|Buffer_(attach|flush|iflush)|Cancel|Close_port|"
    r"Cart(_coords|_get|_map|_rank|_shift|dim_get)|Comm_(attach|detach|flush|iflush)_buffer|"
    r"Comm_(call|compare|create_(err|key)|delete|free_key|get|group|rank|remote|set|size|test)|"
    r"Dims_create|Dist_graph_neighbors|Err|File_(call|create|get|seek$|set_errhandler)|Finali[sz]e|"
    r"Free_mem|Get_|Graph(_get|_map|_neigh|dims)|Grequest_|Group_|Info_|Init|Is_thread|Keyval_|"
    r"Lookup_|Message_|Op(_|en_)|Pack|Pcontrol|Publish|Query|Reduce_local|Register_|Remove_error|"
    r"Request_(get_status_|to|from)|Session|Status_|T_|Test_cancelled|Topo_|Type_|Unp(ack|ublish)|"
    r"Win_(attach|call|create_(err|key)|delete|detach|free_key|get|set|shared_query|sync)|Wti|"
    r".*_(c2f|f2c|f082c|c2f08|f2f08|f082f|fromint|toint)$|.*_(FN|fn|FUNCTION)$"
)
"""Calls that return at once, or that nobody makes in a loop."""


def test_every_call_that_can_block_goes_through_the_recorder() -> None:
    recorder = build.recorder_library()
    wrapped = defined_symbols(recorder)
    told = subprocess.run(["ldd", recorder], capture_output=True, text=True, check=True)
    [libmpi] = {line.split()[2] for line in told.stdout.splitlines() if "libmpi" in line}
    names = {name for name in defined_symbols(Path(libmpi)) if not name.isupper()}
    ours = {name for name in names if not AT_ONCE.match(name[4:])}
    assert len(ours) > 150
    assert ours <= wrapped, sorted(ours - wrapped)


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
        "import petsc4py; petsc4py.init(); from hindmost.harness.recorder.petsc_library import"
        " libpetsc_path; import petsc4py.PETSc; print(libpetsc_path())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.split()[-1])
