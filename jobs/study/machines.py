"""The machines of a study: its own, those in the user's file, and this one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindmost.documents import Document
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.values import as_words, plain
from hindmost.jobs.launchers import LAUNCHERS
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.parsing import shown
from hindmost.records import ABSENT, RecordError, from_document
from hindmost.text import choose

LOCAL = "local"
NAMELESS = {"name": "", "scheduler": LOCAL, "launcher": "mpiexec"}
"""What a machine needs, and one of two files may lack."""
CPUS = Path("/sys/devices/system/cpu")
USUAL_LAUNCHER = {"slurm": "srun"}
"""The default launcher of a scheduler; mpiexec for the others."""

_OF_SCHEDULER = {"select": "pbs", "place": "pbs", "qos": "slurm", "constraint": "slurm"}
"""Fields of one scheduler only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTables:
    """The machine tables of a study or of the user's file."""

    machine: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, table in self.machine.items():
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
                why = "names have letters, digits, dots and dashes"
                raise RecordError(why, "machine", name, found=table)


def read_machines(study: Document, profiles: Document | None) -> dict[str, MachineProfile]:
    """Read the machines of both files.

    A machine in both files has the fields of both; where both set a field, the study's counts.
    """
    found: dict[str, tuple[Document, dict[str, Any]]] = {}
    for document in (profiles, study):
        if document is None:
            continue
        with document.errors():
            tables = from_document(MachineTables, document.data, ignore_unknown=True).machine
        for name, table in tables.items():
            with document.errors("machine", name):
                before = found[name][1] if name in found else {}
                found[name] = (document, before | read_fields(table))
    machines = {}
    for name, (document, fields) in found.items():
        with document.errors("machine", name):
            machines[name] = complete(name, fields)
    return machines


def with_this_one(machines: dict[str, MachineProfile]) -> dict[str, MachineProfile]:
    """Return the machines and, unless one is named ``local``, this one under that name."""
    here = MachineProfile(
        name=LOCAL, scheduler="local", launcher="mpiexec", cores_per_node=cores_here(), nodes=1
    )
    return {**machines, LOCAL: machines.get(LOCAL, here)}


def read_fields(table: dict[str, Any]) -> dict[str, Any]:
    """Check the given fields of a machine, and return them."""
    if "name" in table:
        raise RecordError(
            "the name of the table is the machine's name", "name", found=table["name"]
        )
    there = {key: as_words(plain(value)) for key, value in table.items()}
    from_document(MachineProfile, NAMELESS | there)
    for key, registry in (("scheduler", SCHEDULERS), ("launcher", LAUNCHERS)):
        if key in there and there[key] not in registry:
            raise RecordError(choose(registry.names, there[key]), key, found=there[key])
    return there


def complete(name: str, there: dict[str, Any]) -> MachineProfile:
    """Make a machine from its fields, or refuse contradictions."""
    if "scheduler" not in there:
        raise RecordError(choose(SCHEDULERS.names, ""), "scheduler")
    scheduler = there["scheduler"]
    there.setdefault("launcher", USUAL_LAUNCHER.get(scheduler, "mpiexec"))
    if scheduler == "local":
        there.setdefault("cores_per_node", cores_here())
        if (nodes := there.setdefault("nodes", 1)) != 1:
            raise RecordError("a machine without a scheduler has one node", "nodes", found=nodes)
        if there.get("directives"):
            why = "without a scheduler (slurm, pbs) nobody reads them"
            raise RecordError(why, "directives", found=there["directives"])
    elif "cores_per_node" not in there:
        raise RecordError("give the number of cores per node that ranks may use", "cores_per_node")
    if there["launcher"] == "template" and "{ranks}" not in str(there.get("launch_template")):
        raise RecordError(
            'give the words that start so many {ranks}, as in ["aprun", "-n", "{ranks}", "-N", '
            '"{ranks_per_node}"]',
            "launch_template",
            found=there.get("launch_template", ABSENT),
        )
    if there["launcher"] == "srun" and scheduler != "slurm":
        why = f"srun needs slurm, but the scheduler is {scheduler}"
        raise RecordError(why, "launcher", found="srun")
    for key, owner in _OF_SCHEDULER.items():
        if there.get(key) and scheduler != owner:
            why = f"only {owner} has it, but the scheduler is {shown(scheduler)}"
            raise RecordError(why, key, found=there[key])
    return from_document(MachineProfile, {**there, "name": name})


def cores_here() -> int:
    """Count the usable cores of this machine, not its hardware threads."""
    allowed = os.sched_getaffinity(0)
    return len({siblings(cpu) for cpu in allowed}) or len(allowed)


def siblings(cpu: int) -> str:
    """Return the hardware threads of the core that a logical processor belongs to."""
    try:
        return (CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:  # some containers do not tell
        return str(cpu)
