"""The profile of a machine: its scheduler, its launcher and what its scripts need."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from hindmost.jobs.core.values import PRINTED, Line, Word, is_line, plain, with_names
from hindmost.records import Rule


def is_whole_path(text: str) -> bool:
    """Tell whether a text is empty or an absolute path."""
    return is_line(text) and (not text or text[0] in "/$~")


def is_variable(name: str) -> bool:
    """Tell whether a name can be a variable of the environment."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


Cores = Annotated[int, Rule(read=plain, least=1, most=1_000_000)]
Nodes = Annotated[int, Rule(read=plain, least=1, most=10_000_000)]
Folder = Annotated[
    str,
    Rule(
        holds=is_whole_path, words="an absolute path, which begins with '/', '~' or a '$VARIABLE'"
    ),
]
Variable = Annotated[
    str, Rule(holds=is_variable, words="a name that can be a variable of the environment")
]
Launch = Annotated[
    str,
    Rule(read=with_names("ranks", "nodes", "ranks_per_node"), holds=is_line, words=PRINTED),
]
Select = Annotated[
    str,
    Rule(
        read=with_names("nodes", "ranks_per_node", "cores_per_node"), holds=is_line, words=PRINTED
    ),
]


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
    launch_args: tuple[Word, ...] = ()
    launch_template: tuple[Launch, ...] = ()
    cores_per_node: Cores = 1
    nodes: Nodes | None = None
    partition: Line = ""
    account: Line = ""
    qos: Line = ""
    constraint: Line = ""
    exclusive: bool = True
    select: Select = ""
    place: Select = ""
    directives: tuple[Word, ...] = ()
    setup: tuple[Word, ...] = ()
    scratch: Folder = ""
    python: Line = ""
    oversubscribe: bool = False
    environment: dict[Variable, Line] = field(default_factory=dict)
