"""``hindmost plan``: what a study comes to on a machine; nothing is done."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.errors import UsageError
from hindmost.jobs.words import counted

if TYPE_CHECKING:
    from hindmost.jobs.plan.estimate import Estimate
    from hindmost.jobs.plan.plan import Plan
    from hindmost.jobs.study.study import Study

DESCRIPTION = """\
Says which runs a study comes to on a machine, in which order, in which allocations, and how many
core-hours that may take. Nothing is done and nothing is written.
"""
EXAMPLES = """\
examples:
  hindmost plan --example > study.toml
  hindmost plan --example slurm > study.toml
  hindmost plan study.toml
  hindmost plan study.toml --machine site-a --json | jq '.allocations'
  hindmost plan study.toml --estimate earlier/ --quantile 0.9
  hindmost plan gmres-noise --machine local --set ranks=1,2 --set repeats=3
"""
JSON_VERSION = 1
QUANTILE = 0.95
ALL = "all"
FIRST = 12
"""Runs and allocations in the text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from hindmost.jobs.schedulers import SCHEDULERS
    from hindmost.jobs.study.read import shipped_studies

    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "study",
        nargs="?",
        metavar="STUDY",
        help=f"a study file, or one that is here already: {', '.join(shipped_studies())}",
    )
    add_study_arguments(parser)
    parser.add_argument(
        "--example",
        nargs="?",
        choices=(*SCHEDULERS.names, ALL),
        const=ALL,
        help="print a commented study, with a machine of every scheduler or of one",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, every run and allocation")


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say how a study becomes a plan."""
    parser.add_argument(
        "--machine", metavar="M", help="one of the study's, of your own, or 'local'"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="replacements",
        metavar="NAME=VALUE,...",
        help="other values for a name of the sweep, or repeats=N; repeatedly",
    )
    parser.add_argument(
        "--estimate",
        type=Path,
        metavar="DIR",
        help="run files of earlier runs, which say how long runs take (the limit of a run)",
    )
    parser.add_argument(
        "--quantile",
        type=float,
        default=QUANTILE,
        help="of the earlier times, for --estimate (%(default)s)",
    )


def planned(arguments: argparse.Namespace) -> tuple[Study, Plan, Estimate | None]:
    """Read the study that the arguments name, and plan it."""
    from hindmost.jobs.plan.make import make_plan
    from hindmost.jobs.study.read import read_study

    study = read_study(arguments.study, replacements=arguments.replacements)
    estimate = None
    if arguments.estimate is not None:
        from hindmost.jobs.plan.estimate import read_estimate  # reads HDF5, which a plan need not

        estimate = read_estimate(arguments.estimate, arguments.quantile)
    return study, make_plan(study, arguments.machine, expectation=estimate), estimate


def perform(arguments: argparse.Namespace) -> int:
    """Plan and print."""
    if arguments.example is not None:
        from hindmost.jobs.study.examples import example

        print(example(None if arguments.example == ALL else arguments.example), end="")
        return 0
    if arguments.study is None:
        raise UsageError("Name a study file; 'hindmost plan --example' prints one to begin with.")
    _, plan, estimate = planned(arguments)
    for line in warnings(plan, estimate):
        sys.stderr.write(f"hindmost: {line}\n")
    if arguments.json:
        print(json.dumps(told(plan, estimate), indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines_of(plan, estimate)))
    return 0


def warnings(plan: Plan, estimate: Estimate | None) -> list[str]:
    """Say what may go wrong with a plan."""
    from hindmost.jobs.launchers import LAUNCHERS

    found = [*LAUNCHERS[plan.machine.launcher].warnings(plan.machine)]
    split = sum(run.split for run in plan.runs)
    if split:
        found.append(
            f"{counted(split, 'run')} of blocks that one allocation does not hold: their "
            "configurations are not compared on the same nodes (marked 'split'). A longer "
            "limits.job, a shorter limits.run, --estimate or another pack.by help."
        )
    late = [r for r in plan.runs if r.expected_s is not None and r.expected_s > r.limit_s]
    if late:
        found.append(
            f"{counted(len(late), 'run')} will likely be stopped: {late[0].id} is expected to take "
            f"{late[0].expected_s:.0f} s, limits.run is {late[0].limit_s:.0f} s."
        )
    if estimate is not None:
        found += [f"left out: {why}" for why in estimate.unreadable[:3]]
        more = len(estimate.unreadable) - 3
        found += [f"{more} more files left out."] if more > 0 else []
    if plan.machine.oversubscribe and plan.machine.cores_per_node < max(
        run.ranks_per_node for run in plan.runs
    ):
        found.append("more ranks than cores: they take turns, and waiting times show it.")
    return found


def lines_of(plan: Plan, estimate: Estimate | None) -> list[str]:
    """Say a plan in words."""
    from hindmost.durations import clock
    from hindmost.jobs.plan.cost import cost_of

    machine = plan.machine
    blocks = len({run.block for run in plan.runs})
    cost = cost_of(plan)
    lines = [
        f"{plan.study} on {machine.name} ({machine.scheduler}, {machine.launcher}, "
        f"{machine.cores_per_node} cores a node)",
        f"{counted(len(plan.runs), 'run')}: {counted(blocks, 'block')} of "
        f"{counted(len(plan.runs) // blocks, 'configuration')}, seed {plan.seed}",
        f"at most {cost.most:.4g} core-hours in {counted(len(plan.allocations), 'allocation')}"
        + (f"; {cost.expected:.4g} expected" if estimate is not None else ""),
    ]
    if estimate is not None:
        lines += estimate_lines(estimate, len(plan.runs))
    lines += ["", "order of the runs; each allocation does its own in this order"]
    lines += table(
        [["", "run", "ranks", "nodes", "allocation", "command"]]
        + [
            [
                str(number),
                run.id,
                str(run.ranks),
                str(run.nodes),
                run.allocation + (" (split)" if run.split else ""),
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
                each.id,
                str(len(each.runs)),
                str(each.nodes),
                str(each.ranks_per_node),
                clock(each.walltime_s),
                script_name(each.id),
            ]
            for each in plan.allocations[:FIRST]
        ]
    )
    lines += more(len(plan.allocations) - FIRST)
    if plan.collect:
        lines += ["", "when all is collected", f"  {plan.collect}"]
    return lines


def estimate_lines(estimate: Estimate, runs: int) -> list[str]:
    """Say what times are from."""
    lines = [
        f"times: quantile {estimate.quantile:g} of {counted(len(estimate.earlier), 'earlier run')}"
        f"; {counted(estimate.without, 'run')} of {runs} had no earlier one and "
        "are given their limit"
    ]
    if estimate.from_few:
        lines.append(
            f"for {counted(estimate.from_few, 'run')} there were too few earlier ones for that "
            "quantile: the slowest stands for it"
        )
    return lines


def told(plan: Plan, estimate: Estimate | None) -> dict[str, object]:
    """Return a plan for ``hindmost plan --json``."""
    from hindmost.jobs.plan.cost import cost_of

    return {
        "version": JSON_VERSION,
        **asdict(plan),
        "core_hours": asdict(cost_of(plan)),
        "scripts": [script_name(each.id) for each in plan.allocations],
        "estimate": None
        if estimate is None
        else {
            "quantile": estimate.quantile,
            "earlier_runs": len(estimate.earlier),
            "runs_without": estimate.without,
            "runs_from_few": estimate.from_few,
            "left_out": estimate.unreadable,
        },
    }


def script_name(allocation: str) -> str:
    """Return the name of an allocation's script in the folder of the study."""
    return f"scripts/{allocation}.sh"


def table(rows: list[list[str]]) -> list[str]:
    """Put rows into columns: numbers to the right, texts to the left."""
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
    """Say how much is not shown."""
    return [f"... and {count:,} more: --json shows all"] if count > 0 else []
