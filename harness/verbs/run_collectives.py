"""``hindmost run collectives``: record every call of MPI's collectives on every rank."""

from __future__ import annotations

import argparse

from hindmost.errors import UsageError
from hindmost.harness.collectives.experiment import CollectivesExperiment
from hindmost.harness.collectives.operations import OPERATIONS
from hindmost.harness.verbs.campaign import (
    add_order_arguments,
    add_run_arguments,
    perform_campaign,
)

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run collectives --out runs
  mpiexec -n 4 hindmost run collectives --operations allreduce,barrier --bytes 8,64,512 --out runs
  hindmost scale runs      # with runs on several numbers of ranks: how each grows with them

Each run file contains the calls of one collective at one size, as
collectives-allreduce-1024B-p2-0.h5. All ranks begin a call at the same instant of the common clock;
if a rank is late, the call is discarded and repeated.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EXAMPLES
    parser.description = (
        "Time every call of MPI's collectives (through mpi4py) on all ranks: each collective at "
        "each size, in shuffled order."
    )
    choices = "; ".join(f"{operation.name}: {operation.summary}" for operation in OPERATIONS)
    parser.add_argument(
        "--operations",
        default=",".join(OPERATIONS.names),
        metavar="NAME,NAME,...",
        help=f"collectives to time (all). What --bytes means for each: {choices}",
    )
    parser.add_argument(
        "--bytes",
        default="8,1024,65536",
        metavar="N,N,...",
        help="sizes, multiples of 8 (%(default)s)",
    )
    parser.add_argument(
        "--calls", type=int, default=1000, metavar="N", help="recorded calls of a run (%(default)s)"
    )
    add_run_arguments(parser, repeats="runs of each collective and size")
    add_order_arguments(parser, warmup="unrecorded calls before them", default=20)


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform_campaign(arguments, experiment_of)


def experiment_of(arguments: argparse.Namespace) -> CollectivesExperiment:
    """Return the experiment that the arguments ask for; raises a UsageError if it is impossible."""
    if arguments.petsc_options:
        raise UsageError("Collectives do not use PETSc options; leave out what follows '--'.")
    return CollectivesExperiment(
        operations=words_of(arguments.operations),
        sizes=tuple(whole(word) for word in words_of(arguments.bytes)),
        calls=arguments.calls,
        repeats=arguments.repeats,
        warmup=arguments.warmup,
        seed=arguments.seed,
    )


def words_of(text: str) -> tuple[str, ...]:
    """Return the words between commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def whole(word: str) -> int:
    """Return a size in bytes."""
    try:
        return int(word)
    except ValueError as error:
        raise UsageError(
            f"--bytes {word}: sizes are whole numbers of bytes with commas, as 8,1024,65536."
        ) from error
