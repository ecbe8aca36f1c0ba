"""One rank's failure ends the run everywhere, with one message."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.conftest import BIN, Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

pytestmark = pytest.mark.mpi


def messages(stderr: str) -> list[str]:
    """Return what hindmost says beside progress; the launcher's own noise is left out."""
    said = [line for line in stderr.splitlines() if line.startswith("hindmost: ")]
    return [line for line in said if not re.search(r": (\w+: warming up|run \d+ of)", line)]


BAD = {
    "an unknown workload": (["laplacian-9d", "--solver", "gmres"], 2, "choose laplacian-1d"),
    "an unknown solver": (["diagonal", "--solver", "magic"], 2, "choose bcgs"),
    "a solver named twice": (["diagonal", "--solver", "gmres", "--solver", "gmres"], 2, "twice"),
    "no unknowns": (["diagonal", "--solver", "gmres", "--unknowns", "0"], 2, "--unknowns 0"),
    "fewer than no iterations": (
        ["diagonal", "--solver", "gmres", "--iterations", "-5"], 2, "--iterations -5",
    ),
    "records that no memory holds": (
        ["diagonal", "--solver", "cg", "--iterations", "2000000000", "--warmup", "0"],
        2, "are free. Choose fewer iterations, or --warmup 1",
    ),
    "no repeats": (["diagonal", "--solver", "gmres", "--repeats", "0"], 2, "--repeats 0"),
    "fewer unknowns than ranks": (
        ["diagonal", "--solver", "gmres", "--unknowns", "1"], 2, "on 2 ranks",
    ),
    "no solver": (["diagonal"], 2, "--solver"),
    "unknowns that are no number": (
        ["diagonal", "--solver", "gmres", "--unknowns", "1e5"], 2, "invalid int value: '1e5'",
    ),
    "an options file that is not there": (
        ["diagonal", "--solver", "gmres", "--", "-options_file", "absent"], 2, "PETSc",
    ),
    "PETSc's word for ours": (
        ["diagonal", "--solver", "gmres", "--", "-ksp_type", "cg"], 2, "use --solver",
    ),
    "a preconditioner that PETSc has not got": (
        ["diagonal", "--solver", "gmres", "--", "-pc_type", "magic"], 2, "magic",
    ),
}  # fmt: skip


LAUNCHED = ("an unknown workload", "an options file that is not there")
"""What is known before MPI starts, and as PETSc starts: each by itself."""
FOLDERS = ("/proc/hindmost", "a-file")
MISSPELT = {
    "ours": ("diagonal", "--solver", "gmres", "--unknowns", "50", "--iterations", "31"),
    "PETSc's": (
        "-ksp_gmres_restrat", "7", "-ksp_gmres_restart", "8", "-pc_type", "none",
        "-ksp_gmres_preallocate",
    ),
}  # fmt: skip


def into(folder: Path, words: list[str]) -> list[str | Path]:
    """Return a command that writes into a folder."""
    at = words.index("--") if "--" in words else len(words)
    return ["run", *words[:at], "--out", folder, *words[at:]]


def commands(folder: Path) -> Commands:
    """Return what ranks cannot do, for a folder."""
    (folder / "a-file").touch()
    here = [name for name in BAD if name not in LAUNCHED]
    asked = {name: into(folder / f"out-{here.index(name)}", BAD[name][0]) for name in here}
    asked |= {name: into(folder / name, ["diagonal", "--solver", "gmres"]) for name in FOLDERS}
    words = [*MISSPELT["ours"], "--", *MISSPELT["PETSc's"]]
    return asked | {"a misspelt option": into(folder / "misspelt", words)}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_has_one_message(
    ranks: Ranks, tmp_path: Path, launched: Launched, name: str
) -> None:
    words, status, word = BAD[name]
    alone = name in LAUNCHED
    done = ranks(2, *into(tmp_path / "out", words)) if alone else launched[1][name]
    assert done.returncode == status, done.stderr
    assert len(messages(done.stderr)) == 1, done.stderr
    assert word in messages(done.stderr)[0]
    assert "Traceback" not in done.stderr
    assert not list((tmp_path if alone else launched[0]).glob("out*/*"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_that_cannot_be_written(launched: Launched, folder: str) -> None:
    done = launched[1][folder]
    assert done.returncode == 2, done.stderr
    assert len(messages(done.stderr)) == 1, done.stderr
    assert "cannot be written there" in messages(done.stderr)[0]


def test_a_full_disk_leaves_nothing_behind(ranks: Ranks, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    try:
        done = ranks(2, "run", "diagonal", "--solver", "gmres", "--unknowns", "600", "--out", disk)
        left = list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 3, done.stderr
    assert len(messages(done.stderr)) == 1, done.stderr
    assert "No space left" in done.stderr
    assert not left


def test_singletons_are_refused(ranks: Ranks, tmp_path: Path) -> None:
    # What srun without PMI does: processes that were promised two ranks and each see one.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OMPI", "PMI"))
    }
    environment |= {"PMI_SIZE": "2", "PMI_RANK": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    launched = subprocess.run(
        [BIN / "python", "-c", PRETEND, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=600,
    )
    assert launched.returncode == 4, launched.stderr
    assert "started 2 processes, but MPI sees 1" in launched.stderr
    assert not (tmp_path / "out").exists()


PRETEND = """
import os, sys
# The promise is taken away before MPI starts, as it is lost on the way from a foreign launcher.
from hindmost.harness.launch import assigned_rank
promised = assigned_rank()
for name in ("PMI_SIZE", "PMI_RANK"):
    del os.environ[name]
from hindmost.harness.verbs import campaign
campaign.assigned_rank = lambda: promised
from hindmost.cli import main
sys.exit(main(["run", "diagonal", "--solver", "gmres", "--out", sys.argv[1]]))
"""


def test_a_misspelt_option_is_told(launched: Launched) -> None:
    done = launched[1]["a misspelt option"]
    assert done.returncode == 0
    assert "PETSc did not use -ksp_gmres_restrat; check the spelling" in done.stderr


DEFECT = """\
import sys
from hindmost import cli
from hindmost.__main__ import main
from hindmost.harness import mpi, rank_failures

where, who = sys.argv[1:]

def command():
    ranks = mpi.start()
    others = ranks.Dup()

    def act():
        if who in ("all", str(ranks.rank)):
            raise MemoryError if who == "all" else KeyError("x\\x1b[31m")
        others.Barrier()
        return 0

    return rank_failures.perform_together(ranks, act) if where == "together" else act()

cli.main = command
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("where", "who"), [("together", "1"), ("elsewhere", "1"), ("together", "all")]
)
def test_a_defect_ends_all_ranks_with_one_message(ranks: Ranks, where: str, who: str) -> None:
    done = ranks(2, where, who, script=DEFECT)
    assert done.returncode == 70, done.stderr
    (said,) = messages(done.stderr)
    assert ("rank 1" in said) == (who == "1")
    assert ("out of memory" if who == "all" else r"KeyError: 'x\x1b[31m'") in said
    assert "Traceback" not in done.stderr
