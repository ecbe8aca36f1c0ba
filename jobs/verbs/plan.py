"""``hindmost study plan``: the runs, order and cost of a study on a machine; nothing is run."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from hindmost.errors import UsageError
from hindmost.output import warn, write_json, write_lines, write_text
from hindmost.records import to_document
from hindmost.text import clock, counted

if TYPE_CHECKING:
    from hindmost.jobs.core.plan import Plan
    from hindmost.jobs.study.study import Study

DESCRIPTION = """\
Show the runs of a study on a machine: their order, their allocations, and the core-hours they may
take. Nothing is run and nothing is written.
"""
EXAMPLES = """\
examples:
  hindmost study plan --example > study.toml
  hindmost study plan study.toml
  hindmost study plan study.toml --machine site-a --json | jq '.allocations'
  hindmost study plan gmres-noise --machine local --set ranks=1,2 --set repeats=3
"""
FIRST = 12
"""Runs, allocations and failures in the text of the verbs of studies."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from hindmost.jobs.study.read import shipped_studies

    parser.add_argument(
        "study",
        nargs="?",
        metavar="STUDY",
        help=f"a study file, or a study shipped with hindmost: {', '.join(shipped_studies())}",
    )
    add_study_arguments(parser)
    parser.add_argument(
        "--example",
        action="store_true",
        help="print a commented study, with a machine for each scheduler",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, with all runs and allocations"
    )


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that turn a study into a plan."""
    parser.add_argument(
        "--machine", metavar="M", help="a machine of the study, of your own file, or 'local'"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="replacements",
        metavar="NAME=VALUE,...",
        help="replace the values of a name in the sweep, or set repeats=N; may be repeated",
    )


def planned(arguments: argparse.Namespace) -> tuple[Study, Plan]:
    """Read the study that the arguments name, and plan it."""
    from hindmost.jobs.plan.make import make_plan
    from hindmost.jobs.study.read import read_study

    study = read_study(arguments.study, replacements=arguments.replacements)
    return study, make_plan(study, arguments.machine)


def perform(arguments: argparse.Namespace) -> int:
    """Plan and print."""
    if arguments.example:
        from hindmost.jobs.study.read import example

        write_text(example())
        return 0
    if arguments.study is None:
        raise UsageError(
            "Name a study file; 'hindmost study plan --example' prints one to start from."
        )
    _, plan = planned(arguments)
    for line in warnings(plan):
        warn(line)
    if arguments.json:
        write_json(
            **to_document(plan),
            core_hours=plan.core_hours,
            scripts=[script_name(allocation.id) for allocation in plan.allocations],
        )
    else:
        write_lines(*lines_of(plan))
    return 0


def warnings(plan: Plan) -> list[str]:
    """Return what may go wrong with a plan."""
    found = []
    places = {(run.block, run.ranks, run.allocation) for run in plan.runs}
    split = [place for place, count in Counter(p[:2] for p in places).items() if count > 1]
    if split:
        found.append(
            f"{counted(len({block for block, _ in split}), 'block')} too large for one allocation: "
            "configurations on equally many ranks are not compared on the same nodes. Set a longer "
            "limits.job, a shorter limits.run, or another pack.by."
        )
    if plan.machine.oversubscribe and plan.machine.cores_per_node < max(
        run.ranks_per_node for run in plan.runs
    ):
        found.append("more ranks than cores: ranks take turns, which inflates waiting times.")
    return found


def lines_of(plan: Plan) -> list[str]:
    """Return the lines that describe a plan."""
    machine = plan.machine
    blocks = len({run.block for run in plan.runs})
    lines = [
        f"{plan.study} on {machine.name} ({machine.scheduler}, {machine.launcher}, "
        f"{machine.cores_per_node} cores a node)",
        f"{counted(len(plan.runs), 'run')}: {counted(blocks, 'block')} of "
        f"{counted(len(plan.runs) // blocks, 'configuration')}, seed {plan.seed}",
        f"at most {plan.core_hours:.4g} core-hours in "
        f"{counted(len(plan.allocations), 'allocation')}",
    ]
    lines += ["", "runs in order; each allocation does its runs in this order"]
    lines += table(
        [["", "run", "ranks", "nodes", "allocation", "command"]]
        + [
            [
                str(number),
                run.id,
                str(run.ranks),
                str(run.nodes),
                run.allocation,
                " ".join(run.command),
            ]
            for number, run in enumerate(plan.runs[:FIRST], 1)
        ]
    )
    lines += more(len(plan.runs) - FIRST)
    lines += ["", "allocations and their scripts"]
    lines += table(
        [["allocation", "runs", "nodes", "ranks a node", "walltime", "script"]]
        + [
            [
                allocation.id,
                str(len(allocation.runs)),
                str(allocation.nodes),
                str(allocation.ranks_per_node),
                clock(allocation.walltime_s),
                script_name(allocation.id),
            ]
            for allocation in plan.allocations[:FIRST]
        ]
    )
    lines += more(len(plan.allocations) - FIRST)
    if plan.collect:
        lines += ["", "after all runs are collected", f"  {plan.collect}"]
    return lines


def script_name(allocation: str) -> str:
    """Return the name of an allocation's script in the folder of the study."""
    return f"scripts/{allocation}.sh"


def table(rows: list[list[str]]) -> list[str]:
    """Align rows in columns: numbers to the right, texts to the left."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(cell.isdecimal() for cell in column[1:]) for column in columns]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def more(count: int) -> list[str]:
    """Return a line that counts what is not shown; nothing if all is."""
    return [f"... and {count:,} more: --json shows all"] if count > 0 else []
