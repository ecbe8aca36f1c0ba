"""``hindmost predict adaptive``: for a time budget, how to run a deck on a probed machine."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.durations import parse_duration
from hindmost.errors import UsageError
from hindmost.harness.adaptive.application import application_of
from hindmost.harness.adaptive.decks import DECKS, Deck, find_deck, parse_deck, write_deck
from hindmost.harness.adaptive.experience import Experience, experience_of
from hindmost.harness.adaptive.kernel import Choices
from hindmost.harness.adaptive.usual import USUAL
from hindmost.harness.probes.machine_file import load_machine
from hindmost.harness.runfile.reader import open_run
from hindmost.models.dynamic.choose import CELLS, THRESHOLDS, Choice, choose
from hindmost.models.dynamic.work import PHASES

DESCRIPTION = """\
Ranks the ways to run a deck by the offline model: order of the cells (curve or slab), balance
threshold and cells a rank. Those within the budget come first, the ones with most cells before
those with less time.
"""
EXAMPLES = """\
examples:
  hindmost predict adaptive --machine machine.json --deck timing-a --ranks 2 --cycles 200 \\
                            --budget 10m
  hindmost predict adaptive --machine machine.json --run runs/adaptive-timing-b-p2-0.h5 \\
                            --ranks 16 --cycles 5000 --budget 2h --json

A deck alone does not say how many iterations its heat needs, how its cells grow and how fast its
ranks go out of balance; an earlier run does (--run), best on several ranks. Where it is missing,
means of a run on 2 ranks stand in for built-in decks.
"""
JSON_VERSION = 1
SHOWN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--machine", type=Path, required=True, metavar="FILE", help="what 'hindmost probe' wrote"
    )
    told = parser.add_mutually_exclusive_group(required=True)
    told.add_argument("--deck", help=f"a TOML file, or one of {', '.join(DECKS.names)}")
    told.add_argument("--run", type=Path, metavar="FILE", help="an earlier run of the deck")
    parser.add_argument("--ranks", type=int, required=True, help="of the run to come")
    parser.add_argument("--cycles", type=int, required=True, help="of the run to come")
    parser.add_argument("--budget", required=True, metavar="TIME", help="as 90s, 10m or 02:00:00")
    parser.add_argument(
        "--iterations", type=float, metavar="N", help="of the heat solver in a cycle (the run's)"
    )
    parser.add_argument(
        "--cells", metavar="N,N,...", help="cells a rank to choose from, on average over the run"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: all choices")


def perform(arguments: argparse.Namespace) -> int:
    """Choose and print."""
    machine = load_machine(arguments.machine)
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
        print(json.dumps(told(choices, known, deck, budget_s, arguments), indent=2))
        return 0
    print(
        f"{deck.name} on {arguments.ranks} rank{'s' * (arguments.ranks > 1)} of {machine.name}, "
        f"{arguments.cycles} cycles in {arguments.budget}:"
    )
    for choice in best_of_each_size(choices)[:SHOWN]:
        print(f"  {choice.explain()}")
    if choices[0].fits:
        print(
            f"Take the first: hindmost run adaptive {command(choices[0], known, deck, arguments)}"
        )
    else:
        print("Nothing is within the budget: take fewer cycles, or fewer cells with --cells.")
    for remark in remarks(known, arguments):
        print(remark)
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
        known = Experience(
            deck=write_deck(deck), application=application_of(deck, Choices()), growth=1.0
        )
        if deck.heat and deck.name not in USUAL and arguments.iterations is None:
            raise UsageError(
                f"How many iterations the heat of '{deck.name}' needs in a cycle cannot be known "
                "from the deck: say --iterations, or give an earlier run with --run."
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
        raise UsageError(f"--cells {text}: numbers are wanted, as in 4000,80000.") from error


def command(choice: Choice, known: Experience, deck: Deck, arguments: argparse.Namespace) -> str:
    """Return the options of ``hindmost run adaptive`` that make a choice."""
    columns, rows = base_of(choice, known, deck, arguments.ranks)
    name = arguments.deck or deck.name
    steps = f"--steps {deck.steps} " if arguments.run is not None else ""
    return (
        f"--deck {name} --cycles {arguments.cycles} --base {columns}x{rows} {steps}"
        f"--order {choice.order} --threshold {1.0 + choice.threshold:g}"
    )


def base_of(choice: Choice, known: Experience, deck: Deck, ranks: int) -> tuple[int, int]:
    """Return the base mesh, in the deck's shape, that comes to so many cells on average."""
    columns, rows = deck.base(ranks)
    wanted = choice.cells * ranks / known.growth
    scale = math.sqrt(wanted / (columns * rows))
    return max(2, 2 * round(0.5 * scale * columns)), max(2, 2 * round(0.5 * scale * rows))


def remarks(known: Experience, arguments: argparse.Namespace) -> list[str]:
    """Say what the answer does not know."""
    if arguments.run is None:
        return [
            "From the deck alone cells do not grow, and iterations and imbalance are those of a "
            "short run on 2 ranks, or a guess for a deck of your own; an earlier run says how they "
            "do (--run)."
        ]
    if known.application.imbalance == 0.0:
        return ["In the earlier run no rank went out of balance, so any threshold is as good."]
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
                "order": choice.order,
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
