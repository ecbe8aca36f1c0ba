"""srun: Slurm starts the ranks itself, and binds them."""

from __future__ import annotations

from itertools import pairwise

from hindmost.errors import HindmostError, UsageError
from hindmost.jobs.launchers.mpiexec import OPEN_MPI, family, find
from hindmost.jobs.study.machine import Machine

REFUSED = {
    "none": "it starts every rank alone, each a world of one, and ends with status 0",
    "pmix": "ranks of MPICH wait for ever in MPI_Init under it",
}
"""Values of ``--mpi`` that were seen to do harm, and what they do."""


class Srun:
    """srun for MPI libraries that speak PMI-2, such as MPICH."""

    name = "srun"

    def words(
        self, machine: Machine, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        """Return the words that start so many ranks, bound to cores, so many on each node.

        Raises
        ------
        UsageError
            ``launch_args`` ask for a way of starting that does harm.
        """
        asked = _mpi(machine.launch_args)
        for refused, harm in REFUSED.items():
            if asked is not None and asked.startswith(refused):
                raise UsageError(
                    f"Machine '{machine.name}' has --mpi={asked} for srun: {harm}. Use --mpi=pmi2, "
                    'or launcher = "mpiexec"; a site that knows better writes launcher = '
                    '"template" with a launch_template.'
                )
        own = (
            # Slurm's own default differs from site to site.
            ("--mpi", "pmi2"),
            ("--cpu-bind", "cores" if ranks_per_node <= machine.cores_per_node else "none"),
        )
        given = {word.split("=")[0] for word in machine.launch_args}
        shared = {"--exact", "--overlap", "--overcommit", "-O"} & given
        # As many cores as ranks, not all of the node; cores for each rank there may not be.
        share = "--exact" if ranks_per_node <= machine.cores_per_node else "--overcommit"
        return (
            "srun",
            f"--nodes={nodes}",
            f"--ntasks={ranks}",
            f"--ntasks-per-node={ranks_per_node}",
            *(f"{name}={value}" for name, value in own if name not in given),
            *(() if shared else (share,)),
            # One that fails ends all: the others would wait for it until the run's limit.
            *(() if "--kill-on-bad-exit" in given else ("--kill-on-bad-exit=1",)),
            *machine.launch_args,
        )

    def warnings(self, machine: Machine) -> tuple[str, ...]:
        """Say so where the MPI of this environment is Open MPI, which few build with PMI-2.

        Of an interpreter elsewhere, nothing is known.
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
            f"{program} is of Open MPI, and machine '{machine.name}' starts ranks by srun "
            "--mpi=pmi2: unless that Open MPI was built with PMI-2, every run ends in MPI_Init. "
            f'Set machine.{machine.name}.launcher = "mpiexec" and launch_args = [].',
        )


def _mpi(words: tuple[str, ...]) -> str | None:
    """Return what ``--mpi`` asks for, written with an equals sign or as two words."""
    asked = None
    for word, following in pairwise((*words, "")):
        if word.startswith("--mpi="):
            asked = word.removeprefix("--mpi=")
        elif word == "--mpi":
            asked = following
    return asked


SRUN = Srun()
"""srun as machines name it."""
