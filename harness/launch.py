"""How this process was started: what the launcher promised, and what MPI sees."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindmost.errors import MissingError
from hindmost.processes import START, stat_fields
from hindmost.text import counted

LAUNCHERS = (
    ("Open MPI's mpiexec", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("mpiexec (PMI)", "PMI_SIZE", "PMI_RANK"),
    ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
"""Names of launchers, and the environment variables with which they tell size and rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedRank:
    """The rank that a launcher assigned to this process.

    Attributes
    ----------
    launcher : str
        Empty if there was none.
    size, rank : int
    """

    launcher: str
    size: int
    rank: int


def assigned_rank(environment: Mapping[str, str] = os.environ) -> AssignedRank:
    """Return the rank that the launcher assigned to this process: 0 of 1 without a launcher."""
    for name, *variables in LAUNCHERS:
        size, rank = (environment.get(variable, "") for variable in variables)
        if size.isdecimal() and rank.isdecimal():
            return AssignedRank(launcher=name, size=int(size), rank=int(rank))
    return AssignedRank(launcher="", size=1, rank=0)


def check_size(size: int, mpi_library: str, promised: AssignedRank) -> None:
    """Refuse to measure if each process runs on its own.

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
            f"would run on its own. This environment's MPI is {mpi_library}; start the ranks with "
            "the mpiexec of the same MPI (.venv/bin/mpiexec after 'make demo')."
        )


def crowding_warning(ranks_here: int, cores_here: int) -> str:
    """Say how more ranks than cores disturb a measurement; empty if there are enough cores."""
    if ranks_here <= cores_here:
        return ""
    return (
        f"{ranks_here} ranks share {counted(cores_here, 'core')}: they take turns, so wait times "
        "measure the operating system's scheduler. Neither these times nor the models hold for a "
        "machine with one core per rank."
    )


def crowding_warnings(communicator: Any) -> list[str]:
    """Warn of hosts with more ranks than cores; collective."""
    here = (socket.gethostname(), os.sched_getaffinity(0))
    cores: dict[str, set[int]] = {}
    ranks: dict[str, int] = {}
    for host, mine in communicator.allgather(here):
        cores.setdefault(host, set()).update(mine)
        ranks[host] = ranks.get(host, 0) + 1
    return sorted({crowding_warning(ranks[host], len(cores[host])) for host in ranks} - {""})


def process_age_s() -> float:
    """Return how long this process exists, 0 where the system does not tell."""
    try:
        began = int(stat_fields()[START])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK"))
