"""``hindmost fit``: models of the noise, held against the solve time."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hindmost.analysis.fits import fit_group, fits_json
from hindmost.analysis.runs import find_runs, group_runs
from hindmost.analysis.tables.models import LEGEND, model_table, refusals
from hindmost.analysis.tables.terminal import print_table

DESCRIPTION = """\
Holds every model against the solve time of every run; repeats share a table.

  max-plus               local work of each rank, and who waits for whom, halos included
  max-plus-no-halo       the same without halos
  stationary-johnsonsu   every body drawn from one law; the slowest rank of each counts
  nonstationary-uniform  every iteration with a uniform law of its own
  mean-work              bodies times their mean: an identity
  cramer, bertsimas      bounds on the expected maximum, from mean and deviation
"""
EXAMPLES = """\
examples:
  hindmost fit runs/
  hindmost fit runs/laplacian-1d-gmres-p2-*.h5
  hindmost fit runs/ --json | jq '.runs[].models[0].error_percent'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a run")


def perform(arguments: argparse.Namespace) -> int:
    """Fit and print."""
    fitted = [fit_group(group) for group in group_runs(find_runs(arguments.file, complete=True))]
    if arguments.json:
        print(json.dumps(fits_json(fitted), indent=2))
        return 0
    for group in fitted:
        print_table(model_table(group))
        for line in refusals(group):
            print(line)
        print()
    print(LEGEND)
    return 0
