"""Recorders that were built ahead: each program gets the one for the MPI that it loads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hindmost.errors import MissingError, UsageError
from hindmost.harness.attach.environment import SETTINGS, STATUS
from hindmost.harness.recorder import prebuilt
from hindmost.harness.recorder.build import FORMS, LIBRARY
from hindmost.harness.stack import current_stack

LIBRARY_SOURCE = """
#include <stdio.h>
int PMPI_Init(int *count, char ***words) { (void)count, (void)words; return puts("MPI begins"); }
__attribute__((weak)) int MPI_Init(int *count, char ***words) { return PMPI_Init(count, words); }
"""
RECORDER_SOURCE = """
#include <stdio.h>
int PMPI_Init(int *count, char ***words);
int MPI_Init(int *count, char ***words) {
  puts("recorded by the recorder");
  return PMPI_Init(count, words);
}
"""
PROGRAM_SOURCE = """
#include <stdio.h>
int MPI_Init(int *count, char ***words);
int main(int count, char **words) {
  char line[16] = "";
  MPI_Init(&count, &words);
  if (fgets(line, sizeof line, stdin)) fputs(line, stdout);
  for (int i = 1; i < count; i++) puts(words[i]);
  return 7;
}
"""
MODULE_SOURCE = """
int MPI_Init(int *count, char ***words);
int begin(void) { return MPI_Init(0, 0); }
"""
LOAD = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_NOW).begin()"


def compiled(source: str, target: Path, *words: str | Path) -> Path:
    file = target.with_suffix(".c")
    file.write_text(source)
    if target.suffix == ".so" or ".so." in target.name:
        words = ("-shared", "-fPIC", *words)
    subprocess.run(["cc", "-o", target, file, *words], check=True)
    return target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two MPIs in folders of their own, and a chooser with a recorder for the first of them."""
    folder = tmp_path_factory.mktemp("site")
    recorders = folder / "recorders"
    recorders.mkdir()
    for soname in ("libmpi.so.7", "libmpi.so.8"):
        own = folder / soname
        own.mkdir()
        library = compiled(LIBRARY_SOURCE, own / soname, f"-Wl,-soname,{soname}")
        find = ("-Wl,--enable-new-dtags,-rpath,$ORIGIN", "-Wl,--no-as-needed", library)
        compiled(PROGRAM_SOURCE, own / "program", *find)
        compiled(MODULE_SOURCE, own / "module.so", *find)
    recorder = recorders / "recorder-1-libmpi.so.7.so"
    compiled(RECORDER_SOURCE, recorder, folder / "libmpi.so.7/libmpi.so.7")
    chooser = recorders / "choose-1.so"
    command = ["cc", *prebuilt.CHOOSER_FLAGS, "-o", str(chooser), str(prebuilt.CHOOSER)]
    subprocess.run(command, check=True)
    return folder


def run(site: Path, *words: str | Path, **more: str) -> tuple[int, list[str], str]:
    """Run a program with the chooser; return status, output and errors."""
    status = site / "status"
    status.write_text("")
    added = {
        "LD_PRELOAD": str(site / "recorders/choose-1.so"),
        SETTINGS: "none",
        STATUS: str(status),
    }
    ended = subprocess.run(
        words, env={**os.environ, **added, **more}, input="in\n", capture_output=True, text=True
    )
    return ended.returncode, ended.stdout.splitlines(), ended.stderr


def test_a_program_gets_the_recorder_of_the_mpi_that_it_is_linked_with(site: Path) -> None:
    status, lines, errors = run(site, site / "libmpi.so.7/program", "a b", "")
    assert (status, lines) == (7, ["recorded by the recorder", "MPI begins", "in", "a b", ""])
    assert errors == ""


def test_a_library_that_is_loaded_later_brings_its_recorder(site: Path) -> None:
    status, lines, errors = run(site, sys.executable, "-c", LOAD, site / "libmpi.so.7/module.so")
    assert (status, lines, errors) == (0, ["recorded by the recorder", "MPI begins"], "")


@pytest.mark.parametrize("rank", ["0", "1"])
def test_without_a_recorder_the_program_runs_and_one_rank_says_so(site: Path, rank: str) -> None:
    program, module = site / "libmpi.so.8/program", site / "libmpi.so.8/module.so"
    for words in ((program,), (sys.executable, "-c", LOAD, module)):
        status, lines, errors = run(site, *words, PMI_RANK=rank)
        assert status == (7 if words == (program,) else 0)
        assert lines[0] == "MPI begins"
        assert ("libmpi.so.8, and there is no recorder" in errors) == (rank == "0")
    assert ("refused" in (site / "status").read_text()) == (rank == "0")


def test_programs_without_mpi_run_as_they_are(site: Path) -> None:
    damaged = site / "damaged.so"
    whole = (site / "libmpi.so.7/module.so").read_bytes()
    for size in (0, 3, 20, 64, 200, 800, 2000, len(whole) // 2):
        damaged.write_bytes(whole[:size])
        words = (sys.executable, "-c", LOAD, damaged)
        alone = subprocess.run(words, capture_output=True, check=False)  # the loader's own answer
        assert run(site, *words)[:2] == (alone.returncode, [])
    assert run(site, "sh", "-c", "cat; exit 3") == (3, ["in"], "")


def test_recorders_of_this_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = (*FORMS[LIBRARY], "-O0")
    monkeypatch.setitem(FORMS, LIBRARY, fast)
    (recorder,) = prebuilt.build_recorders(tmp_path, [current_stack().mpicc])
    monkeypatch.setenv(prebuilt.RECORDERS, str(tmp_path))
    assert prebuilt.library_of_python() == recorder
    assert prebuilt.library_to_preload().name.startswith("choose-")
    assert prebuilt.mpi_of(prebuilt.library_to_preload(), recorder) in recorder.name
    recorder.rename(recorder.with_name(recorder.name.replace("libmpi", "libmpi_other")))
    with pytest.raises(MissingError, match="libmpi_other"):
        prebuilt.library_of_python()


def test_what_lacks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(prebuilt.RECORDERS, str(tmp_path))
    with pytest.raises(MissingError, match="no recorders of this version"):
        prebuilt.library_to_preload()
    plain = shutil.which("cc")
    assert plain is not None
    with pytest.raises((MissingError, UsageError), match=r"compile|needs no shared library of MPI"):
        prebuilt.build_recorders(tmp_path, [plain])
    with pytest.raises(MissingError, match="The compiler /no/mpicc cannot be run"):
        prebuilt.build_recorders(tmp_path, ["/no/mpicc"])
