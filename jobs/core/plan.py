"""The plan of a study on a machine: its runs and their commands, in allocations, and their cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import read_text, reason, write_atomically
from hindmost.jobs.core.machine import MachineProfile
from hindmost.parsing import is_plain_name, parse_json, shown
from hindmost.records import check_version, from_document, to_document

SCHEMA = "hindmost-plan"
VERSION = 1
Value = str | int | float | bool
"""A value that a sweep can set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run of one configuration.

    Attributes
    ----------
    id : str
        Stable: depends only on the configuration and the repeat.
    configuration : dict of str to Value
        What the sweep set.
    block : int
        Repeat: every block contains each configuration once, shuffled by the study's seed.
    ranks, ranks_per_node, nodes : int
    command : tuple of str
        Words after the launcher's; ``{out}`` stands for the folder of the run's files.
    limit_s : float
        After which the run is stopped.
    allocation : str
        Id of its allocation.
    """

    id: str
    configuration: dict[str, Value]
    block: int
    ranks: int
    ranks_per_node: int
    nodes: int
    command: tuple[str, ...]
    limit_s: float
    allocation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A job of the scheduler: runs one after another on the same nodes.

    Attributes
    ----------
    id : str
    runs : tuple of str
        Ids in their order.
    nodes, ranks_per_node : int
        Requested: the maximum over its runs.
    walltime_s : float
    stop_before_s : float
        No run starts that could end later than this before the end.
    """

    id: str
    runs: tuple[str, ...]
    nodes: int
    ranks_per_node: int
    walltime_s: float
    stop_before_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All runs of a study on a machine.

    Attributes
    ----------
    study : str
        Its name.
    study_sha256 : str
        Of the study file and of the replacements on the command line.
    machine : MachineProfile
    seed : int
    max_retries : int
    runs : tuple of PlannedRun
    allocations : tuple of Allocation
    collect : str
        The study's post-processing line, with ``{runs}`` for the folder of the collected run
        files; may be empty.
    replacements : tuple of str
        Values set on the command line, as ``ranks=1,2``.
    """

    study: str
    study_sha256: str
    machine: MachineProfile
    seed: int
    max_retries: int
    runs: tuple[PlannedRun, ...]
    allocations: tuple[Allocation, ...]
    collect: str = ""
    replacements: tuple[str, ...] = ()

    @property
    def core_hours(self) -> float:
        """Core-hours if every allocation takes its whole walltime."""
        return (
            sum(
                self.cores_of(allocation) * allocation.walltime_s for allocation in self.allocations
            )
            / 3600.0
        )

    def cores_of(self, allocation: Allocation) -> int:
        """Return the cores that an allocation is charged for."""
        machine = self.machine
        whole = machine.exclusive and machine.scheduler != "local"
        each = machine.cores_per_node
        return allocation.nodes * (each if whole else min(each, allocation.ranks_per_node))


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan."""
    document = {"schema": SCHEMA, "version": VERSION, **to_document(plan)}
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def read_plan(path: Path) -> Plan:
    """Read a plan.

    Raises
    ------
    DataError
        The file is not a plan, or was altered.
    UnknownSchemaError
        A newer hindmost wrote it.
    """
    try:
        document = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read, or not a plan: {reason(error)}.") from error
    if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
        raise DataError(f"{path}: JSON, but not a plan of hindmost (schema '{SCHEMA}').")
    check_version(document.pop("version", None), VERSION, path)
    try:
        plan = from_document(Plan, document)
        check_whole(plan)
    except DataError as error:
        raise DataError(
            f"{path}: not a whole plan: {error} Plan the study again, or restore the file."
        ) from error
    return plan


def check_whole(plan: Plan) -> None:
    """Raise a DataError unless every run is in one allocation, and each is known."""
    for name in (
        *(run.id for run in plan.runs),
        *(allocation.id for allocation in plan.allocations),
    ):
        if not is_plain_name(name):
            raise DataError(f"the id {shown(name)} cannot be the name of a folder.")
    ids = [run.id for run in plan.runs]
    listed = [(run, allocation.id) for allocation in plan.allocations for run in allocation.runs]
    if len(set(ids)) < len(ids):
        raise DataError("two runs have one id.")
    if sorted(listed) != sorted((run.id, run.allocation) for run in plan.runs):
        raise DataError("runs and allocations do not name each other.")
