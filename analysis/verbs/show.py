"""``hindmost show``: what is in run files, on a few lines each."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hindmost.analysis.runs import find_runs
from hindmost.analysis.summary import summarise_run

EXAMPLES = """\
examples:
  hindmost show runs/laplacian-1d-gmres-p2-0.h5
  hindmost show runs/ --json
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Says what run files hold: how long, where the time went, on what machine."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a run")


def perform(arguments: argparse.Namespace) -> int:
    """Summarise and print."""
    summaries = [summarise_run(run) for run in find_runs(arguments.file)]
    if arguments.json:
        runs = [summary.to_json() for summary in summaries]
        print(json.dumps({"version": JSON_VERSION, "runs": runs}, indent=2))
        return 0
    print("\n\n".join(summary.text() for summary in summaries))
    return 0
