"""Several processes that convert a program together write the files that one alone writes."""

from pathlib import Path

import pytest
from tests.conftest import starter
from tests.harness.attach.raw_files import US, Raw, cg, gmres, write_all
from tests.harness.attach.test_blocks import PROGRAMS, contents
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.harness.attach.convert import convert

pytestmark = pytest.mark.mpi

CONVERTING = """
import sys
from pathlib import Path
from mpi4py import MPI
from hindmost.harness.attach import blocks
from hindmost.harness.attach.convert import convert
world = MPI.COMM_WORLD
for size, blocks.BLOCK_BYTES in ((2, 1 << 26), (3, 0)):
    some = world.Split(world.rank < size)
    for raw in sorted(Path(f"{size}").glob("*.raw")) if world.rank < size else ():
        said = []
        files = convert(raw, raw.parent / raw.stem, report=said.append, communicator=some)
        assert world.rank == 0 or not said
    world.Barrier()
"""
SIZES = ("2", "3")


def on_some_ranks() -> list[Raw]:
    """A solve of all ranks in another order than theirs, and one of each rank alone."""
    ranks = [Raw(rank, 4) for rank in range(4)]
    for each in ranks:
        own = cg(0, 5 + each.rank, work=5 * US, step=9 * US)
        each.section(
            own,
            type="cg",
            iterations=5 + each.rank,
            comm_size=1,
            comm_rank=0,
            comm_leader=each.rank,
        )
        place = (each.rank + 2) % 4
        other = gmres(own.at + (9 - each.rank) * US, 6, work=(5 + each.rank) * US, step=19 * US)
        edges = (((place + 1) % 4, 7, 70),)
        each.section(other, edges, comm_size=4, comm_rank=place, comm_leader=2, iterations=6)
    return ranks


MADE = {**{name: make for name, (make, _) in PROGRAMS.items()}, "on some ranks": on_some_ranks}


def test_processes_share_the_ranks_of_a_program(tmp_path: Path) -> None:
    alone: dict[str, object] = {}
    for number, make in enumerate(MADE.values()):
        for size in SIZES:
            write_all(make(), tmp_path / size / f"app{number}-0.raw")
        files = convert(write_all(make(), tmp_path / "1" / f"app{number}-0.raw"), tmp_path / "1")
        alone |= {path.name: contents(path) for path in files}
    assert len(alone) == sum(files for _, files in PROGRAMS.values()) + 5
    done = starter(tmp_path)(3, script=CONVERTING)
    assert done.returncode == 0, done.stderr
    for size in SIZES:
        assert not list((tmp_path / size).glob("*.raw/*.raw"))
        files_now = sorted((tmp_path / size).glob("*/*.h5"))
        assert {path.name: contents(path) for path in files_now} == alone


def commands(folder: Path) -> Commands:
    """Return conversions on two ranks."""
    write_all(MADE["a chain"](), folder / "one" / "app-0.raw")
    (folder / "none").mkdir()
    return {"one": ("attach", "--convert", folder / "one", "--keep", "50%")}


def test_the_command_on_several_ranks(launched: Launched) -> None:
    folder, done = launched
    assert done["one"].returncode == 0
    file = folder / "one" / "app-loop-p4-0.h5"
    assert done["one"].stdout.splitlines() == [str(file)]
    run = hindmost.open(file)
    assert (run.columns, run.header.ranks) == (2, 4)
    run.verify()
    assert done["one"].stderr == ""
