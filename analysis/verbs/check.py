"""``hindmost check``: whether data are good enough to draw a conclusion from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hindmost.analysis.check import check_group
from hindmost.analysis.runs import find_runs, group_runs

EXAMPLES = """\
examples:
  hindmost check runs/
  hindmost check runs/ --json | jq '.findings[] | select(.severity == "error")'

Exit status 1 if a finding is an error: then no conclusion should be drawn.
"""
JSON_VERSION = 1
A_FINDING = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Looks for what spoils a measurement, and says what to do about it."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Check and print."""
    runs = find_runs(arguments.file)
    findings = [finding for group in group_runs(runs) for finding in check_group(group)]
    if arguments.json:
        found = [finding.to_json() for finding in findings]
        print(json.dumps({"version": JSON_VERSION, "findings": found}, indent=2))
    else:
        for each in findings:
            print(f"{each.severity}: {each.file}: {each.text} ({each.code})\n    {each.advice}")
        if not findings:
            print(f"{len(runs)} run{'s' if len(runs) > 1 else ''}: nothing to find fault with")
    return A_FINDING if any(each.severity == "error" for each in findings) else 0
