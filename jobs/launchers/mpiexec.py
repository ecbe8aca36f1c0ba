"""mpiexec: the MPI library starts the ranks; options differ between libraries.

``mpiexec --version`` tells the library. It is called where ranks are started, since modules on a
cluster may put another mpiexec on the path.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import MissingError, UsageError
from hindmost.files import reason
from hindmost.jobs.core.machine import MachineProfile
from hindmost.text import either

ANSWER_LIMIT_S = 30.0
OPEN_MPI = "Open MPI"

_MAPPING = ("ppn", "map-by", "npernode", "ppr", "perhost")
_BINDING = ("bind-to", "rankfile", "cpu-set", "cpu-list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The mpiexec of one family of libraries.

    Attributes
    ----------
    name : str
    marks : tuple of str
        Its answer to ``--version`` contains one of them.
    place : callable
        From ranks per node, and whether they exceed the cores, to the options that place them.
    bind : callable
        From whether ranks exceed cores to the options that bind them.
    """

    name: str
    marks: tuple[str, ...]
    place: Callable[[int, bool], tuple[str, ...]]
    bind: Callable[[bool], tuple[str, ...]]


FAMILIES = (
    Family(
        name=OPEN_MPI,
        marks=("Open MPI", "OpenRTE", "PRRTE", "prterun"),
        place=lambda per_node, crowded: (
            "--map-by",
            f"ppr:{per_node}:node" + (":oversubscribe" if crowded else ""),
        ),
        bind=lambda crowded: ("--bind-to", "none" if crowded else "core"),
    ),
    # Places with MPICH's options; binds by default, and by variables.
    Family(
        name="Intel MPI",
        marks=("Intel(R) MPI",),
        place=lambda per_node, _: ("-ppn", str(per_node)),
        bind=lambda _: (),
    ),
    Family(
        name="MPICH",
        marks=("HYDRA", "MPICH", "MVAPICH"),
        # Without -ppn, in an allocation of Slurm, all ranks go to the first node.
        place=lambda per_node, _: ("-ppn", str(per_node)),
        bind=lambda crowded: ("-bind-to", "none" if crowded else "core"),
    ),
)


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
        own: tuple[str, ...] = ()
        if not any(word in given for word in _MAPPING):
            own += family(program).place(ranks_per_node, crowded)
        if not any(word in given for word in _BINDING):
            own += family(program).bind(crowded)
        return (program, "-n", str(ranks), *own, *machine.launch_args)

    def warnings(self, machine: MachineProfile) -> tuple[str, ...]:
        """Return nothing: the ranks' own library starts them."""
        return ()


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
def family(program: str) -> Family:
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
            timeout=ANSWER_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"'{program} --version' gave no answer: {reason(error)}.") from None
    said = answer.stdout + answer.stderr
    for each in FAMILIES:
        if any(mark in said for mark in each.marks):
            return each
    names = either(each.name for each in FAMILIES)
    first = (said.strip().splitlines() or ["nothing"])[0]
    raise UsageError(
        f"{program} reports '{first}', which is not {names}. Set options that place and bind "
        'ranks in launch_args, or choose launcher = "template".'
    )


MPIEXEC = Mpiexec()
"""The launcher ``mpiexec``."""
