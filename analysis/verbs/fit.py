"""``hindmost fit``: noise models, compared with the solve time."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from hindmost.analysis.fits.detours import (
    against_probe,
    detours_of,
    detours_table,
)
from hindmost.analysis.fits.study import (
    LEGEND,
    FitOptions,
    assumption_lines,
    contradictions,
    fit_groups,
    models_table,
    refusals,
)
from hindmost.analysis.runs.configuration import Group, group_runs
from hindmost.analysis.runs.finding import OF_MODELS, cautions, of_file
from hindmost.analysis.runs.read import find_runs, fittable_runs
from hindmost.analysis.show.phrases import folded
from hindmost.analysis.show.terminal import print_table
from hindmost.errors import UsageError
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.output import write_json, write_lines, write_text

DESCRIPTION = """\
Fit noise models to run files and compare them with the solve times; repeats share a table.

  max-plus               local work of each rank, and who waits for whom, halos included
  max-plus-no-halo       the same without halos
  stationary-johnsonsu   all iterations drawn from one law; the slowest rank of each counts
  stationary-nct         the same with a non-central t law
  stationary-best        the same with the best of scipy's families (with --families)
  nonstationary-uniform  a separate uniform law for each iteration
  redrawn-uniform        the same with laws drawn from laws, in closed form
  mean-work              number of iterations times their mean: an identity
  cramer, bertsimas      bounds on the expected maximum, from mean and standard deviation

With --detours, estimate instead which detours disturb the ranks: how long, how often, on which
ranks, and whether by a clock. The estimate uses the times of iterations without waiting, and
nothing that is stored of injected noise; that is shown for comparison.
"""
EXAMPLES = """\
examples:
  hindmost fit runs/
  hindmost fit runs/laplacian-1d-gmres-p2-*.h5
  hindmost fit runs/ --families
  hindmost fit runs/ --detours --machine machine.json
  hindmost fit runs/ --json | jq '.runs[].models[0].error_percent'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--families",
        action="store_true",
        help="also search scipy's distribution families for the best law (about 4 s per run)",
    )
    parser.add_argument(
        "--detours", action="store_true", help="estimate the detours of ranks from times alone"
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="compare detours with the noise that 'hindmost probe noise' found on this machine",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per run")


def perform(arguments: argparse.Namespace) -> int:
    """Fit and print."""
    if arguments.detours:
        return print_detours(arguments)
    if arguments.machine is not None:
        raise UsageError("--machine compares detours; add --detours.")
    runs = fittable_runs(find_runs(arguments.file, complete=True))
    fitted = fit_groups(group_runs(runs), FitOptions(families=arguments.families))
    if arguments.json:
        entries = [
            replace(run, findings=tuple(of_file(group.findings, run.run.path)))
            for group in fitted
            for run in group.runs
        ]
        write_json(runs=entries)
        return 0
    for group in fitted:
        print_table(models_table(group).under(group.group.title))
        for line in (*contradictions(group), *refusals(group), *assumption_lines(group)):
            write_lines(*folded([line]))
        write_lines(*folded(cautions(group.findings, OF_MODELS)))
        write_lines("")
    write_text(LEGEND)
    return 0


def print_detours(arguments: argparse.Namespace) -> int:
    """Estimate the detours of runs and print them."""
    found = [detours_of(run) for run in fittable_runs(find_runs(arguments.file))]
    probed = None
    if arguments.machine is not None:
        probed = read_machine(arguments.machine).noise
        if probed is None:
            raise UsageError(
                f"--machine {arguments.machine}: noise was not probed; 'hindmost probe noise "
                f"--out {arguments.machine.name}' does."
            )
    if arguments.json:
        known = {} if probed is None else {"probe": probed}
        write_json(**known, runs=found)
        return 0
    for number, each in enumerate(found):
        write_lines(*([""] if number else []))
        print_table(detours_table(each).under(str(each.run.path), Group((each.run,)).title))
        if probed is not None:
            write_lines(*folded([against_probe(each, probed)]))
        write_lines(*folded(cautions(each.findings, OF_MODELS)))
    return 0
