"""``hindmost run``: solvers on ranks, every iteration recorded, a run file each."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError, UsageError
from hindmost.harness import petsc
from hindmost.harness.krylov.experiment import Experiment
from hindmost.harness.krylov.experiment import perform as perform_experiment
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.launch import check_size, crowding_warnings, place
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.attach import option_used
from hindmost.harness.recorder.counters import CounterUse
from hindmost.harness.runfile.provenance import mpi_library
from hindmost.harness.together import end_before_meeting, perform_together, reporter
from hindmost.harness.verbs.keep import add_keep
from hindmost.shares import read_share

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run laplacian-1d --solver gmres --solver pgmres --out runs
  mpiexec -n 2 hindmost run diagonal --unknowns 1000 --solver pgmres --iterations 5000 --out runs
  mpiexec -n 2 hindmost run laplacian-1d --solver gmres --out runs -- -ksp_gmres_restart 50
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --iterations 200000 --live --out runs
  mpiexec -n 64 hindmost run laplacian-1d --solver cg --keep 5% --out runs

What follows '--' are PETSc options. Run files are named WORKLOAD-SOLVER-pRANKS-N.h5; an existing
one is never overwritten.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EXAMPLES
    parser.description = "Runs every solver so many times, in shuffled order, on all ranks."
    workloads = "; ".join(f"{problem.name}: {problem.summary}" for problem in PROBLEMS)
    parser.add_argument(
        "workload",
        help=f"the linear system: {workloads}. Or 'adaptive', for the adaptive-mesh kernel: see "
        "'hindmost run adaptive --help'. Or 'collectives', for MPI's collectives by themselves: "
        "see 'hindmost run collectives --help'",
    )
    parser.add_argument(
        "--solver",
        action="append",
        required=True,
        help=f"may be given several times: {', '.join(SOLVERS.names)}",
    )
    parser.add_argument(
        "--unknowns", type=int, default=100_000, help="size of the system (%(default)s)"
    )
    parser.add_argument(
        "--iterations", type=int, default=2000, help="iterations of every solve (%(default)s)"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="recorded solves of each solver (%(default)s)"
    )
    parser.add_argument(
        "--warmup", type=int, default=1, help="unrecorded solves before the first (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the order of the runs (%(default)s)"
    )
    parser.add_argument(
        "--counters",
        choices=[str(use) for use in CounterUse],
        default=str(CounterUse.AUTO),
        help="count instructions and cycles of every body; auto: where that needs no system call "
        "(%(default)s)",
    )
    add_keep(parser, "a solve")
    parser.add_argument(
        "--live", action="store_true", help="write a feed beside them for 'hindmost watch'"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the run files")


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment; on a failure all ranks end, with one message."""
    mine = place()
    try:
        experiment = Experiment(
            workload=arguments.workload,
            solvers=tuple(arguments.solver),
            unknowns=arguments.unknowns,
            iterations=arguments.iterations,
            repeats=arguments.repeats,
            warmup=arguments.warmup,
            seed=arguments.seed,
            petsc_options=arguments.petsc_options,
            counters=CounterUse(arguments.counters),
            keep=read_share(arguments.keep, "--keep"),
            live=arguments.live,
        )
        experiment.check()
        parallel = petsc.start(arguments.petsc_options)
        check_size(parallel.communicator.size, mpi_library(), mine)
    except HindmostError as error:
        return end_before_meeting(mine.rank, error)
    return perform_together(
        parallel.communicator, lambda: run_experiment(experiment, arguments.out, parallel)
    )


def run_experiment(experiment: Experiment, folder: Path, parallel: Parallel) -> int:
    """Run the experiment on ranks that have met."""
    communicator = parallel.communicator
    report = reporter(communicator.rank)
    warn_of_crowding(communicator, report)
    try:
        files = perform_experiment(experiment, folder, parallel, report)
    except parallel.PETSc.Error as error:
        raise UsageError(petsc_refusal(error)) from error
    if communicator.rank == 0:
        for file in files:
            print(file)
        warn_of_unused_options(experiment, report)
    return 0


def warn_of_crowding(communicator: Any, report: Callable[[str], None]) -> None:
    """Warn of one rank, which waits for nobody, and of more ranks than cores; collective."""
    if communicator.size == 1:
        report(
            "warning: 1 rank: nobody waits for anybody; more with: mpiexec -n 2 hindmost run ..."
        )
    for warning in crowding_warnings(communicator):
        report(f"warning: {warning}")


def warn_of_unused_options(experiment: Experiment, report: Callable[[str], None]) -> None:
    """Warn of PETSc options that nothing asked for: most are spelling mistakes."""
    unused = [
        option
        for option in experiment.petsc_options
        if option.startswith("-") and option[1:2].isalpha() and not option_used(option)
    ]
    if unused:
        report(f"warning: no part of PETSc used {', '.join(unused)}; spelt right?")


def petsc_refusal(error: Exception) -> str:
    """Say in a few lines what PETSc did not like."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines[1:] if " at /" not in line and "() at " not in line]
    return "PETSc stopped the solve: " + " ".join(said or lines)
