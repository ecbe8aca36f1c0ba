"""A machine that a study runs on: its scheduler, launcher and what its scripts need."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine of a study or of the user's own profiles.

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
        Words of a launcher that is none of ours: ``{ranks}``, ``{nodes}``, ``{ranks_per_node}``.
    cores_per_node : int
    nodes : int or None
        The most that an allocation may ask for.
    partition, account, qos, constraint : str
        Partition (Slurm) or queue (PBS), and so on; empty for none.
    exclusive : bool
    select, place : str
        PBS's own words; ``{nodes}``, ``{ranks_per_node}``, ``{cores_per_node}``; empty for ours.
    directives : tuple of str
        Lines for the head of a script, verbatim, without ``#SBATCH`` or ``#PBS``.
    setup : tuple of str
        Lines of a shell (modules), verbatim.
    scratch : str
        Folder for files while a run writes them; empty for the study's own. Variables of the
        environment are resolved on the machine.
    oversubscribe : bool
        More ranks than cores are allowed.
    environment : dict of str to str
        Variables for the runs.
    python : str
        The interpreter that has hindmost there; empty for the one that renders.
    """

    name: str
    scheduler: str
    launcher: str
    launch_args: tuple[str, ...] = ()
    launch_template: tuple[str, ...] = ()
    cores_per_node: int = 1
    nodes: int | None = None
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    exclusive: bool = True
    select: str = ""
    place: str = ""
    directives: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    scratch: str = ""
    python: str = ""
    oversubscribe: bool = False
    environment: dict[str, str] = field(default_factory=dict)
