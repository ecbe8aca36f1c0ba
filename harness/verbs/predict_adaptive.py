"""``hindmost whatif --adaptive``: for a time budget, how to run a deck on a probed machine."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness.adaptive.application import USUAL, application_of
from hindmost.harness.adaptive.decks import DECKS, Deck, find_deck, parse_deck
from hindmost.harness.adaptive.earlier_run import Experience, experience_of
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.harness.runfile.reader import open_run
from hindmost.models.adaptive.choose import CELLS, THRESHOLDS, Choice, choose
from hindmost.models.adaptive.work import PHASES
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.text import counted, parse_duration

DESCRIPTION = """\
Rank the ways to run a deck by the offline model: balance threshold and cells
per rank. Ways within the budget come first; among them more cells come before less time.
"""
EXAMPLES = """\
examples:
  hindmost whatif --adaptive --machine machine.json --deck timing-a --ranks 2 --cycles 200 \\
                            --budget 10m
  hindmost whatif --adaptive --machine machine.json --run runs/adaptive-timing-b-p2-0.h5 \\
                            --ranks 16 --cycles 5000 --budget 2h --json

A deck does not say how many iterations its heat needs, how its mesh grows and how fast the load
becomes imbalanced. An earlier run does (--run), ideally on several ranks. Without one, built-in
decks use the means of a run on 2 ranks.
"""
JSON_VERSION = 1
SHOWN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--machine",
        type=Path,
        required=True,
        metavar="FILE",
        help="machine file of 'hindmost probe'",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--deck", help=f"a TOML file, or one of {', '.join(DECKS.names)}")
    source.add_argument("--run", type=Path, metavar="FILE", help="an earlier run of the deck")
    parser.add_argument("--ranks", type=int, required=True, help="ranks of the planned run")
    parser.add_argument("--cycles", type=int, required=True, help="cycles of the planned run")
    parser.add_argument(
        "--budget", required=True, metavar="TIME", help="available time, as 90s, 10m or 02:00:00"
    )
    parser.add_argument(
        "--iterations",
        type=float,
        metavar="N",
        help="iterations of the heat solver in a cycle (those of --run)",
    )
    parser.add_argument(
        "--cells", metavar="N,N,...", help="cells per rank to choose from, averaged over the run"
    )
    parser.add_argument("--json", action="store_true", help="print all choices as JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Choose and print."""
    machine = read_machine(arguments.machine)
    known = known_of(arguments)
    deck = parse_deck(known.deck, str(arguments.run or arguments.deck))
    budget_s = seconds_of(arguments.budget)
    balanced = known.application.imbalance == 0.0
    choices = choose(
        machine,
        known.application,
        budget_s,
        ranks=arguments.ranks,
        cycles=arguments.cycles,
        # Without imbalance one threshold is as good as another.
        thresholds=THRESHOLDS[:1] if balanced else THRESHOLDS,
        cells=cells_of(arguments.cells),
    )
    if arguments.json:
        write_json(told(choices, known, deck, budget_s, arguments))
        return 0
    write_lines(
        f"{deck.name} on {counted(arguments.ranks, 'rank')} of {machine.name}, "
        f"{arguments.cycles} cycles in {arguments.budget}:"
    )
    for choice in best_of_each_size(choices)[:SHOWN]:
        write_lines(f"  {choice.explain()}")
    if choices[0].fits:
        write_lines(
            f"Take the first: hindmost run adaptive {command(choices[0], known, deck, arguments)}"
        )
    else:
        write_lines("Nothing fits the budget: ask for fewer cycles, or fewer cells with --cells.")
    for remark in remarks(known, arguments):
        write_lines(remark)
    return 0


def best_of_each_size(choices: tuple[Choice, ...]) -> list[Choice]:
    """Return the first choice of every number of cells."""
    first: dict[float, Choice] = {}
    for choice in choices:
        first.setdefault(choice.cells, choice)
    return list(first.values())


def known_of(arguments: argparse.Namespace) -> Experience:
    """Return what is known of the deck, from an earlier run or from itself."""
    if arguments.run is not None:
        known = experience_of(open_run(arguments.run))
    else:
        deck = find_deck(arguments.deck)
        known = Experience(deck=deck.to_toml(), application=application_of(deck), growth=1.0)
        if deck.heat and deck.name not in USUAL and arguments.iterations is None:
            raise UsageError(
                f"The deck '{deck.name}' does not say how many iterations its heat needs in a "
                "cycle: give --iterations, or an earlier run with --run."
            )
    if arguments.iterations is None:
        return known
    if not 0.0 <= arguments.iterations < math.inf:
        raise UsageError(f"--iterations {arguments.iterations:g}: it must be at least 0.")
    return replace(known, application=replace(known.application, iterations=arguments.iterations))


def seconds_of(text: str) -> float:
    """Return the seconds of a budget."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--budget {text}: {error}.") from error


def cells_of(text: str | None) -> tuple[float, ...]:
    """Return the cells a rank to choose from."""
    if text is None:
        return CELLS
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--cells {text}: give numbers, as 4000,80000.") from error


def command(choice: Choice, known: Experience, deck: Deck, arguments: argparse.Namespace) -> str:
    """Return the options of ``hindmost run adaptive`` that make a choice."""
    columns, rows = base_of(choice, known, deck, arguments.ranks)
    name = shell_word(arguments.deck or deck.name)
    steps = f"--steps {deck.steps} " if arguments.run is not None else ""
    return (
        f"--deck {name} --cycles {arguments.cycles} --base {columns}x{rows} {steps}"
        f"--threshold {1.0 + choice.threshold:g}"
    )


def base_of(choice: Choice, known: Experience, deck: Deck, ranks: int) -> tuple[int, int]:
    """Return the base mesh, in the deck's shape, with this number of cells on average."""
    columns, rows = deck.base(ranks)
    wanted = choice.cells * ranks / known.growth
    scale = math.sqrt(wanted / (columns * rows))
    return max(2, 2 * round(0.5 * scale * columns)), max(2, 2 * round(0.5 * scale * rows))


def remarks(known: Experience, arguments: argparse.Namespace) -> list[str]:
    """Say what the answer does not know."""
    if arguments.run is None:
        return [
            "Without an earlier run (--run) the mesh is assumed not to grow; iterations and "
            "imbalance are those of a short run on 2 ranks, or a guess for your own deck."
        ]
    if known.application.imbalance == 0.0:
        return ["The earlier run stayed balanced, so the threshold makes no difference."]
    return []


def told(
    choices: tuple[Choice, ...],
    known: Experience,
    deck: Deck,
    budget_s: float,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "version": JSON_VERSION,
        "deck": deck.name,
        "ranks": arguments.ranks,
        "cycles": arguments.cycles,
        "budget_s": budget_s,
        "application": known.application.to_json(),
        "growth": known.growth,
        "remarks": remarks(known, arguments),
        "choices": [
            {
                "threshold": choice.threshold,
                "cells": choice.cells,
                "base": list(base_of(choice, known, deck, arguments.ranks)),
                "seconds": choice.seconds,
                "cycle_s": dict(zip(PHASES, choice.cycle.phases_s, strict=True)),
                "fits": choice.fits,
            }
            for choice in choices
        ],
    }
