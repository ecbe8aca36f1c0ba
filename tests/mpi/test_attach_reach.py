"""Programs that the recorder reaches in part, past others, or not at all."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import BIN
from tests.programs.attaching import PROGRAMS, alone, compiled

import hindmost
from hindmost.harness.stack import current_stack

pytestmark = pytest.mark.mpi
MPI = r"""
#include <stdio.h>
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int main(int argc, char **argv) { MPI_Init(&argc, &argv); puts("ran"); return MPI_Finalize(); }
"""
ANOTHER = r"""
int PMPI_Init(int *argc, char ***argv) { return 0; }
int MPI_Init(int *argc, char ***argv) { return 0; }
int MPI_Finalize(void) { return 0; }
"""
BY_HANDLE = r"""
#include <dlfcn.h>
#include <stddef.h>
int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  int (*init)(int *, char ***) = dlsym(library, "MPI_Init"), (*barrier)(void *);
  int (*end)(void) = dlsym(library, "MPI_Finalize");
  init(&argc, &argv);
  return end();
}
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with a loop."""
    return compiled(tmp_path_factory.mktemp("ends"), "ends")


def built(folder: Path, name: str, text: str, *words: str | Path) -> Path:
    """Compile C without MPI."""
    (folder / f"{name}.c").write_text(text)
    program = folder / name
    subprocess.run(["cc", "-o", program, folder / f"{name}.c", *words], check=True, timeout=60)
    return program


def libmpi() -> str:
    """Return the library of MPI that this Python's mpi4py loads."""
    show = "import mpi4py.MPI\nfor line in open('/proc/self/maps'): print(line.split()[-1])"
    asked = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    names = {line for line in asked.stdout.splitlines() if Path(line).name.startswith("libmpi.so")}
    return names.pop()


@pytest.mark.parametrize(
    "name",
    ["others", *(pytest.param(name, marks=pytest.mark.slow) for name in ("first", "cleared"))],
)
def test_ranks_without_the_recorder_are_not_waited_for(
    name: str, ends: Path, tmp_path: Path
) -> None:
    """The program runs on, whichever ranks they are and however they came to be."""
    launcher: list[str | Path] = [BIN / "mpiexec", "-n", "1"]
    program: list[str | Path] = [ends, "well", "20"]
    # Who is not attached sleeps meanwhile: it would wait busily for the other.
    late: list[str | Path] = [ends, "late", "20", "1" if name == "others" else "0"]
    next_part = [":", "-n", "1"]

    def attach(out: str) -> list[str | Path]:
        return [BIN / "hindmost", "attach", "--out", out, "--"]

    commands: dict[str, list[str | Path]] = {
        "others": [*launcher, *attach("others"), *program, *next_part, *late],
        "first": [*launcher, *late, *next_part, *attach("first"), *program],
        "cleared": [
            *attach("cleared"),
            *(*launcher, "env", "-u", "LD_PRELOAD", *late),
            *(*next_part, *program),
        ],
    }
    done = subprocess.run(
        commands[name], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )
    said = " ".join(done.stderr.split())
    assert said.count("Nothing will be recorded of ends") == 1
    reason = "answered on 1 of its 2 ranks, and for 10 s not on rank 1"
    if name != "others":
        reason = "rank 1 of its 2 ranks has the recorder, and waited 10 s for a sign of it"
    assert reason in said
    assert "Nothing was recorded" not in said
    assert done.returncode == (0 if name == "first" else 4)
    assert not [path for path in (tmp_path / name).iterdir() if path.suffix in (".h5", ".raw")]


def test_parts_that_are_all_attached_are_one_program(ends: Path, tmp_path: Path) -> None:
    part: list[str | Path] = ["-n", "1", BIN / "hindmost", "attach", "--out", "runs", "--"]
    part += [ends, "well"]
    other = tmp_path / "other"
    other.symlink_to(ends)
    part_of_other = [*part[:-2], other, "well"]
    command = [BIN / "mpiexec", *part, "20", ":", *part_of_other, "20"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=90
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").iterdir()
    assert hindmost.open(path).durations.shape == (39, 2)


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_a_tool_beside_the_recorder(optimised: str, ends: Path, tmp_path: Path) -> None:
    """In front or behind: both see all calls, also where the tool's wrapper jumps to PMPI."""
    tool = tmp_path / "tool.so"
    flags = ("-shared", "-fPIC", optimised)
    subprocess.run([current_stack().mpicc, *flags, "-o", tool, PROGRAMS / "tool.c"], check=True)
    for order in (f'{tool}:"$LD_PRELOAD"', f'"$LD_PRELOAD":{tool}'):
        script = f"LD_PRELOAD={order} exec {ends} well 20"
        done = alone("--out", "runs", "--", "sh", "-c", script, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "the tool saw 40 calls and 40 marks" in done.stdout
    for path in (tmp_path / "runs").iterdir():
        run = hindmost.open(path)
        assert len(run.durations) == 39
        assert (run.phase("wait") > 0).all()
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_what_is_said_is_what_was_seen(ends: Path, tmp_path: Path) -> None:
    """Of each program that the recorder did not reach: its own name, and nothing that is false."""
    handles = built(tmp_path, "handles", BY_HANDLE, "-ldl")
    said = {}
    for name, words in {
        "replaced": ("env", "LD_PRELOAD=", ends, "well", "5"),
        "a script": ("sh", "-c", f"LD_PRELOAD= {ends} well 5; true"),
        "by handle": (handles, libmpi()),
        "crashed": ("sh", "-c", "kill -SEGV $$"),
        "no MPI": ("sh", "-c", "exit 3"),
    }.items():
        done = alone("--out", "runs", "--", *words, folder=tmp_path)
        said[name] = " ".join(done.stderr.split())
        assert done.returncode == {"crashed": -11, "no MPI": 3}.get(name, 4), said[name]
    assert "loaded into env, but not into ends, which took its place" in said["replaced"]
    assert "loaded into sh, which made no call of MPI_Init" in said["a script"]
    assert "LD_PRELOAD is replaced or cleared" in said["a script"]
    assert "handles uses MPI (" in said["by handle"]
    assert "no call of MPI_Init reached the recorder" in said["by handle"]
    assert "made no call of MPI_Init, and was ended by SIGSEGV" in said["crashed"]
    assert "made no call of MPI_Init, and ended with status 3" in said["no MPI"]
    for sentence in said.values():
        certain, _, _ = sentence.partition("Possible causes")
        assert "statically" not in certain
        assert "setuid" not in certain


def test_names_that_are_looked_up_in_the_process_are_recorded(tmp_path: Path) -> None:
    """As is advised where MPI was found by handle."""
    handles = built(tmp_path, "handles", BY_HANDLE, "-Wl,--no-as-needed", libmpi(), "-ldl")
    done = alone("--out", "runs", "--", handles, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no rank made a call of MPI" in " ".join(done.stderr.split())


def test_a_static_program_and_one_with_address_sanitizer(tmp_path: Path) -> None:
    try:
        static = built(tmp_path, "static", "int main(void) { return 0; }", "-static")
        checked = built(tmp_path, "checked", "int main(void) { return 0; }", "-fsanitize=address")
    except subprocess.CalledProcessError:
        pytest.skip("no static libc, or no AddressSanitizer")
    done = alone("--out", "runs", "--", static, folder=tmp_path)
    assert done.returncode == 4
    assert "static did not load the recorder: it is statically linked" in done.stderr
    done = alone("--out", "runs", "--", checked, folder=tmp_path)
    if "ASan runtime does not come first" not in done.stderr:
        pytest.skip("this compiler links AddressSanitizer statically")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "checked did not load the recorder: it is built with AddressSanitizer" in said
    assert "statically" not in said
    advised = said.partition("Set ")[2].split()[0]
    os.environ[advised.partition("=")[0]] = advised.partition("=")[2]
    try:
        done = alone("--out", "runs", "--", checked, folder=tmp_path)
    finally:
        del os.environ[advised.partition("=")[0]]
    assert "the recorder was loaded into checked" in " ".join(done.stderr.split())


@pytest.mark.parametrize("way", ["attach", "print env"])
def test_a_program_with_another_mpi_is_told_so(way: str, tmp_path: Path) -> None:
    library = built(tmp_path, "libmpi_another.so", ANOTHER, "-shared", "-fPIC")
    program = built(tmp_path, "app", MPI, library, f"-Wl,-rpath,{tmp_path}")
    if way == "attach":
        done = alone("--out", "runs", "--", program, folder=tmp_path)
    else:
        lines = alone("--print", "env", "--out", "runs", folder=tmp_path).stdout
        done = subprocess.run(
            ["sh", "-c", f"{lines}\nexec {program}"], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("app was stopped before it began: it uses another MPI than") == 1
    assert "--mpicc PATH" in done.stderr


@pytest.mark.parametrize(("what", "launched"), [("runs", True), ("runs/ends-0.raw", False)])
def test_the_program_counts_if_its_records_are_removed(
    what: str, launched: bool, ends: Path, tmp_path: Path
) -> None:
    program = [ends, "well", "30", "9", "20000"]
    remove = f"(until [ -e runs/ends-0.raw ]; do sleep 0.01; done; sleep 0.1; rm -r {what}) &"
    command = [BIN / "hindmost", "attach", "--out", "runs", "--", *program]
    if launched:
        command = [BIN / "mpiexec", "-n", "1", *command]
    words = shlex.join(map(str, command))
    done = subprocess.run(
        ["sh", "-c", f"{remove} {words}; status=$?; wait; exit $status"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=90,
    )  # fmt: skip
    said = " ".join(done.stderr.split())
    assert done.returncode == 0, said
    assert f"{what.split('/')[-1]} was removed while the program ran" in said
    assert "did not load" not in said
    assert len(said.splitlines()) == 1


def test_processes_that_a_program_spawns_are_a_program_of_their_own(tmp_path: Path) -> None:
    program = compiled(tmp_path, "spawns")
    done = alone("--out", "runs", "--", BIN / "mpiexec", "-n", "2", program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = [hindmost.open(path) for path in (tmp_path / "runs").glob("*.h5")]
    assert sorted(run.bodies for run in runs) == [60, 90]
    assert {run.header.ranks for run in runs} == {2}
