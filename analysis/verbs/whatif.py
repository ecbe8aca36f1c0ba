"""``hindmost whatif``: recorded solves replayed on another machine."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hindmost.analysis.runs.finding import of_file
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.verbs.whatif_traces import (
    add_traces,
    perform_traces,
    refuse_trace_options,
)
from hindmost.analysis.whatif.at_scale import AtScale, scale_table, scaled
from hindmost.analysis.whatif.balance import balance_lines, balanced_runs, read_balance
from hindmost.analysis.whatif.gains import gain_lines, remedies_of
from hindmost.analysis.whatif.options import LAWS, NOT_INJECTED, Named, changes_of
from hindmost.analysis.whatif.simulated_run import name_of_file, write_at_scale, write_replay
from hindmost.analysis.whatif.study import (
    WIDTH,
    announce_replays,
    folded_lines,
    group_findings,
    replay_lines,
    replay_run,
    sweep_table,
)
from hindmost.analysis.whatif.targets import Scale, Scaling, read_scale, scalable
from hindmost.analysis.whatif.traces import traces_among
from hindmost.errors import UsageError
from hindmost.harness.runfile.hdf5 import kept_open
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.network import Collective
from hindmost.models.simulation.objects import Strategy
from hindmost.models.simulation.recipes import RECIPES
from hindmost.output import write_json, write_lines

DESCRIPTION = """\
Without a change: what equal work, no noise, an ideal network or a pipelined solver would save.
Replay recorded solves with another network, other speeds or other noise, or a deeper pipeline.
Ranks do their recorded work again, and wait for each other anew. With --ranks, simulate them on
other numbers of ranks, whose work is drawn from laws fitted to the recorded one.
"""
EXAMPLES = f"""\
examples:
  hindmost whatif runs/
  hindmost whatif runs/ --latency x2
  hindmost whatif runs/laplacian-1d-gmres-p2-0.h5 --latency 1,2,4,8
  hindmost whatif runs/ --latency +5us --collective ring
  hindmost whatif runs/ --noise none
  hindmost whatif runs/ --noise {LAWS["fixed"]} --json
  hindmost whatif runs/ --iterations 20000 --latency x2
  hindmost whatif runs/ --speed 'rank 1: x0.8'
  hindmost whatif runs/*-pgmres-* --latency +100us --pipeline-depth 1,2,3
  hindmost whatif adaptive/ --balance greedy,refine,none
  hindmost whatif runs/ --ranks 64..4096 --ranks-per-node 64 --scaling weak --noise x2
  hindmost whatif trace.ti --machine machine.json --flops-per-second 1e9 --latency x2

docs/whatif.md says what is assumed, what intervals cover, and how to read a result.
"""
JSON_VERSION = 1


class Once(argparse.Action):
    """Store a value, and refuse a second one, which would drop the first without a word."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store the value."""
        if getattr(namespace, self.dest) is not self.default:
            several = ", with a list such as 1,2" if self.metavar == "LIST" else ""
            raise argparse.ArgumentError(self, f"is given twice; give it once{several}")
        setattr(namespace, self.dest, values)


COMMON = (
    "--latency",
    "--bandwidth",
    "--speed",
    "--noise",
    "--ranks",
    "--solver",
    "--machine",
    "--json",
)
"""What --help lists; --help-all has the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "file", nargs="+", type=Path, help="run files, or folders of them; or traces"
    )
    add_changes(parser)
    add_solve(parser)
    add_traces(parser)
    parser.add_argument(
        "--pipeline-depth",
        action=Once,
        metavar="LIST",
        help="reductions in flight, for pipelined solvers (recorded: 1)",
    )
    add_scale(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the simulated solve as a run file, for one run and one change",
    )
    parser.add_argument(
        "--balance",
        action=Once,
        metavar="LIST",
        help=f"maps of the blocks of adaptive runs to ranks: {', '.join(Strategy)}, or a file with "
        "the rank of each block, one per line",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per replay")


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Declare the changes that apply to every solver."""
    parser.add_argument(
        "--latency",
        action=Once,
        metavar="LIST",
        help="factors of the latency (x2), or times to add to every message (+5us)",
    )
    parser.add_argument(
        "--collective",
        action=Once,
        type=Collective,
        choices=list(Collective),
        default=Collective.RECURSIVE_DOUBLING,
        help="algorithm of reductions, which says how many messages a time is added to (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--bandwidth",
        action=Once,
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
        action=Once,
        metavar="LAW",
        help=f"none; x2: a factor of the recorded noise; {NOT_INJECTED}: without the noise of "
        f"'run --inject'; or a law of detours to add: {', '.join(LAWS.values())}",
    )
    parser.add_argument(
        "--progress",
        action=Once,
        choices=("none", "async"),
        default="async",
        help="whether non-blocking reductions progress while ranks work (default: %(default)s)",
    )
    parser.add_argument(
        "--speed",
        action="append",
        default=[],
        metavar="SPEED",
        help="factor of the speed of all ranks (x1.2) or of one ('rank 3: x0.8'); repeatable for "
        "other ranks",
    )


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Declare what another solve may be."""
    parser.add_argument(
        "--solver",
        action=Once,
        metavar="NAME",
        help="the pipelined partner of a blocking solver, or the reverse: "
        + ", ".join(f"{name} from {each.partner}" for name, each in RECIPES.items()),
    )
    parser.add_argument(
        "--unknowns",
        action=Once,
        type=int,
        metavar="N",
        help="size of the system (default: as recorded)",
    )
    parser.add_argument(
        "--iterations",
        action=Once,
        type=int,
        metavar="N",
        help="iterations of the solve (default: as recorded)",
    )
    parser.add_argument(
        "--restart",
        action=Once,
        type=int,
        metavar="N",
        help="its restart length (default: as recorded)",
    )


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Declare where solves are scaled to."""
    parser.add_argument(
        "--ranks",
        action=Once,
        metavar="LIST",
        help="simulate on other numbers of ranks: 512, 64,512 or 64..4096, which doubles",
    )
    parser.add_argument(
        "--ranks-per-node",
        action=Once,
        type=int,
        metavar="K",
        help="of the machine to scale to (default: that of --machine, else the cores of the "
        "recording machine)",
    )
    parser.add_argument(
        "--scaling",
        action=Once,
        type=Scaling,
        choices=list(Scaling),
        help="how the work of a rank changes: it stays (weak) or is divided (strong). Default: as "
        "runs on several numbers of ranks say, else strong",
    )
    parser.add_argument(
        "--grid",
        action=Once,
        type=int,
        choices=(1, 2, 3),
        help="dimensions of the grid of ranks that exchange halos (default: what the recorded "
        "neighbours suggest)",
    )


def scale_from(arguments: argparse.Namespace, machine: Machine | None) -> Scale | None:
    """Return where solves are scaled to; None if they stay on their ranks.

    Raises
    ------
    UsageError
        Options of a scale without one, or values that cannot be read.
    """
    if arguments.ranks is None:
        for option in ("ranks_per_node", "scaling", "grid"):
            if getattr(arguments, option) is not None:
                name = option.replace("_", "-")
                raise UsageError(f"--{name} needs --ranks: it says how a solve is scaled.")
        return None
    return read_scale(
        arguments.ranks, arguments.ranks_per_node, arguments.scaling, arguments.grid, machine
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
        unknowns=getattr(arguments, "unknowns", None),
        progress=arguments.progress == "async",
    )


@kept_open()
def perform(arguments: argparse.Namespace) -> int:
    """Replay and print."""
    changes = changes_from(arguments, arguments.pipeline_depth)
    if traces := traces_among(arguments.file):
        return perform_traces(traces, changes, arguments, JSON_VERSION)
    refuse_trace_options(arguments)
    if arguments.balance is not None:
        others = [word for each in changes for word, _ in each.words]
        others += [name for name in ("ranks", "out") if getattr(arguments, name) is not None]
        if others:
            named = ", ".join(f"--{word}" for word in dict.fromkeys(others))
            raise UsageError(f"--balance stands alone; omit {named}.")
        return perform_balance(arguments.file, arguments.balance, arguments.json)
    machine = None if arguments.machine is None else read_machine(arguments.machine)
    scale = scale_from(arguments, machine)
    name = None if arguments.out is None else name_of_file(arguments.out)
    runs = fittable_runs(find_runs(arguments.file, complete=True))
    answer = []
    if scale is not None:
        for number, alike in enumerate(scalable(runs)):
            simulated = scaled(alike, scale, changes, machine, arguments.executor)
            if name is not None:
                refuse_several(sum(map(len, simulated)))
                write_at_scale(simulated[0][0], name)
            answer += perform_at_scale(alike, simulated, arguments.json, blank=number > 0)
        if arguments.json:
            write_json({"version": JSON_VERSION, "runs": answer})
        return 0
    announce_replays(runs, changes)
    groups = group_runs(runs)
    for number, group in enumerate(groups):
        replays = [
            replay_run(run, changes, machine, executor=arguments.executor) for run in group.runs
        ]
        if name is not None:
            refuse_several(sum(map(len, replays)))
            write_replay(replays[0][0], name)
        findings = group_findings(group)
        if not arguments.json:
            write_lines(*([""] if number else []), group.title)
        for run, found in zip(group.runs, replays, strict=True):
            doubts = of_file(findings, run.path)
            asked = any(each.named.words for each in found)
            gains = None if asked else remedies_of(run)
            if arguments.json:
                answer += [each.to_json(doubts) for each in found]
                if gains is not None:
                    answer[-1]["gains"] = gains.gains_json()
                continue
            write_lines(*replay_lines(found))
            if gains is not None:
                write_lines(
                    *(
                        part
                        for line in gain_lines(gains)
                        for part in textwrap.wrap(line, WIDTH, subsequent_indent="    ")
                    )
                )
            if len(found) > 1:
                print_table(sweep_table(found))
            write_lines(*folded_lines(found[-1], doubts))
    if arguments.json:
        write_json({"version": JSON_VERSION, "runs": answer})
    return 0


def refuse_several(count: int) -> None:
    """Raise a UsageError unless there is one result, which is what a file has."""
    if count != 1:
        raise UsageError(
            f"--out writes one simulated solve, and these are {count}: give one run, one change "
            "and one number of ranks."
        )


def perform_balance(files: Sequence[Path], balance: str, as_json: bool) -> int:
    """Print adaptive runs with other maps of their blocks to ranks."""
    found = balanced_runs(find_runs(files, complete=True), read_balance(balance))
    if as_json:
        runs = [each.to_json() for replays in found for each in replays]
        write_json({"version": JSON_VERSION, "runs": runs})
        return 0
    for number, replays in enumerate(found):
        write_lines(*([""] if number else []))
        for line in balance_lines(replays):
            write_lines(*textwrap.wrap(line, WIDTH, subsequent_indent="    "))
    return 0


def perform_at_scale(
    runs: Sequence[Run], found: Sequence[Sequence[AtScale]], as_json: bool, *, blank: bool
) -> list[dict[str, Any]]:
    """Print runs of one kind on other numbers of ranks, or return them for JSON."""
    (group,) = group_runs([each[0].run for each in found])
    findings = group_findings(group)
    if not as_json:
        write_lines(*([""] if blank else []), group.title)
    answer = []
    for replays in found:
        doubts = of_file(findings, replays[0].run.path)
        if as_json:
            answer += [each.to_json(doubts) for each in replays]
            continue
        write_lines(*scale_lines(replays))
        if len(replays) > 1:
            print_table(scale_table(replays))
        write_lines(*folded_lines(replays[-1], doubts))
    return answer


def scale_lines(found: Sequence[AtScale]) -> list[str]:
    """Return what is said of a run on other ranks, before the table."""
    last = found[-1]
    lines = [f"{last.run.path.name}, simulated:", *last.lines()]
    return [part for each in lines for part in textwrap.wrap(each, WIDTH, subsequent_indent="    ")]
