"""Launchers: how ranks are started inside an allocation, by words placed before a command.

``mpiexec --version`` tells the library, whose options differ. It is called where ranks are started,
since modules on a cluster may put another mpiexec on the path.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol, runtime_checkable

from hindmost.errors import MissingError, UsageError
from hindmost.files import reason
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.values import fill
from hindmost.registry import Registry
from hindmost.text import either

OPEN_MPI, INTEL_MPI, MPICH = "Open MPI", "Intel MPI", "MPICH"
FAMILIES = {
    OPEN_MPI: ("Open MPI", "OpenRTE", "PRRTE", "prterun"),
    INTEL_MPI: ("Intel(R) MPI",),
    MPICH: ("HYDRA", "MPICH", "MVAPICH"),
}
"""Families of mpiexec, and what their answers to ``--version`` contain."""
_MAPPING = ("ppn", "map-by", "npernode", "ppr", "perhost")
_BINDING = ("bind-to", "rankfile", "cpu-set", "cpu-list")


@runtime_checkable
class Launcher(Protocol):
    """Starts a command on ranks, by words placed before it."""

    @property
    def name(self) -> str:
        """The name in study files."""

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start ranks, bound to cores, ``ranks_per_node`` on each node."""


class Mpiexec:
    """mpiexec of MPICH and its derivatives, Open MPI and Intel MPI."""

    name = "mpiexec"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start ranks, bound to cores, ``ranks_per_node`` on each node.

        Options in ``launch_args`` that place or bind replace the defaults. More ranks than cores
        are not bound, since several would share a core while others are idle.

        Raises
        ------
        MissingError
            mpiexec was not found.
        UsageError
            Its library is unknown, and ``launch_args`` do not place and bind.
        """
        del nodes  # follows from the others
        program = find()
        crowded = ranks_per_node > machine.cores_per_node
        given = " ".join(machine.launch_args)
        own: list[str] = []
        if not any(word in given for word in _MAPPING):
            if family(program) == OPEN_MPI:
                own += "--map-by", f"ppr:{ranks_per_node}:node{':oversubscribe' * crowded}"
            else:  # without -ppn, in an allocation of Slurm, MPICH puts all on the first node
                own += "-ppn", str(ranks_per_node)
        if not any(word in given for word in _BINDING) and family(program) != INTEL_MPI:
            bind = "--bind-to" if family(program) == OPEN_MPI else "-bind-to"
            own += bind, "none" if crowded else "core"  # Intel MPI binds by default
        return (program, "-n", str(ranks), *own, *machine.launch_args)


def find() -> str:
    """Return the mpiexec beside the interpreter, else the one on the path.

    Raises
    ------
    MissingError
        There is no mpiexec.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise MissingError(
            f"There is no mpiexec beside {sys.executable} or on PATH. Load an MPI module "
            'in the machine\'s setup lines, or choose launcher = "srun" or "template".'
        )
    return found


@functools.cache
def family(program: str) -> str:
    """Return the family of an mpiexec, from its answer to ``--version``.

    Raises
    ------
    MissingError
        It does not start or does not answer.
    UsageError
        Its library is unknown.
    """
    try:
        answer = subprocess.run(
            [program, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=30.0,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"'{program} --version' gave no answer: {reason(error)}.") from None
    said = answer.stdout + answer.stderr
    for name, marks in FAMILIES.items():
        if any(mark in said for mark in marks):
            return name
    names = either(FAMILIES)
    first = (said.strip().splitlines() or ["nothing"])[0]
    raise UsageError(
        f"{program} reports '{first}', which is not {names}. Set options that place and bind "
        'ranks in launch_args, or choose launcher = "template".'
    )


class Srun:
    """srun for MPI libraries with PMI-2, such as MPICH."""

    name = "srun"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start ranks, bound to cores, ``ranks_per_node`` on each node."""
        own = (
            # Slurm's own default differs from site to site.
            ("--mpi", "pmi2"),
            ("--cpu-bind", "cores" if ranks_per_node <= machine.cores_per_node else "none"),
        )
        given = {word.split("=")[0] for word in machine.launch_args}
        shared = {"--exact", "--overlap", "--overcommit", "-O"} & given
        # As many cores as ranks, not the whole node; there may be fewer cores than ranks.
        share = "--exact" if ranks_per_node <= machine.cores_per_node else "--overcommit"
        return (
            "srun",
            f"--nodes={nodes}",
            f"--ntasks={ranks}",
            f"--ntasks-per-node={ranks_per_node}",
            *(f"{name}={value}" for name, value in own if name not in given),
            *(() if shared else (share,)),
            # A rank that fails ends all; else the others would wait until the run's limit.
            *(() if "--kill-on-bad-exit" in given else ("--kill-on-bad-exit=1",)),
            *machine.launch_args,
        )


class Template:
    """Any other launcher, by the words of a machine's ``launch_template``: aprun, jsrun, flux."""

    name = "template"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words of the template, which places and binds the ranks itself."""
        values = {"ranks": ranks, "ranks_per_node": ranks_per_node, "nodes": nodes}
        words = (fill(word, values) for word in machine.launch_template)
        return (*words, *machine.launch_args)


MPIEXEC = Mpiexec()
LAUNCHERS: Registry[Launcher] = Registry(
    "launcher", (MPIEXEC, Srun(), Template()), group="hindmost.launchers", kind=Launcher
)
"""Every launcher that a machine can name."""
