from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hindmost.errors import MissingError
from hindmost.harness.recorder import build
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.stack import Stack, current_stack


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "hindmost" / "recorder"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder with a recorder in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return build.recorder_library().parent


@pytest.fixture
def library(built: Path, empty_cache: Path) -> Path:
    """Return a recorder in a cache of its own; to compile another one is an error."""
    shutil.copytree(built, empty_cache)
    (library,) = empty_cache.glob("*.so")
    return library


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, built: Path) -> list[Path]:
    """Return the folders that a recorder was compiled in; it is copied there instead."""
    folders: list[Path] = []

    def compiled(_: str, folder: Path, identity: str, *__: object) -> Path:
        folders.append(folder)
        (whole,) = built.glob("*.so")
        of_contents = whole.name.rsplit("-", 1)[1]
        return Path(shutil.copy(whole, folder / f"recorder-{identity}-{of_contents}"))

    monkeypatch.setattr(build, "compile_recorder", compiled)
    return folders


def test_a_recorder_that_is_whole_is_loaded(library: Path, compilations: list[Path]) -> None:
    with build.open_recorder() as path:
        assert Path(path).samefile(library)
    assert compilations == []


def cut_off(library: Path) -> None:
    os.truncate(library, library.stat().st_size // 2)


def altered(library: Path) -> None:
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    library.write_bytes(data)


def writable_by_others(library: Path) -> None:
    library.chmod(0o666)


def of_another_user(library: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(library, 12345, -1)


def a_link(library: Path) -> None:
    library.rename(library.with_name("elsewhere"))
    library.symlink_to(library.with_name("elsewhere"))


def a_pipe(library: Path) -> None:
    library.unlink()
    os.mkfifo(library)


@pytest.mark.parametrize(
    "spoil", [cut_off, altered, writable_by_others, of_another_user, a_link, a_pipe]
)
def test_a_recorder_that_is_not_whole_or_not_ours_is_built_anew(
    spoil: Callable[[Path], None], library: Path, compilations: list[Path]
) -> None:
    spoil(library)
    with build.open_recorder() as path:
        assert Path(path).samefile(library)
    assert compilations == [library.parent]
    assert build.is_whole(library)


def test_a_note_leads_nowhere_else(library: Path, compilations: list[Path]) -> None:
    (noted,) = library.parent.glob("*.json")
    facts = json.loads(noted.read_text())
    evil = library.parent.parent / library.name
    shutil.copy(library, evil)
    edits: tuple[dict[str, object], ...] = (
        {"library": str(evil)},
        {"contents": "../evil"},
        {"identity": 7},
        {"changed": []},
    )
    for wrong in edits:
        noted.write_text(json.dumps({**facts, **wrong}))
        assert build.recorder_library() == library
    noted.write_text("[]")
    assert build.recorder_library() == library
    noted.unlink()
    os.mkfifo(noted)
    assert build.recorder_library() == library
    assert compilations == []


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
        of_another_user(place / "hindmost" / "recorder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    found = build.recorder_library()
    (used,) = compilations
    if folder == "group":  # the user's own folder is closed to others instead
        assert used.parent.parent == place
        assert used.parent.stat().st_mode & 0o022 == 0
    else:
        assert used == empty_cache.parent.parent / f"hindmost-{os.geteuid()}" / "recorder"
    assert found.parent == used


def test_compiled_once_and_again_when_the_source_changes(
    empty_cache: Path,
    compilations: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = build.recorder_library()
    written = first.stat().st_mtime_ns
    assert build.recorder_library() == first
    assert first.stat().st_mtime_ns == written
    assert compilations == [empty_cache]
    changed = [tmp_path / source.name for source in build.SOURCES]
    for source, copy in zip(build.SOURCES, changed, strict=True):
        copy.write_text(source.read_text() + "\n/* changed */\n")
    monkeypatch.setattr(build, "SOURCES", changed)
    second = build.recorder_library()
    assert second != first
    assert compilations == [empty_cache, empty_cache]
    assert sorted(empty_cache.glob("*.so")) == sorted([first, second])


def test_another_libmpi_is_another_recorder(
    empty_cache: Path, compilations: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.recorder_library()
    libmpi = empty_cache / "libmpi.so.12"
    libmpi.touch()
    (noted,) = empty_cache.glob("*.json")
    noted.unlink()
    monkeypatch.setattr(build, "libmpi_path", lambda _: str(libmpi))
    assert build.recorder_library() != first
    assert len(compilations) == 2


def test_ranks_that_find_it_compiled_run_no_compiler(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a compiler was run")

    monkeypatch.setattr("subprocess.run", forbidden)
    assert build.recorder_library() == library
    library.unlink()
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
    assert [RECORD.fields[name][1] for name in RECORD.names or ()] == [0, 8, 16, 20, 21, 22]  # type: ignore[index]


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
        "import petsc4py; petsc4py.init(); from hindmost.harness.recorder.attach import"
        " libpetsc_path; import petsc4py.PETSc; print(libpetsc_path())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.split()[-1])
