"""``hindmost report``: one HTML page on runs, scaling experiments and histories."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from hindmost.analysis.fits.study import FitOptions, fit_groups
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.report.sources import EXPERIMENT, HISTORY, RUNS, sort_sources
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.cycles import is_adaptive, read_adaptive
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY
from hindmost.analysis.scaling.study import study_scaling
from hindmost.analysis.show.html_renderer import check_page_name, write_page
from hindmost.analysis.verbs.history import known_changes
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.output import write_lines

EXAMPLES = """\
examples:
  hindmost report runs/ --out runs/report.html
  hindmost report runs/ scaling.txt nightly/ --out everything.html
  hindmost report adaptive/ --machine machine.json --out adaptive/report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Write one HTML file that begins with what costs most time. It needs no network."
    )
    parser.add_argument(
        "file",
        nargs="+",
        type=Path,
        help="run files, files of a scaling experiment or of nightly results, or folders of these",
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
    """Read, fit, draw and write."""
    check_page_name(arguments.out)
    page = report_page(read_contents(arguments))
    write_lines(str(write_page(arguments.out, page)))
    return 0


def read_contents(arguments: argparse.Namespace) -> Contents:
    """Read and fit what the page is about."""
    machine = read_machine(arguments.machine) if arguments.machine else None
    sources = sort_sources(arguments.file)
    runs = find_runs(sources[RUNS], complete=True) if sources[RUNS] else []
    solves = group_runs(run for run in runs if not is_adaptive(run))
    return Contents(
        groups=fit_groups(solves, FitOptions(families=False, most_bodies=MAX_IN_MEMORY)),
        adaptive=[read_adaptive(run) for run in runs if is_adaptive(run)],
        machine=machine,
        studies=[study_scaling(read_experiment([path])) for path in sources[EXPERIMENT]],
        history=history_of(sources[HISTORY]),
    )


def history_of(nights: Sequence[Path]) -> HistoryStudy | None:
    """Read and judge nightly results, if there are any."""
    if not nights:
        return None
    known = known_changes([str(path) for path in nights], None)
    return judge_history(read_history(nights), acknowledged=known, now=time.time())
