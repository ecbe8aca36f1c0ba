"""How this process was started among others: what the launcher promised, and what is there."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindmost.errors import MissingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """The variables in which a launcher tells a process its place."""

    name: str
    size: str
    rank: str


LAUNCHERS = (
    Launcher(name="Open MPI's mpiexec", size="OMPI_COMM_WORLD_SIZE", rank="OMPI_COMM_WORLD_RANK"),
    Launcher(name="mpiexec (PMI)", size="PMI_SIZE", rank="PMI_RANK"),
    Launcher(name="srun", size="SLURM_STEP_NUM_TASKS", rank="SLURM_PROCID"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place that a launcher gave to this process.

    Attributes
    ----------
    launcher : str
        Empty if there was none.
    size, rank : int
    """

    launcher: str
    size: int
    rank: int


def place(environment: Mapping[str, str] = os.environ) -> Place:
    """Return the place that the launcher gave to this process: 0 of 1 if there was none."""
    for launcher in LAUNCHERS:
        size, rank = environment.get(launcher.size, ""), environment.get(launcher.rank, "")
        if size.isdigit() and rank.isdigit():
            return Place(launcher=launcher.name, size=int(size), rank=int(rank))
    return Place(launcher="", size=1, rank=0)


def check_size(size: int, mpi_library: str, promised: Place) -> None:
    """Refuse to measure processes that believe to be alone.

    Parameters
    ----------
    size : int
        Ranks that MPI sees.
    mpi_library : str
        MPI's own description of itself, for the message.

    Raises
    ------
    MissingError
        The launcher started more or fewer processes than MPI sees.
    """
    if promised.launcher and promised.size != size:
        raise MissingError(
            f"{promised.launcher} started {promised.size} processes, but MPI sees {size}: each "
            f"would measure alone. This environment's MPI is {mpi_library}; start the ranks with "
            "the mpiexec of the same MPI (.venv/bin/mpiexec after 'make demo')."
        )


def crowding_warning(ranks_here: int, cores_here: int) -> str:
    """Say what more ranks than cores do to a measurement; empty if there are not."""
    if ranks_here <= cores_here:
        return ""
    return (
        f"{ranks_here} ranks share {cores_here} core{'s' if cores_here > 1 else ''}: while one "
        "waits another cannot work, so waiting times measure the operating system's scheduler, and "
        "neither the solver nor the models say anything about a machine with a core for each rank."
    )


def crowding_warnings(communicator: Any) -> list[str]:
    """Say which hosts have more ranks than cores, each thing once; collective."""
    here = (socket.gethostname(), os.sched_getaffinity(0))
    cores: dict[str, set[int]] = {}
    ranks: dict[str, int] = {}
    for host, mine in communicator.allgather(here):
        cores.setdefault(host, set()).update(mine)
        ranks[host] = ranks.get(host, 0) + 1
    return sorted({crowding_warning(ranks[host], len(cores[host])) for host in ranks} - {""})
