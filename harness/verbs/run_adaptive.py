"""``hindmost run adaptive``: the adaptive-mesh kernel, every cycle predicted before it runs."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from hindmost.durations import parse_duration
from hindmost.errors import HindmostError, UsageError
from hindmost.harness import mpi, petsc
from hindmost.harness.adaptive.decks import DECKS, parse_base
from hindmost.harness.adaptive.experiment import AdaptiveExperiment, Done
from hindmost.harness.adaptive.experiment import perform as perform_experiment
from hindmost.harness.adaptive.foresight import Orders
from hindmost.harness.adaptive.interference import RULE, Schedule
from hindmost.harness.adaptive.kernel import Choices
from hindmost.harness.launch import check_size, crowding_warnings, place
from hindmost.harness.probes.machine_file import load_machine
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.provenance import mpi_library
from hindmost.harness.together import (
    end_before_meeting,
    perform_together,
    reporter,
)

WORK_IS_LEFT = 75

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run adaptive --deck timing-b --cycles 200 --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 200 --machine machine.json --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 500 --time-limit 5m --mtbf 10m \\
                                     --checkpoint state.h5 --out runs
  mpiexec -n 2 hindmost run adaptive --restart state.h5 --cycles 500 --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 100 --interfere 50-@1 --out runs

'hindmost probe all --out machine.json' measures the machine, for the offline model. Exit status 75:
the time limit came before the last cycle.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EXAMPLES
    parser.description = (
        "Runs a SAGE-like adaptive-mesh kernel (2-D flow of one material, and heat) on all ranks. "
        "Every cycle is predicted before it runs, and recorded on every rank."
    )
    told = "; ".join(f"{deck.name}: {deck.summary}" for deck in DECKS)
    parser.add_argument("--deck", help=f"a TOML file, or one of {told}")
    parser.add_argument("--cycles", type=int, required=True, help="cycles in all")
    parser.add_argument("--out", type=Path, required=True, help="folder for the run files")
    parser.add_argument(
        "--repeats", type=int, default=1, help="replays of the same cycles (%(default)s)"
    )
    parser.add_argument("--blocks", action="store_true", help="keep load and owner of each block")
    parser.add_argument(
        "--live", action="store_true", help="write a feed beside them for 'hindmost watch'"
    )
    kernel = parser.add_argument_group("how the kernel does it")
    kernel.add_argument("--base", metavar="NXxNY", help="base cells in all (the deck's a rank)")
    kernel.add_argument("--steps", type=int, help="steps of flow in a cycle (the deck's)")
    kernel.add_argument("--order", default="curve", help="curve or slab (%(default)s)")
    kernel.add_argument(
        "--threshold",
        type=float,
        default=1.02,
        help="most cells of a rank over the mean above which cells are moved (%(default)s)",
    )
    kernel.add_argument(
        "--exchange", default="persistent", help="persistent or nonblocking (%(default)s)"
    )
    kernel.add_argument(
        "--scheme", type=int, default=1, help="order of the flow's scheme, 1 or 2 (%(default)s)"
    )
    kernel.add_argument("--heat", default="own", help="own or petsc; PETSc options after '--'")
    kernel.add_argument(
        "--sums",
        default="plain",
        help="plain, or fixed: heat the same to the bit on any number of ranks (%(default)s)",
    )
    deciding = parser.add_argument_group("predictions and decisions")
    deciding.add_argument("--machine", type=Path, metavar="FILE", help="what 'probe' measured")
    deciding.add_argument(
        "--time-limit", metavar="TIME", help="stop before it, as 90s, 5m or 01:00:00"
    )
    deciding.add_argument(
        "--risk", type=float, default=0.01, help="that the limit is overrun (%(default)s)"
    )
    deciding.add_argument("--mtbf", metavar="TIME", help="mean time between failures")
    deciding.add_argument(
        "--interval", default="optimum", help="between checkpoints: optimum, daly or young"
    )
    deciding.add_argument("--checkpoint", type=Path, metavar="FILE", help="where checkpoints go")
    deciding.add_argument("--restart", type=Path, metavar="FILE", help="go on from a checkpoint")
    deciding.add_argument("--interfere", metavar="SCHEDULE", help=f"disturb the run. {RULE}")


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment; on a failure all ranks end, with one message."""
    begin_s = time.monotonic()
    mine = place()
    try:
        experiment = experiment_of(arguments, begin_s)
        experiment.check()
        load()
        PETSc = None
        if experiment.choices.heat == "petsc":
            parallel = petsc.start(arguments.petsc_options)
            communicator, PETSc = parallel.communicator, parallel.PETSc
        else:
            communicator = mpi.start()
        check_size(communicator.size, mpi_library(), mine)
    except HindmostError as error:
        return end_before_meeting(mine.rank, error)
    # A communicator for the run alone: a rank that fails meets the others in another one.
    return perform_together(
        communicator,
        lambda: run_experiment(experiment, arguments.out, communicator.Dup(), PETSc),
    )


def experiment_of(arguments: argparse.Namespace, begin_s: float) -> AdaptiveExperiment:
    """Return what was asked for; raises a UsageError where it cannot be."""
    if (arguments.deck is None) == (arguments.restart is None):
        raise UsageError(
            "Say either --deck, to begin, or --restart, to go on from a checkpoint; decks are "
            f"{', '.join(DECKS.names)}."
        )
    if arguments.petsc_options and arguments.heat != "petsc":
        raise UsageError("PETSc options after '--' are of use with --heat petsc only.")
    choices = Choices(
        order=arguments.order,
        threshold=arguments.threshold,
        exchange=arguments.exchange,
        scheme=arguments.scheme,
        heat=arguments.heat,
        sums=arguments.sums,
    )
    return AdaptiveExperiment(
        deck=arguments.deck or "",
        cycles=arguments.cycles,
        repeats=arguments.repeats,
        base=parse_base(arguments.base) if arguments.base else None,
        choices=choices,
        orders=Orders(
            time_limit_s=seconds_of("--time-limit", arguments.time_limit),
            risk=arguments.risk,
            mtbf_s=seconds_of("--mtbf", arguments.mtbf),
            interval=arguments.interval,
        ),
        machine=load_machine(arguments.machine) if arguments.machine else None,
        interfere=Schedule.parse(arguments.interfere) if arguments.interfere else None,
        blocks=arguments.blocks,
        checkpoint=arguments.checkpoint,
        restart=arguments.restart,
        steps=arguments.steps,
        begin_s=begin_s,
        live=arguments.live,
    )


def seconds_of(option: str, text: str | None) -> float | None:
    """Return the seconds of an option."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}.") from error
    if seconds <= 0.0:
        raise UsageError(f"{option} {text}: it must be above zero.")
    return seconds


def run_experiment(
    experiment: AdaptiveExperiment, folder: Path, communicator: Any, petsc_module: Any
) -> int:
    """Run the experiment on ranks that have met."""
    report = reporter(communicator.rank)
    for warning in crowding_warnings(communicator):
        report(f"warning: {warning}")
    done = perform_experiment(experiment, folder, communicator, petsc=petsc_module, report=report)
    if communicator.rank == 0:
        for each in done:
            print(each.file)
            sys.stdout.flush()
            tell(each, report)
    return WORK_IS_LEFT if done[-1].ended.stopped else 0


def tell(done: Done, report: Any) -> None:
    """Say in a line or two how well the run was foreseen, and why it stopped."""
    ended = done.ended
    errors = ", ".join(
        f"{name} {error:.1f} %" for name, error in ended.errors_percent.items() if error == error
    )
    if errors:
        report(f"mean error of the predictions: {errors}")
    if ended.stopped:
        report(f"stopped after cycle {ended.cycles}: {ended.stopped}")
