"""``hindmost advise``: whether a pipelined solver pays off."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from hindmost.analysis.runs.finding import OF_MODELS, cautions, folded
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.verbs.whatif import Once, add_changes, add_scale, changes_from, scale_from
from hindmost.analysis.whatif.advice import Advice, advise
from hindmost.analysis.whatif.advice_at_scale import ScaledAdvice, advise_at_scale
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import WIDTH
from hindmost.errors import UsageError
from hindmost.harness.runfile.hdf5 import kept_open
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.models.simulation.change import Change
from hindmost.output import write_json, write_lines
from hindmost.text import counted

DESCRIPTION = """\
Tell whether a pipelined solver pays off: recorded runs of a blocking and of a pipelined solver are
compared per iteration, as they are and replayed with other latencies, speeds or noise, or
simulated on other numbers of ranks.
"""
EXAMPLES = """\
examples:
  hindmost advise gmres-runs/ pgmres-runs/
  hindmost advise runs/*-gmres-*.h5 --against runs/*-pgmres-*.h5 --latency +5us,+50us,+500us
  hindmost advise gmres-runs/ pgmres-runs/ --noise exponential:mean=50us --json
  hindmost advise gmres-runs/ pgmres-runs/ --ranks 64..4096 --ranks-per-node 64 --scaling weak \
      --noise x2 --pipeline-depth 1,2

Without --ranks the number of ranks stays as recorded. docs/whatif.md says how replays work.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "file",
        nargs="+",
        type=Path,
        help="runs of the blocking solver, then those of the pipelined one: two files or folders, "
        "or more with --against",
    )
    parser.add_argument(
        "--against", nargs="+", type=Path, help="run files or folders of the pipelined solver"
    )
    add_changes(parser)
    parser.add_argument(
        "--pipeline-depth",
        action=Once,
        metavar="LIST",
        help="reductions in flight of the pipelined solver (recorded: 1)",
    )
    add_scale(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


@kept_open()
def perform(arguments: argparse.Namespace) -> int:
    """Compare and print."""
    changes = changes_from(arguments, arguments.pipeline_depth)
    machine = None if arguments.machine is None else read_machine(arguments.machine)
    scale = scale_from(arguments, machine)
    blocking, pipelined = arguments.file, arguments.against
    if pipelined is None:
        if len(blocking) != 2:
            raise UsageError(
                f"{counted(len(blocking), 'file or folder')}: name two, the blocking solver's "
                "first, or separate them with --against."
            )
        blocking, pipelined = [blocking[:1], blocking[1:]]
    ours, theirs = (
        fittable_runs(find_runs(paths, complete=True)) for paths in (blocking, pipelined)
    )
    found: Advice | ScaledAdvice
    if scale is None:
        found = advise(ours, theirs, changes, machine)
        assumptions, listed = list(found.assumptions), bool(found.changed)
    else:
        found = advise_at_scale(ours, theirs, with_none(changes), scale, machine)
        assumptions, listed = found.assumptions(), True
    if arguments.json:
        write_json({"version": JSON_VERSION, "advice": found.to_json()})
        return 0
    for line in found.explain().splitlines():
        write_lines(*textwrap.wrap(line, WIDTH, subsequent_indent="    "))
    if listed:
        print_table(found.table())
    for line in assumptions:
        write_lines(*textwrap.wrap(f"Assumed: {line}", WIDTH, subsequent_indent="    "))
    write_lines(*folded(cautions(found.findings, OF_MODELS)))
    return 0


def with_none(changes: list[Named]) -> list[Named]:
    """Return changes in the order in which they were asked for; the last changes nothing."""
    if any(not each.words for each in changes):
        return changes
    return [*changes, Named(change=Change(), words=())]
