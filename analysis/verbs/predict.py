"""``hindmost predict``: how long a later solve will take, also one that was never run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hindmost.analysis.runs import Group, alike_only, find_runs, group_runs, solve_times
from hindmost.analysis.tables.terminal import seconds
from hindmost.models.results import Prediction
from hindmost.models.stochastic.places import PlaceInCycle, fit_places

DESCRIPTION = """\
Takes earlier solves apart, by place in the restart cycle, and puts a later one together: the same
again, one of more iterations, or one of another restart length. Repeats are taken together.
"""
EXAMPLES = """\
examples:
  hindmost predict runs/
  hindmost predict runs/laplacian-1d-gmres-p2-*.h5 --iterations 20000
  hindmost predict runs/ --restart 60 --json

'hindmost predict adaptive --help' says how to run the adaptive kernel within a time budget.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("--iterations", type=int, help="of the later solve (as recorded)")
    parser.add_argument("--restart", type=int, help="length of its restart cycles (as recorded)")
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a configuration")


def perform(arguments: argparse.Namespace) -> int:
    """Predict and print."""
    found = []
    for group in group_runs(alike_only(find_runs(arguments.file, complete=True))):
        model = fit_places([solve_times(run) for run in group.runs])
        asked = (arguments.iterations, arguments.restart)
        found.append((group, model, model.predict(*asked)))
    if arguments.json:
        answer = [told(*each, arguments) for each in found]
        print(json.dumps({"version": JSON_VERSION, "predictions": answer}, indent=2))
        return 0
    print("\n\n".join(text(*each, arguments) for each in found))
    return 0


def text(
    group: Group, model: PlaceInCycle, prediction: Prediction, arguments: argparse.Namespace
) -> str:
    """Say a prediction in a few lines."""
    asked = {"{} iterations": arguments.iterations, "restart {}": arguments.restart}
    what = [words.format(value) for words, value in asked.items() if value is not None]
    interval = (
        f"90 % of them {seconds(prediction.low_s)} to {seconds(prediction.high_s)}"
        if prediction.low_s < prediction.high_s
        else "but this solve is too short to say how far that may be off"
    )
    later = f"a later solve with {', '.join(what)}" if what else "a later solve"
    return (
        f"{group.title}\n{later} takes {seconds(prediction.seconds)}, {interval}\n{model.explain()}"
    )


def told(
    group: Group, model: PlaceInCycle, prediction: Prediction, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return a prediction for ``hindmost predict --json``."""
    header = group.runs[0].header
    return {
        "files": [str(run.path) for run in group.runs],
        "workload": header.workload,
        "solver": header.solver,
        "ranks": header.ranks,
        "iterations": arguments.iterations or header.iterations,
        "restart": arguments.restart or header.restart,
        "name": model.name,
        "kind": str(model.kind),
        "predicted_s": prediction.seconds,
        "interval_s": [prediction.low_s, prediction.high_s],
        "explanation": model.explain(),
    }
