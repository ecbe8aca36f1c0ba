"""``hindmost predict``: the time of a later solve, also of one that was never run."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.verbs.whatif import (
    add_changes,
    add_scale,
    add_solve,
    changes_from,
    scale_from,
)
from hindmost.analysis.whatif.options import LAWS
from hindmost.analysis.whatif.prediction import SolvePrediction, predict_solves
from hindmost.analysis.whatif.prediction_at_scale import ScalePrediction, predict_at_scale
from hindmost.harness.runfile.hdf5 import kept_open
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.output import write_json, write_lines

DESCRIPTION = """\
Predict the time of a later solve from earlier ones: the same solve, more iterations, another
restart length, the solver's pipelined or blocking partner, another size, other ranks, other noise
or another machine. Every run is replayed with the change, as by 'hindmost whatif'; repeats are
pooled, and their scatter gives the interval.
"""
EXAMPLES = f"""\
examples:
  hindmost predict runs/
  hindmost predict runs/laplacian-1d-gmres-p2-*.h5 --iterations 20000
  hindmost predict runs/ --noise {LAWS["exponential"].split("[")[0]}
  hindmost predict runs/*-cg-*.h5 --solver pipecg
  hindmost predict runs/ --ranks 512 --ranks-per-node 64 --scaling strong
  hindmost predict runs/ --restart 60 --json

To run the adaptive kernel within a time budget, see: hindmost predict adaptive --help
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    add_changes(parser)
    add_solve(parser)
    add_scale(parser)
    parser.add_argument(
        "--json", action="store_true", help="print JSON, one entry per configuration"
    )


@kept_open()
def perform(arguments: argparse.Namespace) -> int:
    """Predict and print."""
    changes = changes_from(arguments)
    machine = None if arguments.machine is None else read_machine(arguments.machine)
    scale = scale_from(arguments, machine)
    runs = fittable_runs(find_runs(arguments.file, complete=True))
    predicted: list[SolvePrediction | ScalePrediction] = []
    if scale is None:
        predicted += predict_solves(group_runs(runs), changes, machine)
    else:
        predicted += predict_at_scale(runs, scale, changes, machine, arguments.executor)
    if arguments.json:
        answer = [one.to_json() for one in predicted]
        write_json({"version": JSON_VERSION, "predictions": answer})
        return 0
    for number, found in enumerate(predicted):
        write_lines(*([""] if number else []), *found.lines())
        print_table(found.table())
        write_lines(*found.notes())
    return 0
