"""``hindmost noise``: detours of ranks, from the times of iterations alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.fits.detours import (
    against_probe,
    detours_json,
    detours_of,
    detours_table,
)
from hindmost.analysis.runs.finding import OF_MODELS, cautions, folded
from hindmost.analysis.runs.groups import Group
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.show.terminal import print_table
from hindmost.errors import UsageError
from hindmost.harness.runfile.hdf5 import kept_open
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.output import write_json, write_lines

EXAMPLES = """\
examples:
  hindmost noise runs/laplacian-1d-gmres-p2-0.h5
  hindmost noise runs/ --machine machine.json
  hindmost noise runs/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Estimate which detours disturb the ranks of a run: how long, how often, on which ranks, "
        "and whether by a clock. The estimate uses the times of iterations without waiting, and "
        "nothing that is stored of injected noise; that is shown for comparison."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="compare with the noise that 'hindmost probe noise' found on this machine",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per run")


@kept_open()
def perform(arguments: argparse.Namespace) -> int:
    """Estimate and print."""
    found = [detours_of(run) for run in fittable_runs(find_runs(arguments.file))]
    probed = None
    if arguments.machine is not None:
        probed = read_machine(arguments.machine).noise
        if probed is None:
            raise UsageError(
                f"--machine {arguments.machine}: noise was not probed; 'hindmost probe noise "
                f"--out {arguments.machine.name}' does."
            )
    if arguments.json:
        write_json(detours_json(found, probed))
        return 0
    for number, each in enumerate(found):
        write_lines(*([""] if number else []))
        table = detours_table(each).under(str(each.run.path), Group((each.run,)).title)
        print_table(table)
        if probed is not None:
            write_lines(*folded([against_probe(each, probed)]))
        write_lines(*folded(cautions(each.findings, OF_MODELS)))
    return 0
