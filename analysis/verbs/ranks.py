"""``hindmost ranks``: who is hindmost, and which ranks are worth a look."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hindmost.analysis.ranks.report import RankReport, report_run, report_table
from hindmost.analysis.ranks.tables import read_table
from hindmost.analysis.ranks.words import words
from hindmost.analysis.readers.head import head_of
from hindmost.analysis.runs import find_runs
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.printable import printable
from hindmost.shares import read_share

EXAMPLES = """\
examples:
  hindmost ranks runs/laplacian-1d-gmres-p2-0.h5
  hindmost ranks runs/ --keep 5%      # which ranks 'hindmost run --keep 5%' would have kept
  hindmost ranks metrics.csv          # rank,host,compute [s],messages; also CUBE, Caliper
  hindmost ranks tau-profiles/        # profile.0.0.0, profile.1.0.0, ...
  hindmost ranks runs/big.h5 --out ranks.html     # with charts; a click opens a rank's timeline
"""
JSON_VERSION = 1
HDF5 = b"\x89HDF\r\n\x1a\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Says who comes last, how often and at what cost, which ranks stand out, and which groups "
        "there are."
    )
    parser.epilog = EXAMPLES
    parser.add_argument(
        "file",
        nargs="+",
        type=Path,
        help="run files, folders of them, or tables of metrics per rank",
    )
    parser.add_argument("--keep", help="say which ranks to keep at this share, such as 5%%")
    parser.add_argument("--groups", type=int, help="how many groups of ranks (by their distances)")
    parser.add_argument("--out", type=Path, metavar="PAGE", help="write an HTML page instead")
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a file")


def perform(arguments: argparse.Namespace) -> int:
    """Look at the ranks and print."""
    share = None if arguments.keep is None else read_share(arguments.keep, "--keep")
    if arguments.groups is not None and arguments.groups < 1:
        raise UsageError(f"--groups {arguments.groups}: it must be at least 1.")
    if arguments.out is not None and arguments.json:
        raise UsageError("--out writes a page and --json prints; leave one of them out.")
    looked: list[tuple[RankReport, Run | None]] = []
    for path in arguments.file:
        if holds_runs(path):
            looked += [
                (report_run(run, share=share, k=arguments.groups), run) for run in find_runs([path])
            ]
        else:
            table = read_table(path)
            looked.append((report_table(str(path), table, share=share, k=arguments.groups), None))
    reports = [report for report, _ in looked]
    if arguments.out is not None:
        from hindmost.analysis.page.document import write_page
        from hindmost.analysis.page.ranks import ranks_page

        print(write_page(arguments.out, ranks_page(looked)))
        return 0
    if arguments.json:
        found = [report.to_json() for report in reports]
        print(json.dumps({"version": JSON_VERSION, "files": found}, indent=2))
        return 0
    print(printable("\n\n".join(words(report) for report in reports)))
    return 0


def holds_runs(path: Path) -> bool:
    """Tell whether a path is a run file, or a folder with some."""
    if path.is_dir():
        return any(path.glob("*.h5"))
    return path.suffix == ".h5" or (path.exists() and head_of(path).startswith(HDF5))
