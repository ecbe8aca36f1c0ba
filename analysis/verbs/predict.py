"""``hindmost predict``: the time of a later solve, also of one that was never run."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.fits.prediction import predict_solves
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.output import write_json, write_lines

DESCRIPTION = """\
Predict the time of a later solve from earlier ones: the same solve, more iterations, or another
restart length. The model adds up the times at each place of the restart cycle; repeats are pooled.
"""
EXAMPLES = """\
examples:
  hindmost predict runs/
  hindmost predict runs/laplacian-1d-gmres-p2-*.h5 --iterations 20000
  hindmost predict runs/ --restart 60 --json

To run the adaptive kernel within a time budget, see: hindmost predict adaptive --help
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--iterations", type=int, help="iterations of the later solve (default: as recorded)"
    )
    parser.add_argument("--restart", type=int, help="its restart length (default: as recorded)")
    parser.add_argument(
        "--json", action="store_true", help="print JSON, one entry per configuration"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Predict and print."""
    groups = group_runs(fittable_runs(find_runs(arguments.file, complete=True)))
    predicted = predict_solves(groups, arguments.iterations, arguments.restart)
    if arguments.json:
        answer = [each.to_json() for each in predicted]
        write_json({"version": JSON_VERSION, "predictions": answer})
        return 0
    for number, each in enumerate(predicted):
        write_lines(*([""] if number else []), *each.lines())
    return 0
