"""``hindmost run adaptive``: record the adaptive-mesh kernel and predict every cycle."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path

from hindmost.documents import parse_document
from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.checkpoint import read_setting
from hindmost.harness.adaptive.decks import DECKS, Deck, deck_of, find_deck, parse_base
from hindmost.harness.adaptive.interference import RULE, Schedule
from hindmost.harness.adaptive.mesh.mesh import THRESHOLD
from hindmost.harness.cycles.experiment import AdaptiveExperiment
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.harness.verbs.campaign import (
    add_record_arguments,
    add_run_arguments,
    perform_campaign,
)
from hindmost.text import parse_duration, read_share

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

'hindmost probe all --out machine.json' measures the machine for the offline model. Exit status 75:
the run stopped before its last cycle, because of --time-limit or SIGTERM.
"""
COMMON = (
    "--deck",
    "--cycles",
    "--repeats",
    "--out",
    "--machine",
    "--checkpoint",
    "--restart",
    "--live",
)
"""What --help lists; --help-all has the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Run a SAGE-like adaptive-mesh kernel (2-D flow of one material, and heat) on all ranks. "
        "Predict every cycle before it runs, and record it on every rank."
    )
    decks = "; ".join(f"{deck.name}: {deck.summary}" for deck in DECKS)
    parser.add_argument("--deck", help=f"a TOML file or a built-in deck. {decks}")
    parser.add_argument(
        "--cycles",
        type=int,
        required=True,
        metavar="N",
        help="cycles in all, those before a checkpoint included",
    )
    add_run_arguments(parser, repeats="replays of the same cycles")
    parser.add_argument(
        "--blocks",
        action="store_true",
        help="record load and owner of every block of the mesh, and which need cells of which",
    )
    add_record_arguments(parser, live="the cycles of all ranks and their predictions")
    add_kernel_arguments(parser.add_argument_group("kernel"))
    add_decision_arguments(parser.add_argument_group("predictions and decisions"))


def add_kernel_arguments(kernel: argparse._ArgumentGroup) -> None:
    """Declare the choices of the kernel."""
    kernel.add_argument(
        "--base", metavar="NXxNY", help="base cells of all ranks together (the deck's, per rank)"
    )
    kernel.add_argument("--steps", type=int, metavar="N", help="flow steps in a cycle (the deck's)")
    kernel.add_argument(
        "--threshold",
        type=float,
        metavar="X",
        help="load imbalance (maximum over mean of cells) above which cells move (1.02)",
    )


def add_decision_arguments(deciding: argparse._ArgumentGroup) -> None:
    """Declare what predictions know, and what is decided by them."""
    deciding.add_argument(
        "--machine", type=Path, metavar="FILE", help="measurements of 'hindmost probe'"
    )
    deciding.add_argument(
        "--time-limit", metavar="TIME", help="stop before this limit, as 90s, 5m or 01:00:00"
    )
    deciding.add_argument("--mtbf", metavar="TIME", help="mean time between failures")
    deciding.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="write checkpoints to this file"
    )
    deciding.add_argument(
        "--restart", type=Path, metavar="FILE", help="continue from this checkpoint"
    )
    deciding.add_argument("--interfere", metavar="SCHEDULE", help=f"disturb the run. {RULE}")


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform_campaign(arguments, experiment_of)


def experiment_of(arguments: argparse.Namespace) -> AdaptiveExperiment:
    """Return the experiment that the arguments ask for; raises a UsageError if it is impossible."""
    if (arguments.deck is None) == (arguments.restart is None):
        raise UsageError(
            "Give either --deck, to begin, or --restart, to continue from a checkpoint; the "
            f"built-in decks are {', '.join(DECKS.names)}."
        )
    if arguments.petsc_options:
        raise UsageError(
            "The adaptive kernel does not use PETSc options; leave out what follows '--'."
        )
    setting, threshold = None, arguments.threshold
    if arguments.restart is not None:
        other = [
            f"--{name}"
            for name in ("threshold", "base", "steps")
            if getattr(arguments, name) is not None
        ]
        if other:
            raise UsageError(
                "--restart continues with the checkpoint's settings; leave out "
                f"{', '.join(other)}, or start again with --deck."
            )
        setting = read_setting(arguments.restart)
        deck = deck_of(parse_document(setting.deck, str(arguments.restart)))
        threshold = setting.choices.get("threshold")
        if not isinstance(threshold, int | float | None):
            raise DataError(f"{arguments.restart}: its threshold {threshold!r} is not a number.")
    else:
        deck = with_steps(find_deck(arguments.deck), arguments.steps)
    return AdaptiveExperiment(
        deck=deck,
        cycles=arguments.cycles,
        repeats=arguments.repeats,
        base=parse_base(arguments.base) if arguments.base else None,
        threshold=THRESHOLD if threshold is None else threshold,
        time_limit_s=seconds_of("--time-limit", arguments.time_limit),
        mtbf_s=seconds_of("--mtbf", arguments.mtbf),
        machine=read_machine(arguments.machine) if arguments.machine else None,
        interfere=Schedule.parse(arguments.interfere) if arguments.interfere else None,
        blocks=arguments.blocks,
        checkpoint=arguments.checkpoint,
        restart=arguments.restart,
        setting=setting,
        keep=read_share(arguments.keep, "--keep"),
        live=arguments.live,
    )


def with_steps(deck: Deck, steps: int | None) -> Deck:
    """Return a deck with this number of steps in a cycle; its heat solves divide them."""
    if steps is None:
        return deck
    if steps < 1:
        raise UsageError(f"--steps {steps}: it must be at least 1.")
    return replace(deck, steps=steps, heats=math.gcd(steps, deck.heats))


def seconds_of(option: str, text: str | None) -> float | None:
    """Return an option's time in seconds."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0.0:
        raise UsageError(f"{option} {text}: give a time above zero, as 90s, 5m or 01:00:00.")
    return seconds
