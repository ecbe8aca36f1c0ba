"""The interface of schedulers, the states of jobs, and the scripts of all schedulers."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Protocol, runtime_checkable

from hindmost.errors import UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation
from hindmost.text import counted

OUTPUT = "output"
"""Folder of a study for the output of scripts; it must exist before a job starts."""


class JobState(StrEnum):
    """The state of a job; `hindmost study status --json` has the values."""

    PENDING = "pending"
    STUCK = "stuck"
    """Pending for a reason that never goes away."""
    RUNNING = "running"
    COMPLETED = "completed"
    """The script ended with status 0."""
    LEFT = "left"
    """The script ended with status 75: runs remain."""
    FAILED = "failed"
    TIME_LIMIT = "time limit"
    MEMORY = "out of memory"
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    DEPENDENCY = "dependency never satisfied"
    UNKNOWN = "unknown"
    """The scheduler does not know the job; never counted as a success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, as its scheduler reports it.

    Attributes
    ----------
    id : str
        Given by the scheduler.
    state : JobState
    reason : str
        In the scheduler's own words: state, reason and exit status.
    nodes : str
        Where it runs or ran, if known.
    """

    id: str
    state: JobState
    reason: str
    nodes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a script is made of.

    Attributes
    ----------
    allocation : Allocation
    machine : MachineProfile
    folder : Path
        Of the study, absolute.
    study : str
    """

    allocation: Allocation
    machine: MachineProfile
    folder: Path
    study: str


@runtime_checkable
class Scheduler(Protocol):
    """Renders scripts, and submits, watches and cancels jobs; every call has a time limit."""

    @property
    def name(self) -> str:
        """The name in study files."""

    def render(self, script: Script) -> str:
        """Return the script: byte for byte the same text for the same allocation."""

    def submit(self, path: Path) -> str:
        """Submit a script and return the id of its job."""

    def query(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return the states of jobs; UNKNOWN for a job that the scheduler does not know."""

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs; ended ones are ignored."""


def states_by_word(words: Mapping[JobState, str]) -> dict[str, JobState]:
    """Return the state that each of a scheduler's words means."""
    return {word: state for state, several in words.items() for word in several.split()}


def directives(script: Script, prefix: str, *own: str) -> str:
    """Return the directives of a script: hindmost's, then those of the machine, verbatim.

    Parameters
    ----------
    prefix : str
        ``#SBATCH`` or ``#PBS``.
    own : str
        Hindmost's; empty ones are left out.
    """
    machine = script.machine
    for directive in machine.directives:
        if directive.lstrip().startswith("#"):
            raise UsageError(
                f"The directive {directive!r} of machine '{machine.name}' begins with '#'; write "
                f"it without '{prefix}', as on the command line."
            )
    return "\n".join(f"{prefix} {each}" for each in (*own, *machine.directives) if each)


def fill_template(name: str, script: Script, **values: str) -> str:
    """Return a script from its template in ``templates/``.

    Parameters
    ----------
    name : str
        File name of the template.
    values : str
        Values of this scheduler only, quoted for the script.
    """
    machine, allocation = script.machine, script.allocation
    runs = len(allocation.runs)
    text = files("hindmost.jobs.schedulers").joinpath("templates", name).read_text("utf-8")
    return Template(text).substitute(
        study=script.study,
        runs=counted(runs, "run"),
        nodes=counted(allocation.nodes, "node"),
        setup="\n".join(_setup(script)),
        python=shlex.quote(machine.python or sys.executable),
        folder=shlex.quote(str(script.folder)),
        allocation=shlex.quote(allocation.id),
        **values,
    )


def _setup(script: Script) -> list[str]:
    """Return the machine's setup lines, then its variables, which override them."""
    machine = script.machine
    lines = list(machine.setup)
    # One thread per rank: more would share its core.
    for name, value in {"OMP_NUM_THREADS": "1", **machine.environment}.items():
        lines.append(f"export {name}={shlex.quote(value)}")
    return lines
