"""The words of launchers, held against what MPICH 5, Open MPI 4.1 and Slurm 22.05 took."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.launchers import LAUNCHERS, family

MACHINE = MachineProfile(name="site", scheduler="slurm", launcher="srun", cores_per_node=4)

VERSIONS = {
    "MPICH": "HYDRA build details:\n    Version:                                 5.0.2",
    "Open MPI": "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/",
    "Open MPI 5": "mpiexec (Open MPI) 5.0.3",
    "Intel MPI": "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307",
    "else": "mpiexec of a vendor 1.0",
}


def words(machine: MachineProfile, launcher: str, *, ranks: int = 6, per_node: int = 3) -> str:
    found = LAUNCHERS[launcher].prefix(
        machine, ranks=ranks, ranks_per_node=per_node, nodes=-(-ranks // per_node)
    )
    return " ".join(found)


@pytest.fixture
def mpiexec(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put an mpiexec of some library beside the interpreter."""
    program = tmp_path / "mpiexec"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{VERSIONS[request.param]}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    family.cache_clear()
    return str(program)


@pytest.mark.parametrize(
    ("mpiexec", "expected"),
    [
        ("MPICH", "-n 6 -ppn 3 -bind-to core"),
        ("Open MPI", "-n 6 --map-by ppr:3:node --bind-to core"),
        ("Open MPI 5", "-n 6 --map-by ppr:3:node --bind-to core"),
        ("Intel MPI", "-n 6 -ppn 3"),
    ],
    indirect=["mpiexec"],
)
def test_mpiexec_places_and_binds(mpiexec: str, expected: str) -> None:
    assert words(MACHINE, "mpiexec") == f"{mpiexec} {expected}"


@pytest.mark.parametrize(
    ("mpiexec", "expected"),
    [
        ("MPICH", "-n 6 -ppn 6 -bind-to none"),
        ("Open MPI", "-n 6 --map-by ppr:6:node:oversubscribe --bind-to none"),
    ],
    indirect=["mpiexec"],
)
def test_more_ranks_than_cores_are_not_bound(mpiexec: str, expected: str) -> None:
    assert words(MACHINE, "mpiexec", per_node=6) == f"{mpiexec} {expected}"


@pytest.mark.parametrize("mpiexec", ["MPICH"], indirect=True)
def test_what_launch_args_say_is_not_said_twice(mpiexec: str) -> None:
    bound = replace(MACHINE, launch_args=("-bind-to", "hwthread"))
    assert words(bound, "mpiexec") == f"{mpiexec} -n 6 -ppn 3 -bind-to hwthread"
    placed = replace(MACHINE, launch_args=("-ppn", "1"))
    assert words(placed, "mpiexec") == f"{mpiexec} -n 6 -bind-to core -ppn 1"


@pytest.mark.parametrize("mpiexec", ["else"], indirect=True)
def test_an_mpiexec_that_nobody_knows(mpiexec: str) -> None:
    with pytest.raises(UsageError, match=r"reports 'mpiexec of a vendor 1\.0'.*launch_args"):
        words(MACHINE, "mpiexec")
    told = replace(MACHINE, launch_args=("--map-by=node", "--bind-to=core"))
    assert words(told, "mpiexec") == f"{mpiexec} -n 6 --map-by=node --bind-to=core"


def test_no_mpiexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no mpiexec"):
        words(MACHINE, "mpiexec")


def test_srun() -> None:
    places = "srun --nodes=2 --ntasks=6 --ntasks-per-node=3"
    own = "--mpi=pmi2 --cpu-bind=cores --exact --kill-on-bad-exit=1"
    assert words(MACHINE, "srun") == f"{places} {own}"
    asked = replace(MACHINE, launch_args=("--mpi=cray_shasta", "--cpu-bind=map_cpu:0,2,4"))
    assert words(asked, "srun") == (
        f"{places} --exact --kill-on-bad-exit=1 --mpi=cray_shasta --cpu-bind=map_cpu:0,2,4"
    )
    crowded = words(MACHINE, "srun", per_node=6)
    assert "--cpu-bind=none --overcommit --kill-on-bad-exit=1" in crowded


def test_a_template() -> None:
    aprun = ("aprun", "-n", "{ranks}", "-N", "{ranks_per_node}", "-cc", "depth")
    machine = replace(MACHINE, launch_template=aprun, launch_args=("-j", "1"))
    assert words(machine, "template") == "aprun -n 6 -N 3 -cc depth -j 1"
    with pytest.raises(DataError, match=r"\{tasks\} is not known: did you mean ranks"):
        replace(MACHINE, launch_template=("x", "{ranks}", "{tasks}"))
