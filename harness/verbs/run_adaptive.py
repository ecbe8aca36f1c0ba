"""``hindmost run adaptive``: the adaptive-mesh kernel, every cycle predicted before it runs."""

from __future__ import annotations

import argparse
import math
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.durations import parse_duration
from hindmost.errors import HindmostError, UsageError
from hindmost.harness import mpi, petsc
from hindmost.harness.adaptive.checkpoint import read_setting
from hindmost.harness.adaptive.decks import DECKS, Deck, find_deck, parse_base, parse_deck
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
from hindmost.harness.verbs.keep import add_keep
from hindmost.models.dynamic.checkpoints import INTERVALS
from hindmost.shares import read_share
from hindmost.statuses import INTERRUPTED, WORK_IS_LEFT

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run adaptive --deck timing-b --cycles 200 --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 200 --machine machine.json --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 500 --time-limit 5m --mtbf 10m \\
                                     --checkpoint state.h5 --out runs
  mpiexec -n 2 hindmost run adaptive --restart state.h5 --cycles 500 --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 100 --interfere 50-@1 --out runs
  mpiexec -n 2 hindmost run adaptive --deck timing-a --cycles 500 --live --out runs
  mpiexec -n 64 hindmost run adaptive --deck timing-a --cycles 500 --keep 5% --out runs

'hindmost probe all --out machine.json' measures the machine, for the offline model. Exit status 75:
the time limit, or a request to end (TERM), came before the last cycle.
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
    add_keep(parser, "a run")
    parser.add_argument(
        "--live",
        action="store_true",
        help="write a feed beside them for 'hindmost watch', with what is predicted",
    )
    kernel = parser.add_argument_group("how the kernel does it")
    kernel.add_argument("--base", metavar="NXxNY", help="base cells in all (the deck's a rank)")
    kernel.add_argument("--steps", type=int, help="steps of flow in a cycle (the deck's)")
    kernel.add_argument("--order", help="curve or slab (curve)")
    kernel.add_argument(
        "--threshold",
        type=float,
        help="most cells of a rank over the mean above which cells are moved (1.02)",
    )
    kernel.add_argument("--exchange", help="persistent or nonblocking (persistent)")
    kernel.add_argument("--scheme", type=int, help="order of the flow's scheme, 1 or 2 (1)")
    kernel.add_argument("--heat", help="own or petsc; PETSc options after '--' (own)")
    kernel.add_argument(
        "--sums", help="plain, or fixed: heat the same to the bit on any number of ranks (plain)"
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
        "--interval",
        default="optimum",
        help=f"between checkpoints: {', '.join(INTERVALS)} (%(default)s)",
    )
    deciding.add_argument("--checkpoint", type=Path, metavar="FILE", help="where checkpoints go")
    deciding.add_argument("--restart", type=Path, metavar="FILE", help="go on from a checkpoint")
    deciding.add_argument("--interfere", metavar="SCHEDULE", help=f"disturb the run. {RULE}")


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment; on a failure all ranks end, with one message."""
    mine = place()
    try:
        experiment = experiment_of(arguments)
        experiment.check()
        load()
        PETSc = None
        if experiment.choices.heat == "petsc":
            parallel = petsc.start(experiment.choices.petsc_options)
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


KERNEL = ("order", "threshold", "exchange", "scheme", "heat", "sums")
"""Options that are choices of the kernel."""


def experiment_of(arguments: argparse.Namespace) -> AdaptiveExperiment:
    """Return what was asked for; raises a UsageError where it cannot be."""
    if (arguments.deck is None) == (arguments.restart is None):
        raise UsageError(
            "Say either --deck, to begin, or --restart, to go on from a checkpoint; decks are "
            f"{', '.join(DECKS.names)}."
        )
    given: dict[str, Any] = {
        name: getattr(arguments, name) for name in KERNEL if getattr(arguments, name) is not None
    }
    if arguments.petsc_options:
        given["petsc_options"] = tuple(arguments.petsc_options)
    setting = None
    if arguments.restart is not None:
        setting = read_setting(arguments.restart)
        deck = parse_deck(setting.deck, str(arguments.restart))
        choices = Choices.from_json(setting.choices)
        refuse_other(arguments, given, choices)
    else:
        deck, choices = deck_of(arguments.deck, arguments.steps), Choices(**given)
    return AdaptiveExperiment(
        deck=deck,
        cycles=arguments.cycles,
        repeats=arguments.repeats,
        base=parse_base(arguments.base) if arguments.base else None,
        choices=choices,
        orders=Orders(
            time_limit_s=seconds_of("--time-limit", arguments.time_limit),
            risk=arguments.risk,
            mtbf_s=seconds_of("--mtbf", arguments.mtbf),
            interval=arguments.interval,
            saves=arguments.checkpoint is not None,
        ),
        machine=load_machine(arguments.machine) if arguments.machine else None,
        interfere=Schedule.parse(arguments.interfere) if arguments.interfere else None,
        blocks=arguments.blocks,
        checkpoint=arguments.checkpoint,
        restart=arguments.restart,
        setting=setting,
        keep=read_share(arguments.keep, "--keep"),
        live=arguments.live,
    )


def refuse_other(arguments: argparse.Namespace, given: dict[str, Any], choices: Choices) -> None:
    """Raise a UsageError if options contradict the checkpoint that is gone on from."""
    other = [name for name, value in given.items() if value != getattr(choices, name)]
    other += [name for name in ("base", "steps") if getattr(arguments, name) is not None]
    if other:
        raise UsageError(
            f"--restart goes on as the checkpoint has it ({choices.to_json()}); leave out "
            f"{', '.join('--' + name.replace('_', '-') for name in other)}, or begin anew with "
            "--deck."
        )


def deck_of(word: str, steps: int | None) -> Deck:
    """Return a deck with so many steps a cycle, heat as often as divides them."""
    deck = find_deck(word)
    if steps is None:
        return deck
    if steps < 1:
        raise UsageError(f"--steps {steps}: it must be at least 1.")
    return replace(deck, steps=steps, heats=math.gcd(steps, deck.heats))


def seconds_of(option: str, text: str | None) -> float | None:
    """Return the seconds of an option."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0.0:
        raise UsageError(f"{option} {text}: a time above zero is given as 90s, 5m or 01:00:00.")
    return seconds


def run_experiment(
    experiment: AdaptiveExperiment, folder: Path, communicator: Any, petsc_module: Any
) -> int:
    """Run the experiment on ranks that have met."""
    report = reporter(communicator.rank)
    for warning in crowding_warnings(communicator):
        report(f"warning: {warning}")
    if experiment.orders.time_limit_s is not None and experiment.checkpoint is None:
        report("warning: no --checkpoint: the state is lost where the time limit stops the run")
    done = perform_experiment(experiment, folder, communicator, petsc=petsc_module, report=report)
    if communicator.rank == 0:
        for each in done:
            if each.file is not None:
                print(each.file)
                sys.stdout.flush()
            tell(each, report)
    if done and done[-1].ended.signal == signal.SIGINT:
        return INTERRUPTED
    return WORK_IS_LEFT if done and done[-1].ended.stopped else 0


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
