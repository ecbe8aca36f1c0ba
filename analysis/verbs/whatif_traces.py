"""``hindmost whatif`` of traces of other tools."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hindmost.analysis.readers.format import TraceFormat
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import wrapped
from hindmost.analysis.whatif.traces import (
    EAGER_BYTES,
    Replaying,
    refuse_others,
    replay_trace,
    trace_lines,
    trace_table,
)
from hindmost.errors import UsageError
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.output import write_json, write_lines


def add_traces(parser: argparse.ArgumentParser) -> None:
    """Declare how traces of other tools are replayed."""
    parser.add_argument(
        "--flops-per-second",
        type=float,
        metavar="RATE",
        help="of a rank, for traces that count work in flops (SMPI's 'smpi/host-speed')",
    )
    parser.add_argument(
        "--eager",
        type=int,
        metavar="BYTES",
        help="in traces, the largest message that leaves before its receiver has come (default: "
        f"{EAGER_BYTES})",
    )


def refuse_trace_options(arguments: argparse.Namespace) -> None:
    """Raise a UsageError for options of traces that are given with run files."""
    for option in ("flops_per_second", "eager"):
        if getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is for traces of other tools; run files have times.")


def perform_traces(
    traces: Sequence[tuple[Path, TraceFormat]],
    changes: Sequence[Named],
    arguments: argparse.Namespace,
    json_version: int,
) -> int:
    """Print traces of other tools, replayed on a machine."""
    for option in ("ranks", "ranks_per_node", "scaling", "grid", "balance", "against", "out"):
        if getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} needs a recorded run; {traces[0][0]} is a trace.")
    refuse_others(changes)
    machine = None if arguments.machine is None else read_machine(arguments.machine)
    how = Replaying.on(machine, arguments.flops_per_second, arguments.eager)
    answer = []
    for number, (path, format) in enumerate(traces):
        found = replay_trace(path, format, changes, how, arguments.executor)
        if arguments.json:
            answer += [each.to_json() for each in found]
            continue
        write_lines(*([""] if number else []), *trace_lines(found))
        if len(found) > 1:
            print_table(trace_table(found))
        for line in found[-1].assumptions():
            write_lines(*wrapped(f"Assumed: {line}"))
    if arguments.json:
        write_json({"version": json_version, "runs": answer})
    return 0
