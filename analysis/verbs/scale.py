"""``hindmost scale``: how kernels grow, and which of them become bottlenecks at a larger scale."""

from __future__ import annotations

import argparse
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.analysis.readers.format import OVER_RANKS
from hindmost.analysis.readers.formats.run_experiment import DEFAULT_PARAMETER
from hindmost.analysis.readers.read import EXPERIMENT_FORMATS, read_experiment
from hindmost.analysis.runs.finding import (
    OF_COMPARISON,
    Finding,
    cautions,
    run_files_in,
)
from hindmost.analysis.show.phrases import folded
from hindmost.analysis.show.table import MAX_LISTED
from hindmost.errors import DataError, UsageError
from hindmost.output import warn, warn_lines, write_json, write_lines, write_text
from hindmost.printable import shell_word
from hindmost.text import counted

if TYPE_CHECKING:
    from hindmost.analysis.scaling.study import ScalingStudy

DESCRIPTION = """\
Model how kernels grow with ranks, unknowns or any other parameter, and rank them by their growth at
a target scale. If the behaviour of a kernel changes, each side gets its own model.
Reads run files, CSV tables, CUBE, Caliper, and Extra-P's text, JSON, JSON lines and saved
experiments (*.extra-p).
"""
EXAMPLES = """\
examples:
  hindmost scale experiment.txt
  hindmost scale experiment.txt --at 16384 --top 5
  hindmost scale experiment.jsonl --parameter p --metric time --kernel 'main->*'
  hindmost scale experiment.txt --at p=16384,n=1000
  hindmost scale experiment.txt --expect 'log2(p)' --expect 'main->solve: p*log2(p)'
  hindmost scale experiment.txt --json | jq '.models[0].segments'
  hindmost scale experiment.txt --figure figures/
  hindmost scale runs/ --metric median-iteration --metric wait --parameter ranks
  hindmost scale runs/ --parameter bytes

Parameters of run files: ranks, unknowns, unknowns-per-rank, iterations, bytes, cells,
cells-per-rank, nodes, threads, and any other number of their configuration.

An expectation consists of parameters, numbers, + - * / ^, parentheses, log2, log and sqrt. A kernel
grows worse than expected if its leading exponents exceed the expectation and if, even at the low
end of its interval, it grows by more from the largest measured point to the target. The exit status
is then 1.
"""
COMMON = (
    "--format",
    "--metric",
    "--parameter",
    "--kernel",
    "--at",
    "--expect",
    "--figure",
    "--json",
)
"""What --help lists; --help-all has the others."""
TOP_FIGURES = 4
METHODS = ("likelihood", "paper")
SPACES = ("paper", "extrap", "fine")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    formats = ", ".join(each.name for each in EXPERIMENT_FORMATS.built_in)
    parser.add_argument(
        "file", nargs="+", type=Path, help="files of one format, or folders of them"
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help=f"format of the files (default: recognised by content): {formats}",
    )
    parser.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="model this metric; repeatable (default: all)",
    )
    parser.add_argument(
        "--kernel", metavar="PATTERN", help="model these kernels: a name, or a pattern with * and ?"
    )
    parser.add_argument(
        "--parameter",
        action="append",
        metavar="NAME",
        help="model over this parameter; repeatable (default: all; of run files, ranks)",
    )
    parser.add_argument(
        "--over-ranks",
        choices=tuple(OVER_RANKS),
        default="mean",
        help="how to combine ranks in files of CUBE, Caliper and PETSc (default: %(default)s)",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="likelihood",
        help="how to find changes: by likelihood, or by the windows of five points of Ilyas et al. "
        "(2017) with models of one term (default: %(default)s)",
    )
    parser.add_argument(
        "--space",
        choices=SPACES,
        help="exponents of models (default: paper; extrap with --method paper)",
    )
    parser.add_argument(
        "--at",
        metavar="SCALE",
        help="target: 16384, or p=16384,n=1000 (default: 4 times the largest)",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=1.0,
        metavar="COST",
        help="most that the point to measure next may cost, over all points so far (default: 1)",
    )
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="[PATTERN:]FORMULA",
        help="expected growth of all kernels or of some; repeatable",
    )
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help=f"kernels of each metric (default: {MAX_LISTED} in the table, "
        f"{TOP_FIGURES} in figures, else all)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per kernel")
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE|FOLDER",
        help="draw the first kernels as png, pdf or svg, each with a CSV file; or into a folder",
    )


def perform(arguments: argparse.Namespace) -> int:
    """Model, print and draw."""
    from hindmost.analysis.scaling.batches import ScalingOptions
    from hindmost.analysis.scaling.expected_growth import find_worse, read_expectation
    from hindmost.analysis.scaling.study import study_scaling

    if arguments.top is not None and arguments.top < 1:
        raise UsageError(f"--top {arguments.top}: give a number of kernels, 1 or more.")
    if not 0.0 < arguments.budget < inf:
        raise UsageError(f"--budget {arguments.budget:g}: give a number above 0, like 0.5.")
    experiment = read_experiment(
        arguments.file,
        format=arguments.format,
        metric=arguments.metric,
        kernel=arguments.kernel,
        parameters=arguments.parameter,
        over_ranks=arguments.over_ranks,
    )
    options = ScalingOptions(method=arguments.method, space=arguments.space)
    try:
        study = study_scaling(
            experiment,
            options,
            at=arguments.at,
            budget=arguments.budget,
            executor=arguments.executor,
        )
    except DataError as error:
        if experiment.parameters != (DEFAULT_PARAMETER,) or not run_files_in(arguments.file):
            raise
        files = " ".join(map(shell_word, arguments.file))
        raise DataError(f"{error} For speed-up and efficiency: hindmost report {files}") from None
    expectations = [read_expectation(text, study) for text in arguments.expect]
    for warning in study.warnings:
        warn(warning)
    doubts: list[Finding] = []
    if run_files_in(arguments.file):  # other formats do not wait for HDF5
        from hindmost.analysis.runs.check import findings_in

        doubts = findings_in(arguments.file)
    worse = [each for metric in study.metrics for each in find_worse(metric, expectations)]
    findings = [each for each in worse if not isnan(each.low_growth)]
    if undecided := [each for each in worse if isnan(each.low_growth)]:
        warn(
            f"{counted(len(undecided), 'kernel')} may grow worse than expected, but without an "
            "interval that is not decided. --json says in 'doubts' what to measure."
        )
    if arguments.figure:
        draw(study, arguments.figure, arguments.top or TOP_FIGURES)
    if arguments.json:
        from hindmost.analysis.scaling.study_json import study_json

        document = study_json(study, findings, top=arguments.top)
        write_json(**document, run_findings=doubts)
    else:
        print_tables(study, arguments.top or MAX_LISTED)
    if not arguments.json:
        shown = arguments.top or MAX_LISTED
        for finding in findings[:shown]:
            write_lines(*folded([finding.explain()]))
        if len(findings) > shown:
            write_lines(
                f"{counted(len(findings) - shown, 'more kernel')} worse than expected; --json "
                "lists all."
            )
        if expectations and not worse:
            write_lines("No kernel grows worse than expected.")
        write_lines(*folded(cautions(doubts, OF_COMPARISON)))
    return 1 if findings else 0


def print_tables(study: ScalingStudy, top: int) -> None:
    """Print a table for every metric, and what a reader must know."""
    from hindmost.analysis.scaling.tables import (
        LEGEND,
        SHARES,
        kernel_lines,
        noise_lines,
        scaling_table,
    )
    from hindmost.analysis.show.terminal import print_table

    for metric in study.metrics:
        standings = metric.at_target(metric.order[:top])
        at = metric.target.explain()
        title = f"{metric.metric} at {at}: {counted(len(metric), 'kernel')}"
        print_table(scaling_table(metric, standings).under(title))
        write_lines(*folded(kernel_lines(metric, standings)))
        noises = [batch.noise for batch in metric.batches]
        likelihood = study.options.method == "likelihood" and len(study.target.parameters) == 1
        write_lines(*folded(noise_lines(noises, segments=likelihood)))
        known = (batch.held_out for batch in metric.batches if batch.held_out is not None)
        write_lines(*folded(each.explain() for each in known))
        write_lines(*folded([SHARES[metric.inclusive]]))
        if next_point := metric.where_next():
            write_lines(*folded([next_point]))
        write_lines("")
    if len(study.target.parameters) > 1:
        names = study.target.parameters
        about = (
            f"The models use {len(names)} parameters: {', '.join(names)}. One change of behaviour "
            "is searched for, at a value of one of them, if at least 10 points lie on each side. "
            f"To search for several, choose one: --parameter {shell_word(names[0])}."
        )
        write_lines(*folded([about]))
    write_text(LEGEND)


def draw(study: ScalingStudy, out: Path, top: int) -> None:
    """Draw the first kernels of all metrics, and list the files on stderr."""
    from hindmost.analysis.scaling.figures import draw_kernels

    kernels = [each for one in study.metrics for each in one.at_target(one.order[:top])]
    for file in draw_kernels(kernels, study.target, out):
        warn_lines(str(file))
