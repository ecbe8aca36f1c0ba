"""The profile of a machine: its scheduler, its launcher and what its scripts need."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from hindmost.jobs.core.values import Line, check_names
from hindmost.records import RecordError

Positive = Annotated[int, Meta(ge=1)]
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
NAMES = {
    "launch_template": ("ranks", "nodes", "ranks_per_node"),
    "select": ("nodes", "ranks_per_node", "cores_per_node"),
    "place": ("nodes", "ranks_per_node", "cores_per_node"),
}
"""Names in braces that fields may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineProfile:
    """A machine of a study or of the user's own file.

    Attributes
    ----------
    name : str
    scheduler : str
        Name of a scheduler: local, slurm, pbs.
    launcher : str
        Name of a launcher: mpiexec, srun, or ``template``.
    launch_args : tuple of str
        Words for the launcher, before the command.
    launch_template : tuple of str
        Words of any other launcher, with ``{ranks}``, ``{nodes}``, ``{ranks_per_node}``.
    cores_per_node : int
    nodes : int or None
        The most that an allocation may request.
    partition, account, qos, constraint : str
        Partition (Slurm) or queue (PBS), and so on; empty to omit.
    exclusive : bool
    select, place : str
        In PBS syntax, with ``{nodes}``, ``{ranks_per_node}``, ``{cores_per_node}``; empty for the
        default.
    directives : tuple of str
        Lines for the head of a script, verbatim, without ``#SBATCH`` or ``#PBS``.
    setup : tuple of str
        Lines of a shell (modules), verbatim.
    scratch : str
        Folder for files while a run writes them; empty for the study's own. Environment variables
        are expanded on the machine.
    oversubscribe : bool
        Allow more ranks than cores.
    environment : dict of str to str
        Variables for the runs.
    python : str
        The interpreter with hindmost on that machine; empty for the one that writes the scripts.
    """

    name: Line
    scheduler: Line
    launcher: Line
    launch_args: tuple[Line, ...] = ()
    launch_template: tuple[Line, ...] = ()
    cores_per_node: Positive = 1
    nodes: Positive | None = None
    partition: Line = ""
    account: Line = ""
    qos: Line = ""
    constraint: Line = ""
    exclusive: bool = True
    select: Line = ""
    place: Line = ""
    directives: tuple[Line, ...] = ()
    setup: tuple[Line, ...] = ()
    scratch: Line = ""
    python: Line = ""
    oversubscribe: bool = False
    environment: dict[str, Line] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, allowed in NAMES.items():
            value = getattr(self, key)
            for text in (value,) if isinstance(value, str) else value:
                check_names(text, allowed, key)
        if self.scratch and self.scratch[0] not in "/$~":
            why = "allowed: an absolute path, which begins with '/', '~' or a '$VARIABLE'"
            raise RecordError(why, "scratch", found=self.scratch)
        for name, value in self.environment.items():
            if not re.fullmatch(VARIABLE, name):
                why = "allowed: a name that can be a variable of the environment"
                raise RecordError(why, "environment", name, found=value)
