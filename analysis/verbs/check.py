"""``hindmost check``: what puts conclusions from run files in doubt."""

from __future__ import annotations

import argparse
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from hindmost.analysis.runs.check import check_group
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.finding import NUMBERS, Finding
from hindmost.analysis.runs.read import open_runs
from hindmost.analysis.show.phrases import folded
from hindmost.output import write_json, write_lines
from hindmost.statuses import A_FINDING
from hindmost.text import capital, counted

EXAMPLES = """\
examples:
  hindmost check runs/
  hindmost check runs/ --json | jq '.findings[] | select(.severity == "error")'

Exit status 1 if a finding is an error: then draw no conclusion.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Check measurements for problems and advise what to do about them."
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Check and print."""
    runs, refused = open_runs(arguments.file)
    findings = [unreadable(path, reason) for path, reason in refused.items()]
    findings += [finding for group in group_runs(runs) for finding in check_group(group)]
    if arguments.json:
        write_json(findings=findings)
    else:
        of = attrgetter("file")
        for file, found in groupby(sorted(findings, key=of), key=of):
            write_lines(file)
            for each in found:
                said = f"{each.severity}: {each.text} ({each.code})"
                doubts = ", ".join(map(str, each.doubts))
                advice = f"{capital(each.advice)}. In doubt: {doubts}."
                write_lines(*folded([said], indent="  "), *folded([advice], indent="    "))
        if not findings:
            write_lines(f"{counted(len(runs), 'run')}: no findings")
    return A_FINDING if any(finding.severity == "error" for finding in findings) else 0


def unreadable(path: Path, reason: str) -> Finding:
    """Return the finding for a file that is left out everywhere else."""
    return Finding(
        file=str(path),
        code="unreadable",
        severity="error",
        text=reason,
        advice="other commands skip this file in its folder: move it away, or record it again",
        doubts=NUMBERS,
    )
