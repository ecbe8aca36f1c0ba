"""Whether what a run needs fits into memory, asked before it is allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.text import byte_count, counted

MEMINFO = Path("/proc/meminfo")
GROUP_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
"""Limits of this process's group and what it uses of them, in both versions of cgroups."""


def check_memory(needed: int, what: str, remedy: str, communicator: Any) -> None:
    """Raise a UsageError, on all ranks, if some host has not the memory they need; collective.

    Parameters
    ----------
    needed : int
        Bytes that this rank is going to allocate.
    what : str
        What needs them, and the verb: the beginning of the message.
    remedy : str
        Its end, a sentence.
    communicator : MPI.Intracomm
    """
    from mpi4py import MPI

    here = communicator.Split_type(MPI.COMM_TYPE_SHARED)
    ranks, of_host = here.size, sum(here.allgather(needed))
    here.Free()
    free = available_bytes()
    short = (of_host, ranks, free) if free is not None and of_host > free else None
    worst = next(filter(None, communicator.allgather(short)), None)
    if worst is not None:
        of_host, ranks, left = worst
        raise UsageError(
            f"{what} {byte_count(of_host)} on a host with {counted(ranks, 'rank')}, where "
            f"{byte_count(left)} are free. {remedy}"
        )


def available_bytes() -> int | None:
    """Return the memory that this host, or this process's group, has left; None if unknown."""
    left = []
    try:
        lines = MEMINFO.read_text().splitlines()
        left += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    for most, used in GROUP_LIMITS:
        try:
            left.append(max(int(most.read_text()) - int(used.read_text()), 0))
        except (OSError, ValueError):  # no such group, or no limit
            continue
    return min(left, default=None)
