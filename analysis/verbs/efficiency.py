"""``hindmost efficiency``: what is left of the time of ranks, and what takes the rest."""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path

from hindmost.analysis.efficiency.metrics import LEGEND, OF_SCALING
from hindmost.analysis.efficiency.of_run import WINDOWS, efficiencies_of
from hindmost.analysis.efficiency.scaling import efficiencies_over_ranks
from hindmost.analysis.runs import find_runs
from hindmost.analysis.tables.efficiencies import efficiency_table, part_tables
from hindmost.analysis.tables.terminal import print_table

EXAMPLES = """\
examples:
  hindmost efficiency runs/                        # a table a kernel, a column a number of ranks
  hindmost efficiency runs/laplacian-1d-gmres-p2-0.h5 --windows 8
  hindmost efficiency runs/ --places --json

Load balance, serialisation, transfer and computation scaling as POP defines them; of repeats the
one of median solve time is told. docs/efficiencies.md has the formulas.
"""
JSON_VERSION = 1
WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Says how much of the ranks' time is work, and what the rest is lost to."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--windows", type=int, metavar="N", help="also over time, in so many windows of bodies"
    )
    parser.add_argument(
        "--places", action="store_true", help="also by place in the restart cycle, where there is"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: runs, parts and scaling")


def perform(arguments: argparse.Namespace) -> int:
    """Compute and print."""
    runs = find_runs(arguments.file)
    windows = WINDOWS if arguments.windows is None else arguments.windows
    kernels = efficiencies_over_ranks(runs)
    if arguments.json:
        answer = {
            "version": JSON_VERSION,
            "runs": [efficiencies_of(run, windows).to_json() for run in runs],
            "scaling": [kernel.to_json() for kernel in kernels],
        }
        print(json.dumps(answer, indent=2, allow_nan=False))
        return 0
    for kernel in kernels:
        print_table(efficiency_table(kernel))
        for column in kernel.columns:
            words = f"{column.of.run.path.name}: {column.of.explain()}"
            print(textwrap.fill(words, WIDTH, initial_indent="  ", subsequent_indent="    "))
        for column in kernel.columns:
            of = efficiencies_of(column.of.run, windows)
            tables = part_tables(of, windows=arguments.windows is not None, places=arguments.places)
            for table in tables:
                print()
                print_table(table)
            if arguments.places and of.places_not_split:
                print(textwrap.fill(of.places_not_split, WIDTH))
        print()
    print(textwrap.fill(f"{LEGEND} {OF_SCALING}", WIDTH))
    return 0
