"""``hindmost show``: what is in run files, on a few lines each."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hindmost.analysis.runs import find_runs
from hindmost.analysis.summary import summarise_run
from hindmost.errors import UsageError
from hindmost.harness.runfile.damaged import read_damaged

EXAMPLES = """\
examples:
  hindmost show runs/laplacian-1d-gmres-p2-0.h5
  hindmost show runs/ --json
  hindmost show cut-off.h5 --damaged
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Says what run files hold: how long, where the time went, on what machine."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--damaged",
        action="store_true",
        help="read what can be read of files whose checksum is wrong; nothing of it is verified",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a run")


def perform(arguments: argparse.Namespace) -> int:
    """Summarise and print."""
    if arguments.damaged:
        if arguments.json:
            raise UsageError(
                "--json and --damaged exclude each other: what is damaged has no data."
            )
        for path in arguments.file:
            print(read_damaged(path).text())
        return 0
    summaries = [summarise_run(run) for run in find_runs(arguments.file)]
    if arguments.json:
        runs = [summary.to_json() for summary in summaries]
        print(json.dumps({"version": JSON_VERSION, "runs": runs}, indent=2))
        return 0
    print("\n\n".join(summary.text() for summary in summaries))
    return 0
