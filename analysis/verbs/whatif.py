"""``hindmost whatif``: recorded solves replayed on another machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.runs.finding import of_file
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.machine_file import read_machine
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.whatif.options import LAWS, NOT_INJECTED, Named, changes_of
from hindmost.analysis.whatif.study import (
    folded_lines,
    group_findings,
    replay_lines,
    replay_run,
    sweep_table,
)
from hindmost.models.simulation.network import Collective
from hindmost.models.simulation.recipes import RECIPES
from hindmost.output import write_json, write_lines

DESCRIPTION = """\
Replay recorded solves with another network, other speeds or other noise, or a deeper pipeline.
Ranks do their recorded work again, and wait for each other anew.
"""
EXAMPLES = f"""\
examples:
  hindmost whatif runs/ --latency x2
  hindmost whatif runs/laplacian-1d-gmres-p2-0.h5 --latency 1,2,4,8
  hindmost whatif runs/ --latency +5us --collective ring
  hindmost whatif runs/ --noise none
  hindmost whatif runs/ --noise {LAWS["fixed"]} --json
  hindmost whatif runs/ --iterations 20000 --latency x2
  hindmost whatif runs/ --speed 'rank 1: x0.8'
  hindmost whatif runs/*-pgmres-* --latency +100us --pipeline-depth 1,2,3

docs/whatif.md says what is assumed, what intervals cover, and how to read a result.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    add_changes(parser)
    add_solve(parser)
    parser.add_argument(
        "--pipeline-depth",
        metavar="LIST",
        help="reductions in flight, for pipelined solvers (recorded: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per replay")


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Declare the changes that apply to every solver."""
    parser.add_argument(
        "--latency",
        metavar="LIST",
        help="factors of the latency (x2), or times to add to every message (+5us)",
    )
    parser.add_argument(
        "--collective",
        type=Collective,
        choices=list(Collective),
        default=Collective.RECURSIVE_DOUBLING,
        help="algorithm of reductions, which says how many messages a time is added to (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--bandwidth",
        metavar="LIST",
        help="factors of the bandwidth between neighbours; needs --machine",
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="machine file of the recording machine ('hindmost probe network'): how messages "
        "divide into latency and bytes",
    )
    parser.add_argument(
        "--noise",
        metavar="LAW",
        help=f"none; {NOT_INJECTED}: without the noise of 'run --inject'; or a law of detours to "
        f"add: {', '.join(LAWS.values())}",
    )
    parser.add_argument(
        "--speed",
        action="append",
        default=[],
        metavar="SPEED",
        help="factor of the speed of all ranks (x1.2) or of one ('rank 3: x0.8'); repeatable",
    )


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Declare what another solve may be."""
    parser.add_argument(
        "--solver",
        metavar="NAME",
        help="the pipelined partner of a blocking solver, or the reverse: "
        + ", ".join(f"{name} from {each.partner}" for name, each in RECIPES.items()),
    )
    parser.add_argument(
        "--iterations", type=int, metavar="N", help="iterations of the solve (default: as recorded)"
    )
    parser.add_argument(
        "--restart", type=int, metavar="N", help="its restart length (default: as recorded)"
    )


def changes_from(arguments: argparse.Namespace, pipeline_depth: str | None = None) -> list[Named]:
    """Return the changes that were asked for."""
    return changes_of(
        latency=arguments.latency,
        bandwidth=arguments.bandwidth,
        noise=arguments.noise,
        speed=arguments.speed,
        pipeline_depth=pipeline_depth,
        collective=arguments.collective,
        iterations=getattr(arguments, "iterations", None),
        restart=getattr(arguments, "restart", None),
        solver=getattr(arguments, "solver", None),
    )


def perform(arguments: argparse.Namespace) -> int:
    """Replay and print."""
    changes = changes_from(arguments, arguments.pipeline_depth)
    machine = None if arguments.machine is None else read_machine(arguments.machine)
    groups = group_runs(fittable_runs(find_runs(arguments.file, complete=True)))
    answer = []
    for number, group in enumerate(groups):
        replays = [replay_run(run, changes, machine) for run in group.runs]
        findings = group_findings(group)
        if not arguments.json:
            write_lines(*([""] if number else []), group.title)
        for run, found in zip(group.runs, replays, strict=True):
            doubts = of_file(findings, run.path)
            if arguments.json:
                answer += [each.to_json(doubts) for each in found]
                continue
            write_lines(*replay_lines(found))
            if len(found) > 1:
                print_table(sweep_table(found))
            write_lines(*folded_lines(found[-1], doubts))
    if arguments.json:
        write_json({"version": JSON_VERSION, "runs": answer})
    return 0
