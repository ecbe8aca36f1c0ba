"""``hindmost show --ranks``: stragglers, outliers and groups of ranks."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.ranks.read_tables import read_table
from hindmost.analysis.ranks.study import RankReport, report_run, report_table
from hindmost.analysis.ranks.tables import summary_lines
from hindmost.analysis.readers.text_files import head_of
from hindmost.analysis.runs.read import find_runs
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.output import write_json, write_lines

HDF5 = b"\x89HDF\r\n\x1a\n"


def show_ranks(arguments: argparse.Namespace) -> int:
    """Analyse the ranks and print the results."""
    if arguments.out is not None and arguments.json:
        raise UsageError("--out writes a page and --json prints: give only one of them.")
    looked: list[tuple[RankReport, Run | None]] = []
    for path in arguments.file:
        if holds_runs(path):
            looked += [(report_run(run), run) for run in find_runs([path])]
        else:
            looked.append((report_table(str(path), read_table(path)), None))
    reports = [report for report, _ in looked]
    if arguments.out is not None:
        from hindmost.analysis.report.ranks_page import ranks_page
        from hindmost.analysis.show.html_renderer import write_page

        write_lines(str(write_page(arguments.out, ranks_page(looked))))
        return 0
    if arguments.json:
        write_json(files=reports)
        return 0
    for number, report in enumerate(reports):
        write_lines(*([""] if number else []), *summary_lines(report))
    return 0


def holds_runs(path: Path) -> bool:
    """Tell whether a path is a run file or a folder with run files."""
    if path.is_dir():
        return any(path.glob("*.h5"))
    return path.suffix == ".h5" or (path.exists() and head_of(path).startswith(HDF5))
