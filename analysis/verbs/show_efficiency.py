"""``hindmost show --efficiency``: how much of the ranks' time is work, and where the rest goes."""

from __future__ import annotations

import argparse
from dataclasses import replace

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.efficiency.of_run import efficiencies_of
from hindmost.analysis.runs.efficiency.scaling import efficiencies_over_ranks
from hindmost.analysis.runs.efficiency.tables import (
    LEGEND,
    OF_SCALING,
    efficiency_table,
)
from hindmost.analysis.runs.finding import OF_RANKS, cautions, of_file
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.show.phrases import folded
from hindmost.analysis.show.terminal import print_table
from hindmost.output import write_json, write_lines


def show_efficiencies(arguments: argparse.Namespace) -> int:
    """Compute the efficiencies and print them."""
    runs = find_runs(arguments.file)
    kernels = efficiencies_over_ranks(runs)
    found = findings_of(group_runs(runs))
    if arguments.json:
        entries = [
            replace(efficiencies_of(run), findings=tuple(of_file(found, run.path))) for run in runs
        ]
        write_json(runs=entries, scaling=kernels)
        return 0
    for kernel in kernels:
        print_table(efficiency_table(kernel))
        if len(kernel.columns) > 1:
            write_lines(*folded([*kernel.explain(), *kernel.assumed], indent="  "))
        for column in kernel.columns:
            run = column.of.run
            origin = " (simulated)" if run.header.origin == "simulated" else ""
            words = f"{run.path.name}{origin}: {column.of.explain()}"
            write_lines(*folded([words], indent="  "))
        shown = {str(column.of.run.path) for column in kernel.columns}
        doubts = cautions((each for each in found if each.file in shown), OF_RANKS)
        write_lines(*folded(doubts, indent="  "))
        write_lines("")
    write_lines(*folded([f"{LEGEND} {OF_SCALING}"]))
    return 0
