"""The interface of schedulers, the states of jobs, and the scripts of all schedulers."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Protocol, runtime_checkable

from hindmost.errors import HindmostError, MissingError, UsageError
from hindmost.harness.batch_job import Answer, inherited
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation
from hindmost.text import counted


def not_submitted(command: str, script: Path, answer: Answer) -> HindmostError:
    """Return the error of a script that a scheduler refused, or that did not reach it."""
    if _UNREACHED.search(answer.err):
        return MissingError(
            f"{command}: {answer.complaint}. The scheduler does not answer; look at its queue "
            "later, and submit the folder with 'hindmost study submit' unless its job is there."
        )
    return UsageError(
        f"{command} refused {script}: {answer.complaint}. Correct the script and submit the folder "
        "with 'hindmost study submit'; or, if no script of the study was submitted yet, correct "
        "its machine or its limits, remove the study's folder and submit the study again."
    )


_UNREACHED = re.compile(r"unable to contact|cannot connect|timed out", re.IGNORECASE)
"""What sbatch and qsub say if the scheduler is down or does not answer in time."""


def environment_of_jobs(script: str = "") -> dict[str, str]:
    """Return the environment that a new job inherits: the user's own, with its language.

    Variables of sbatch override the lines of a script. Those that choose where this user's jobs run
    are kept where the script does not; all others would change the plan.

    Parameters
    ----------
    script : str
        The text of the script.
    """
    said = set(re.findall(r"^#SBATCH\s+--([a-z-]+)", script, re.MULTILINE))
    said |= {_SHORT[word] for word in re.findall(r"^#SBATCH\s+-([ApqCM])", script, re.MULTILINE)}
    kept = {f"SBATCH_{name.upper()}" for name in _WHERE if name not in said}
    return {
        name: value
        for name, value in inherited().items()
        if not name.startswith("SBATCH_") or name in kept
    }


_WHERE = ("account", "partition", "qos", "constraint", "reservation", "clusters")
_SHORT = {"A": "account", "p": "partition", "q": "qos", "C": "constraint", "M": "clusters"}


def batches(ids: Sequence[str]) -> list[list[str]]:
    """Split ids into lists that fit on a command line."""
    each = list(dict.fromkeys(ids))
    return [each[first : first + 200] for first in range(0, len(each), 200)]


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
