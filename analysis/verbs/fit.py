"""``hindmost fit``: models of the noise, held against the solve time."""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path

from hindmost.analysis.fits import FitOptions, fit_groups, fits_json
from hindmost.analysis.runs import alike_only, find_runs, group_runs
from hindmost.analysis.tables.models import LEGEND, character, model_table, refusals
from hindmost.analysis.tables.terminal import print_table

DESCRIPTION = """\
Holds every model against the solve time of every run; repeats share a table.

  max-plus               local work of each rank, and who waits for whom, halos included
  max-plus-no-halo       the same without halos
  stationary-johnsonsu   every body drawn from one law; the slowest rank of each counts
  stationary-nct         the same with a non-central t law
  stationary-best        the same with the best of scipy's families, by squared error
  nonstationary-uniform  every iteration with a uniform law of its own
  redrawn-uniform        the same, its laws drawn from laws: a simulation
  mean-work              bodies times their mean: an identity
  cramer, bertsimas      bounds on the expected maximum, from mean and deviation
"""
EXAMPLES = """\
examples:
  hindmost fit runs/
  hindmost fit runs/laplacian-1d-gmres-p2-*.h5
  hindmost fit runs/ --quick
  hindmost fit runs/ --json | jq '.runs[].models[0].error_percent'
"""
TEXT_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="leave out the search through scipy's families, some 6 s a run",
    )
    parser.add_argument(
        "--keep-fill",
        action="store_true",
        help="fit laws to pipelined solvers also with the bodies that fill their pipeline",
    )
    parser.add_argument(
        "--by-node",
        action="store_true",
        help="take the slowest of as many draws as there are nodes, not ranks",
    )
    parser.add_argument(
        "--latency",
        type=float,
        metavar="US",
        help="microseconds of a reduction, from a measurement of the network, for max-plus "
        "(estimated on the first half of each run)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a run")


def perform(arguments: argparse.Namespace) -> int:
    """Fit and print."""
    options = FitOptions(
        families=not arguments.quick,
        keep_fill=arguments.keep_fill,
        by_node=arguments.by_node,
        latency_s=None if arguments.latency is None else 1e-6 * arguments.latency,
    )
    fitted = fit_groups(group_runs(alike_only(find_runs(arguments.file, complete=True))), options)
    if arguments.json:
        print(json.dumps(fits_json(fitted), indent=2))
        return 0
    for group in fitted:
        print_table(model_table(group))
        for line in (*refusals(group), *character(group)):
            print(textwrap.fill(line, TEXT_WIDTH, subsequent_indent="    "))
        print()
    print(LEGEND)
    return 0
