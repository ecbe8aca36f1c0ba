"""``hindmost report``: one HTML page on a set of runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.fits.study import FitOptions, fit_groups
from hindmost.analysis.report.report import report_page
from hindmost.analysis.runs.cycles import is_adaptive, read_adaptive
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.machine_file import read_machine
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.show.html_renderer import write_page
from hindmost.output import write_lines

EXAMPLES = """\
examples:
  hindmost report runs/ --out runs/report.html
  hindmost report adaptive/ --machine machine.json --out adaptive/report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Write one HTML file with tables and charts; it needs no network."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="skip the search through scipy's distribution families (about 6 s per run)",
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="machine file from which adaptive runs were predicted: adds phases and grind curve",
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
    write_lines(str(write_page(arguments.out, report_page(groups, adaptive, machine))))
    return 0
