"""``hindmost show``: run files, summarised on a few lines each."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.runs.attached import attached_programs
from hindmost.analysis.runs.check import findings_of, for_every_repeat
from hindmost.analysis.runs.finding import OF_SHOW, cautions, findings_json, folded, of_file
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.summary import summarise_run
from hindmost.analysis.runs.trace_file import read_window, write_trace
from hindmost.errors import UsageError
from hindmost.harness.runfile.damaged import lines_of_damaged
from hindmost.harness.runfile.hdf5 import kept_open
from hindmost.output import write_json, write_lines

EXAMPLES = """\
examples:
  hindmost show runs/laplacian-1d-gmres-p2-0.h5
  hindmost show runs/ --json
  hindmost show cut-off.h5 --damaged
  hindmost show runs/laplacian-1d-gmres-p2-0.h5 --trace trace.json --window 0..29
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Summarise run files: solve time, phases, efficiency, noise and machine."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--damaged",
        action="store_true",
        help="read as much as possible of files whose checksum is wrong; nothing is verified",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write a trace of one run for ui.perfetto.dev or chrome://tracing (JSON)",
    )
    parser.add_argument(
        "--window", metavar="A..B", help="iterations of the trace (default: all of them)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per run")


@kept_open()
def perform(arguments: argparse.Namespace) -> int:
    """Summarise and print."""
    if arguments.damaged:
        if arguments.json:
            raise UsageError(
                "--json and --damaged exclude each other: a damaged file has no verified data."
            )
        for path in arguments.file:
            write_lines(*lines_of_damaged(path))
        return 0
    runs = find_runs(arguments.file)
    if arguments.trace is not None:
        if len(runs) != 1:
            raise UsageError(f"--trace shows one run, and these are {len(runs)}: name one file.")
        write_trace(runs[0], read_window(arguments.window, runs[0].bodies), arguments.trace)
        return 0
    if arguments.window is not None:
        raise UsageError("--window says which iterations --trace shows; give --trace too.")
    groups = group_runs(runs)
    found = for_every_repeat(findings_of(groups, read_large=False), groups)
    shown = [(summarise_run(run), of_file(found, run.path)) for run in runs]
    programs = attached_programs(runs, found)
    if arguments.json:
        entries = [
            {**summary.to_json(), "findings": findings_json(findings)}
            for summary, findings in shown
        ]
        known = {"programs": [each.to_json() for each in programs]} if programs else {}
        write_json({"version": JSON_VERSION, **known, "runs": entries})
        return 0
    for program in programs:
        write_lines(*folded(program.lines()), "")
    for number, (summary, findings) in enumerate(shown):
        lines = [*summary.lines(), *folded(cautions(findings, OF_SHOW), indent="  ")]
        write_lines(*([""] if number else []), *lines)
    return 0
