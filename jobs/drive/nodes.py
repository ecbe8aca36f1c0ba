"""The job and the nodes that a driver runs in."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

JOB_VARIABLES = {"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID", "local": "HINDMOST_JOB_ID"}
"""The variable in which a job finds its id."""


def job_here(scheduler: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the scheduler's id of this job; outside of jobs, one made of the process id."""
    return environment.get(JOB_VARIABLES.get(scheduler, ""), "") or f"process-{os.getpid()}"


def nodes_here(scheduler: str, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the names of the allocation's nodes; this host if the scheduler names none."""
    if scheduler == "slurm" and (names := environment.get("SLURM_JOB_NODELIST")):
        return expand(names)
    if scheduler == "pbs" and (file := environment.get("PBS_NODEFILE")):
        try:
            lines = Path(file).read_text().split()
        except OSError:
            lines = []
        if lines:
            return tuple(dict.fromkeys(lines))
    return (platform.node(),)


def expand(names: str) -> tuple[str, ...]:
    """Expand Slurm's short form of node names.

    Examples
    --------
    >>> expand("n[08-10,12],login1")
    ('n08', 'n09', 'n10', 'n12', 'login1')
    """
    found: list[str] = []
    for name in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", names):
        parts = [
            numbers(part[1:-1]) if part.startswith("[") else [part]
            for part in re.findall(r"\[[^\]]*\]|[^\[]+", name)
        ]
        found += ["".join(words) for words in product(*parts)]
    return tuple(found)


def numbers(ranges: str) -> list[str]:
    """Expand ``08-10,12``, keeping leading zeros."""
    found: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if last:
            found += [f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)]
        else:
            found.append(first)
    return found
