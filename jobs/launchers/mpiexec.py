"""mpiexec: the MPI library starts the ranks, and each library has options of its own.

Which library an ``mpiexec`` belongs to, it says itself (``mpiexec --version``). It is asked where
ranks are started: on a cluster, modules put another one onto the path.
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
from hindmost.jobs.study.machine import Machine

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
        What its answer to ``--version`` has, one of them.
    place : callable
        From ranks a node, and whether they are more than cores, to words that put them there.
    bind : callable
        From whether they are more than cores to words that bind them.
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
    # Its options of placing are MPICH's; it binds by itself, and by variables.
    Family(
        name="Intel MPI",
        marks=("Intel(R) MPI",),
        place=lambda per_node, _: ("-ppn", str(per_node)),
        bind=lambda _: (),
    ),
    Family(
        name="MPICH",
        marks=("HYDRA", "MPICH", "MVAPICH"),
        # Without it, in an allocation of Slurm, ranks are packed onto the first node.
        place=lambda per_node, _: ("-ppn", str(per_node)),
        bind=lambda crowded: ("-bind-to", "none" if crowded else "core"),
    ),
)


class Mpiexec:
    """mpiexec of MPICH and its relatives, of Open MPI, of Intel MPI."""

    name = "mpiexec"

    def words(
        self, machine: Machine, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start so many ranks, bound to cores, so many on each node.

        What ``launch_args`` say of placing or of binding stands in the place of ours. More ranks
        than cores are not bound: they would be to the same few cores.

        Raises
        ------
        MissingError
            There is no mpiexec.
        UsageError
            It is of no family that is known, and ``launch_args`` do not say how to place and bind.
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

    def warnings(self, machine: Machine) -> tuple[str, ...]:
        """Say nothing: ranks are started by the mpiexec of their own library."""
        return ()


def find() -> str:
    """Return the mpiexec of this environment: the one beside the interpreter, else on the path.

    Raises
    ------
    MissingError
        There is none.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise MissingError(
            f"There is no mpiexec beside {sys.executable} nor on PATH; load the module of an MPI "
            'in the machine\'s setup lines, or choose launcher = "srun" or "template".'
        )
    return found


@functools.cache
def family(program: str) -> Family:
    """Return the family of an mpiexec, from its answer to ``--version``.

    Raises
    ------
    MissingError
        It does not start, or does not answer.
    UsageError
        It is of no family that is known.
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
        raise MissingError(f"'{program} --version' gave no answer: {error}.") from None
    said = answer.stdout + answer.stderr
    for each in FAMILIES:
        if any(mark in said for mark in each.marks):
            return each
    names = ", ".join(each.name for each in FAMILIES)
    first = (said.strip().splitlines() or ["nothing"])[0]
    raise UsageError(
        f"{program} says '{first}', which is none of {names}; say in launch_args how it places "
        'ranks on nodes and binds them, or choose launcher = "template".'
    )


MPIEXEC = Mpiexec()
"""mpiexec as machines name it."""
