"""srun: Slurm starts and binds the ranks."""

from __future__ import annotations

from itertools import pairwise

from hindmost.errors import HindmostError, UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.launchers.mpiexec import OPEN_MPI, family, find

REFUSED = {
    "none": "every rank starts alone, in an MPI_COMM_WORLD of one, and srun ends with status 0",
    "pmix": "ranks of MPICH hang in MPI_Init",
}
"""Values of ``--mpi`` known to fail, and how."""


class Srun:
    """srun for MPI libraries with PMI-2, such as MPICH."""

    name = "srun"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start ranks, bound to cores, ``ranks_per_node`` on each node.

        Raises
        ------
        UsageError
            ``launch_args`` have a value of ``--mpi`` that is known to fail.
        """
        asked = _mpi(machine.launch_args)
        for refused, harm in REFUSED.items():
            if asked is not None and asked.startswith(refused):
                raise UsageError(
                    f"Machine '{machine.name}' sets --mpi={asked} for srun, with which {harm}. Use "
                    '--mpi=pmi2 or launcher = "mpiexec"; if it works on your site, use launcher = '
                    '"template" with a launch_template.'
                )
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

    def warnings(self, machine: MachineProfile) -> tuple[str, ...]:
        """Warn if this environment's MPI is Open MPI, which is rarely built with PMI-2.

        Nothing is known about the MPI of another interpreter.
        """
        if machine.python:
            return ()
        try:
            found = family(program := find()).name
        except HindmostError:  # the MPI may come with a module
            return ()
        if found != OPEN_MPI:
            return ()
        return (
            f"{program} belongs to Open MPI, and machine '{machine.name}' starts ranks with srun "
            "--mpi=pmi2: unless that Open MPI was built with PMI-2, every run fails in MPI_Init. "
            f'Set machine.{machine.name}.launcher = "mpiexec" and launch_args = [].',
        )


def _mpi(words: tuple[str, ...]) -> str | None:
    """Return the value of ``--mpi``, written with an equals sign or as two words."""
    asked = None
    for word, following in pairwise((*words, "")):
        if word.startswith("--mpi="):
            asked = word.removeprefix("--mpi=")
        elif word == "--mpi":
            asked = following
    return asked


SRUN = Srun()
"""The launcher ``srun``."""
