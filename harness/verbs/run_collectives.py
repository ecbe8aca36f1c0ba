"""``hindmost run collectives``: MPI's collectives at sizes, every call recorded on every rank."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError, UsageError
from hindmost.harness import mpi
from hindmost.harness.collectives.experiment import CollectivesExperiment
from hindmost.harness.collectives.experiment import perform as perform_experiment
from hindmost.harness.collectives.operations import OPERATIONS
from hindmost.harness.launch import check_size, crowding_warnings, place
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.provenance import mpi_library
from hindmost.harness.together import end_before_meeting, perform_together, reporter

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run collectives --out runs
  mpiexec -n 4 hindmost run collectives --operations allreduce,barrier --bytes 8,64,512 --out runs
  hindmost scale runs      # with runs on several numbers of ranks: how each grows with them

A run file holds the calls of one collective at one size: collectives-allreduce-1024B-p2-0.h5. Every
call begins on all ranks at one instant of the common clock; a call for which a rank came late is
left out and done again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EXAMPLES
    parser.description = (
        "Times MPI's collectives on all ranks, as mpi4py calls them: each at each size, in "
        "shuffled order, every call by itself."
    )
    told = "; ".join(f"{each.name}: {each.summary}" for each in OPERATIONS)
    parser.add_argument(
        "--operations",
        default=",".join(OPERATIONS.names),
        metavar="NAME,NAME,...",
        help=f"which (all). What --bytes is of them: {told}",
    )
    parser.add_argument(
        "--bytes",
        default="8,1024,65536",
        metavar="N,N,...",
        help="sizes, multiples of 8 (%(default)s)",
    )
    parser.add_argument(
        "--calls", type=int, default=1000, help="recorded calls of a run (%(default)s)"
    )
    parser.add_argument(
        "--warmup", type=int, default=20, help="unrecorded calls before them (%(default)s)"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="runs of each collective and size (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the order of the runs (%(default)s)"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the run files")


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment; on a failure all ranks end, with one message."""
    mine = place()
    try:
        experiment = experiment_of(arguments)
        experiment.check()
        load()
        communicator = mpi.start()
        check_size(communicator.size, mpi_library(), mine)
    except HindmostError as error:
        return end_before_meeting(mine.rank, error)
    # A communicator for the run alone: a rank that fails meets the others in another one.
    return perform_together(
        communicator, lambda: run_experiment(experiment, arguments.out, communicator.Dup())
    )


def experiment_of(arguments: argparse.Namespace) -> CollectivesExperiment:
    """Return what was asked for; raises a UsageError where it cannot be."""
    if arguments.petsc_options:
        raise UsageError("PETSc options after '--' are of no use to collectives: leave them out.")
    return CollectivesExperiment(
        operations=words_of(arguments.operations),
        sizes=tuple(whole(word) for word in words_of(arguments.bytes)),
        calls=arguments.calls,
        repeats=arguments.repeats,
        warmup=arguments.warmup,
        seed=arguments.seed,
    )


def words_of(text: str) -> tuple[str, ...]:
    """Return what commas separate."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def whole(word: str) -> int:
    """Return a size in bytes."""
    try:
        return int(word)
    except ValueError as error:
        raise UsageError(
            f"--bytes {word}: sizes are whole numbers of bytes with commas, as 8,1024,65536."
        ) from error


def run_experiment(experiment: CollectivesExperiment, folder: Path, communicator: Any) -> int:
    """Run the experiment on ranks that have met."""
    report = reporter(communicator.rank)
    if communicator.size == 1:
        report(
            "warning: 1 rank: a collective has nobody to talk to; more with: "
            "mpiexec -n 2 hindmost run collectives ..."
        )
    for warning in crowding_warnings(communicator):
        report(f"warning: {warning}")
    files = perform_experiment(experiment, folder, communicator, report)
    if communicator.rank == 0:
        for file in files:
            print(file)
    return 0
