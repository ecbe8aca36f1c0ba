"""``hindmost whatif --adaptive``: for a time budget, how to run a deck on a probed machine."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harness.adaptive.decks import DECKS, Deck, application_of, find_deck
from hindmost.harness.campaign import check_count
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.models.adaptive.choose import THRESHOLDS, Choice, choose
from hindmost.models.adaptive.offline import Application, OfflineModel
from hindmost.models.adaptive.work import Work
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.text import counted, parse_duration, percent

DESCRIPTION = """\
Rank the ways to run a deck by the offline model, before any run: balance threshold and cells
per rank. Ways within the budget come first; among them more cells come before less time.
"""
EXAMPLES = """\
examples:
  hindmost whatif --adaptive --machine machine.json --deck timing-a --ranks 2 --cycles 200 \\
                            --budget 10m
  hindmost whatif --adaptive --machine machine.json --deck timing-b --ranks 16 --cycles 5000 \\
                            --budget 2h --growth 3 --iterations 310 --json
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshChoice:
    """A configuration, with the base mesh of all ranks."""

    choice: Choice
    base: tuple[int, int]

    JSON = "**choice base"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--machine", type=Path, required=True, metavar="FILE",
        help="machine file of 'hindmost probe'",
    )  # fmt: skip
    parser.add_argument(
        "--deck", required=True, help=f"a TOML file, or one of {', '.join(DECKS.names)}"
    )
    parser.add_argument("--ranks", type=int, required=True, help="ranks of the planned run")
    parser.add_argument("--cycles", type=int, required=True, help="cycles of the planned run")
    parser.add_argument(
        "--budget", required=True, metavar="TIME", help="available time, as 90s, 10m or 02:00:00"
    )
    parser.add_argument(
        "--iterations", type=float, metavar="N",
        help="iterations of the heat solver in a cycle (default: typical of the built-in decks)",
    )  # fmt: skip
    parser.add_argument(
        "--growth", type=float, default=1.0, metavar="G",
        help="cells over base cells, on average over the run (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print all choices as JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Choose and print."""
    machine, deck = read_machine(arguments.machine), find_deck(arguments.deck)
    application = application_of(deck)
    if arguments.iterations is not None:
        if not deck.heat:
            raise UsageError(f"The deck '{deck.name}' has no heat: omit --iterations.")
        if not 0.0 <= arguments.iterations < math.inf:
            raise UsageError(f"--iterations {arguments.iterations:g}: it must be at least 0.")
        application = replace(application, iterations=arguments.iterations)
    if not 1.0 <= arguments.growth <= deck.growth:
        raise UsageError(
            f"--growth {arguments.growth:g}: it must be from 1 to {deck.growth:g}, the most that "
            "the deck allows."
        )
    for option in ("ranks", "cycles"):
        check_count(option, getattr(arguments, option))
    ranks, budget_s = arguments.ranks, seconds_of(arguments.budget)
    base = deck.base(ranks)
    choices = choose(
        OfflineModel(machine=machine, application=application, ranks=ranks),
        Work(cells=1.0, steps=deck.steps, iterations=application.iterations, adapts=True),
        budget_s,
        cycles=arguments.cycles,
        # Without imbalance one threshold is as good as another.
        thresholds=THRESHOLDS if ranks > 1 and application.imbalance else THRESHOLDS[:1],
    )
    remark = assumed(deck, application, ranks, arguments.growth)
    if arguments.json:
        write_json(
            deck=deck.name,
            ranks=ranks,
            cycles=arguments.cycles,
            budget_s=budget_s,
            application=application,
            growth=arguments.growth,
            remarks=[remark],
            choices=[
                MeshChoice(choice=choice, base=base_of(choice, base, ranks, arguments.growth))
                for choice in choices
            ],
        )
        return 0
    write_lines(
        f"{deck.name} on {counted(ranks, 'rank')} of {machine.name}, "
        f"{arguments.cycles} cycles in {arguments.budget}:"
    )
    best: dict[float, Choice] = {}  # of each size
    for choice in choices:
        best.setdefault(choice.cells, choice)
    write_lines(*(f"  {each.explain()}" for each in list(best.values())[:8]))
    if choices[0].fits:
        columns, rows = base_of(choices[0], base, ranks, arguments.growth)
        write_lines(
            f"Take the first: hindmost run adaptive --deck {shell_word(arguments.deck)} --cycles "
            f"{arguments.cycles} --base {columns}x{rows} --threshold {1 + choices[0].threshold:g}"
        )
    else:
        write_lines("Nothing fits the budget: ask for fewer cycles, or for more time.")
    write_lines(remark)
    return 0


def seconds_of(text: str) -> float:
    """Return the seconds of a budget."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--budget {text}: {error}.") from error


def base_of(choice: Choice, shape: tuple[int, int], ranks: int, growth: float) -> tuple[int, int]:
    """Return the base mesh, in a shape, with this number of cells on average."""
    columns, rows = shape
    scale = math.sqrt(choice.cells * ranks / growth / (columns * rows))
    return max(2, 2 * round(0.5 * scale * columns)), max(2, 2 * round(0.5 * scale * rows))


def assumed(deck: Deck, application: Application, ranks: int, growth: float) -> str:
    """Say what no model knows before a run."""
    words = [f"the mesh has on average {growth:g} times its base cells (--growth)"]
    if deck.heat:
        words.append(f"heat takes {application.iterations:g} iterations per cycle (--iterations)")
    if application.imbalance and ranks > 1:
        added = percent(application.imbalance, None)
        words.append(f"each adaption adds {added} to max / mean of the cells per rank")
    return f"Assumed: {'; '.join(words)}."
