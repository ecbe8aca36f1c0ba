"""The machines of a study: its own, those of the user's file, and this one."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from hindmost.jobs.launchers import LAUNCHERS
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.study.document import Document, choices, shown
from hindmost.jobs.study.machine import Machine
from hindmost.jobs.study.section import Section
from hindmost.jobs.study.words import NAMED

LOCAL = "local"
CPUS = Path("/sys/devices/system/cpu")
USUAL_LAUNCHER = {"slurm": "srun"}
"""Of a scheduler; mpiexec of the others."""

_TEXTS = ("partition", "account", "qos", "constraint", "select", "place", "scratch", "python")
_WORDS = ("launch_args", "launch_template", "directives", "setup")
_COUNTS = {"cores_per_node": 1_000_000, "nodes": 10_000_000}
_FLAGS = ("exclusive", "oversubscribe")
_KEYS = tuple(field.name for field in fields(Machine) if field.name != "name")
_OF_SCHEDULER = {"select": "pbs", "place": "pbs", "qos": "slurm", "constraint": "slurm"}
"""Fields that only one scheduler knows."""
_BRACES = {
    "launch_template": ("ranks", "nodes", "ranks_per_node"),
    "select": ("nodes", "ranks_per_node", "cores_per_node"),
    "place": ("nodes", "ranks_per_node", "cores_per_node"),
}
"""Names in braces that fields may have."""


def read_machines(study: Document, profiles: Document | None) -> dict[str, Machine]:
    """Read the machines that are written down.

    A machine that stands in both files has the fields of both, and the study's where both have
    one.
    """
    found: dict[str, tuple[Section, dict[str, Any]]] = {}
    for document in (profiles, study):
        if document is None:
            continue
        for name in Section(document, ("machine",)).table:
            section = Section(document, ("machine", name))
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
                document.refuse(
                    section.path,
                    f"a machine '{name}': names have letters, digits, dots and dashes.",
                    key=True,
                )
            before = found[name][1] if name in found else {}
            found[name] = (section, {**before, **read_fields(section)})
    return {name: complete(name, *each) for name, each in found.items()}


def with_this_one(machines: dict[str, Machine]) -> dict[str, Machine]:
    """Return the machines and, unless one is called ``local``, this one under that name."""
    here = Machine(
        name=LOCAL, scheduler="local", launcher="mpiexec", cores_per_node=cores_here(), nodes=1
    )
    return {**machines, LOCAL: machines.get(LOCAL, here)}


def read_fields(section: Section) -> dict[str, Any]:
    """Read those fields of a machine that a table has."""
    section.only(_KEYS)
    there: dict[str, Any] = {}
    for key in section.table:
        if key == "scheduler":
            there[key] = section.choice(key, SCHEDULERS.names, "")
        elif key == "launcher":
            there[key] = section.choice(key, LAUNCHERS.names, "")
        elif key in _TEXTS:
            there[key] = section.text(key)
            if key == "scratch" and there[key] and there[key][0] not in "/$~":
                section.refuse(key, "a whole path, which begins with '/', '~' or a '$VARIABLE'.")
        elif key in _WORDS:
            there[key] = section.words(key)
        elif key in _COUNTS:
            there[key] = section.count(key, 1, least=1, most=_COUNTS[key])
        elif key in _FLAGS:
            there[key] = section.flag(key, default=False)
        else:
            there[key] = section.texts(key)
            for name in there[key]:
                if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                    section.refuse(key, f"'{name}' cannot be a variable of the environment.", name)
        for name in (n for word in words_of(there[key]) for n in NAMED.findall(word)):
            if key in _BRACES and name not in _BRACES[key]:
                section.refuse(key, f"{{{name}}} is not known: {choices(name, _BRACES[key])}.")
    return there


def words_of(value: Any) -> tuple[str, ...]:
    """Return a field's words."""
    return (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()


def complete(name: str, section: Section, there: dict[str, Any]) -> Machine:
    """Make a machine of its fields, or refuse what does not go together."""
    if "scheduler" not in there:
        section.refuse("scheduler", f"choose from: {', '.join(SCHEDULERS.names)}.")
    scheduler = there["scheduler"]
    there.setdefault("launcher", USUAL_LAUNCHER.get(scheduler, "mpiexec"))
    if scheduler == "local":
        there.setdefault("cores_per_node", cores_here())
        if there.setdefault("nodes", 1) != 1:
            section.refuse("nodes", "a machine without a scheduler is one node.")
    elif "cores_per_node" not in there:
        section.refuse("cores_per_node", "say how many cores a node has that ranks may use.")
    if there["launcher"] == "template" and not there.get("launch_template"):
        section.refuse(
            "launch_template",
            'the words that start ranks, as in ["aprun", "-n", "{ranks}", "-N", '
            '"{ranks_per_node}"].',
        )
    if there["launcher"] == "srun" and scheduler != "slurm":
        section.refuse("launcher", f"srun starts ranks under slurm; the scheduler is {scheduler}.")
    for key, owner in _OF_SCHEDULER.items():
        if there.get(key) and scheduler != owner:
            section.refuse(key, f"only {owner} knows it; the scheduler is {shown(scheduler)}.")
    return Machine(name=name, **there)


def cores_here() -> int:
    """Count the cores of this machine that may be used; the threads of one count once."""
    allowed = os.sched_getaffinity(0)
    return len({siblings(cpu) for cpu in allowed}) or len(allowed)


def siblings(cpu: int) -> str:
    """Return the threads of the core that a processor of the kernel belongs to."""
    try:
        return (CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:  # some containers do not say
        return str(cpu)
