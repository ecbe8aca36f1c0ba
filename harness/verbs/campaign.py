"""What the ``hindmost run`` verbs share: options, the start of the ranks, and what is printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError
from hindmost.harness.campaign import MeasuredExperiment, run_campaign
from hindmost.harness.launch import assigned_rank, check_size, crowding_warnings
from hindmost.harness.petsc import Parallel
from hindmost.harness.rank_failures import end_alone, perform_together, reporter
from hindmost.harness.runfile.provenance import mpi_library
from hindmost.output import write_lines
from hindmost.statuses import INTERRUPTED, WORK_IS_LEFT


def add_run_arguments(parser: argparse.ArgumentParser, *, repeats: str) -> None:
    """Declare the options of every experiment.

    Parameters
    ----------
    repeats : str
        What ``--repeats`` counts.
    """
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="N", help=f"{repeats} (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder for the run files"
    )


def add_order_arguments(parser: argparse.ArgumentParser, *, warmup: str, default: int) -> None:
    """Declare the options of experiments with several cases.

    Parameters
    ----------
    warmup : str
        What ``--warmup`` counts.
    default : int
        Its value if it is not given.
    """
    parser.add_argument(
        "--warmup", type=int, default=default, metavar="N", help=f"{warmup} (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed for the order of runs (%(default)s)"
    )


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what becomes of the records."""
    parser.add_argument(
        "--keep",
        default="100%",
        metavar="SHARE",
        help="keep full records of this share of the ranks, chosen after each run, and profiles of "
        "all: 5%% (%(default)s)",
    )
    parser.add_argument("--live", action="store_true", help="let 'hindmost watch' follow the runs")


def perform_campaign(
    arguments: argparse.Namespace,
    experiment_of: Callable[[argparse.Namespace], MeasuredExperiment[Any]],
) -> int:
    """Run an experiment; if a rank fails, all end, with one message.

    Parameters
    ----------
    experiment_of : callable
        Returns what the arguments ask for; raises a `HindmostError` if that is impossible.
    """
    mine = assigned_rank()
    try:
        experiment = experiment_of(arguments)
        experiment.check()
        parallel = experiment.start()
        check_size(parallel.communicator.size, mpi_library(), mine)
    except HindmostError as error:
        return end_alone(mine.rank, error)
    communicator = parallel.communicator
    return perform_together(communicator, lambda: run(experiment, arguments.out, parallel))


def run(experiment: MeasuredExperiment[Any], folder: Path, parallel: Parallel) -> int:
    """Run an experiment on ranks that have met; return the exit status."""
    # A communicator for the runs alone: a rank that fails meets the others on the first one.
    parallel = replace(parallel, communicator=parallel.communicator.Dup())
    communicator = parallel.communicator
    report = reporter(communicator.rank)
    for remark in experiment.remarks(communicator.size):
        report(remark)
    for warning in crowding_warnings(communicator):
        report(f"warning: {warning}")
    finished = run_campaign(experiment, folder, parallel, report)
    for each in finished:
        if communicator.rank == 0 and each.file is not None:
            write_lines(str(each.file), flush=True)
        for line in each.summary:
            report(line)
    if not finished or not finished[-1].stopped:
        return 0
    return INTERRUPTED if finished[-1].interrupted else WORK_IS_LEFT
