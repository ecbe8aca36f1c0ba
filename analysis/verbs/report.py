"""``hindmost report``: one HTML page on a set of runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.adaptive.baseline import read_machine
from hindmost.analysis.adaptive.run import is_adaptive, read_adaptive
from hindmost.analysis.fits import FitOptions, fit_groups
from hindmost.analysis.page.document import write_page
from hindmost.analysis.report import report_page
from hindmost.analysis.runs import find_runs, group_runs

EXAMPLES = """\
examples:
  hindmost report runs/ --out runs/report.html
  hindmost report adaptive/ --machine machine.json --out adaptive/report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Writes one HTML file with tables and figures; it needs no network."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="leave out the search through scipy's families, some 6 s a run",
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="machine file that adaptive runs were predicted from: their phases and grind curve",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), help="the page (%(default)s)"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Fit, draw and write."""
    runs = find_runs(arguments.file, complete=True)
    machine = read_machine(arguments.machine) if arguments.machine else None
    adaptive = [read_adaptive(run) for run in runs if is_adaptive(run)]
    solves = group_runs(run for run in runs if not is_adaptive(run))
    groups = fit_groups(solves, FitOptions(families=not arguments.quick))
    print(write_page(arguments.out, report_page(groups, adaptive, machine)))
    return 0
