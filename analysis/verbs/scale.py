"""``hindmost scale``: how kernels grow, and which of them will hurt at a larger scale."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.analysis.readers.find import FORMATS, read_experiment
from hindmost.analysis.readers.request import OVER_RANKS
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.analysis.scaling.study import Study

DESCRIPTION = """\
Models how every kernel grows with ranks, unknowns or any other parameter, and ranks the kernels by
their growth at a target scale. Finds changes of behaviour, and models each side by itself.
Reads run files, Extra-P's text, JSON and JSON lines, tables (CSV), CUBE and Caliper.
"""
EXAMPLES = """\
examples:
  hindmost scale experiment.txt
  hindmost scale experiment.txt --at 16384 --top 5
  hindmost scale experiment.jsonl --parameter p --metric time --kernel 'main->*'
  hindmost scale experiment.txt --at p=16384,n=1000
  hindmost scale experiment.txt --expect 'log2(p)' --expect 'main->solve: p*log2(p)'
  hindmost scale experiment.txt --json | jq '.models[0].segments'
  hindmost scale experiment.txt --python > models.py
  hindmost scale experiment.txt --figure figures/
  hindmost scale runs/ --metric median-iteration --metric wait --parameter ranks

An expectation is made of parameters, numbers, + - * / ^, parentheses, log2, log and sqrt. A kernel
whose leading exponents exceed it, and that grows by more from the largest measured point to the
target even at the low end of its interval, is a finding: exit status 1.
"""
TEXT_WIDTH = 100
TOP = 20
TOP_FIGURES = 4
METHODS = ("likelihood", "paper")
SPACES = ("paper", "extrap", "fine")
NOISES = ("additive", "root", "multiplicative")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="files of one format, or folders")
    parser.add_argument("--format", choices=tuple(FORMATS), help="of the files (by their content)")
    parser.add_argument("--metric", action="append", metavar="NAME", help="repeatedly (all)")
    parser.add_argument("--kernel", metavar="PATTERN", help="a name, or with * and ? (all)")
    parser.add_argument("--parameter", action="append", metavar="NAME", help="repeatedly (all)")
    parser.add_argument(
        "--over-ranks",
        choices=tuple(OVER_RANKS),
        default="mean",
        help="how ranks become one, of CUBE and Caliper (%(default)s)",
    )
    parser.add_argument(
        "--inclusive", action="store_true", help="count what a call path calls (CUBE)"
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="likelihood",
        help="how changes are found: by likelihood, or by windows of five points (%(default)s)",
    )
    parser.add_argument(
        "--space", choices=SPACES, default="paper", help="exponents of models (%(default)s)"
    )
    parser.add_argument("--noise", choices=NOISES, help="its kind (found out where possible)")
    parser.add_argument(
        "--terms", type=int, choices=(1, 2), default=2, help="most of a model (%(default)s)"
    )
    parser.add_argument(
        "--at", metavar="SCALE", help="target: 16384, or p=16384,n=1000 (4 times the largest)"
    )
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="[PATTERN:]FORMULA",
        help="growth that is expected, of all kernels or of some; repeatedly",
    )
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help=f"kernels of each metric ({TOP} in the table, {TOP_FIGURES} in figures, else all)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, one entry a kernel")
    form.add_argument("--latex", action="store_true", help="print a table for LaTeX")
    form.add_argument("--python", action="store_true", help="print a Python module")
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE|FOLDER",
        help="draw the first kernels, each beside a CSV file: png, pdf or svg, or a folder",
    )


def perform(arguments: argparse.Namespace) -> int:
    """Model, print and draw."""
    from hindmost.analysis.scaling.expectation import find_worse, read_expectation
    from hindmost.analysis.scaling.options import ScalingOptions
    from hindmost.analysis.scaling.study import study_scaling

    if arguments.top is not None and arguments.top < 1:
        raise UsageError(f"--top {arguments.top}; it is a number of kernels, 1 or more.")
    experiment = read_experiment(
        arguments.file,
        format=arguments.format,
        metric=arguments.metric,
        kernel=arguments.kernel,
        parameters=arguments.parameter,
        over_ranks=arguments.over_ranks,
        inclusive=arguments.inclusive,
    )
    options = ScalingOptions(
        method=arguments.method,
        space=arguments.space,
        noise=arguments.noise,
        terms=arguments.terms,
    )
    study = study_scaling(experiment, options, at=arguments.at)
    expectations = [read_expectation(text, study) for text in arguments.expect]
    for warning in study.warnings:
        sys.stderr.write(f"hindmost: {warning}\n")
    findings = [each for metric in study.metrics for each in find_worse(metric, expectations)]
    if arguments.figure:
        draw(study, arguments.figure, arguments.top or TOP_FIGURES)
    if arguments.json:
        from hindmost.analysis.scaling.json_form import json_text, study_json

        print(json_text(study_json(study, findings, top=arguments.top)))
    elif arguments.latex:
        from hindmost.analysis.scaling.latex_form import latex_table

        print(latex_table(study, top=arguments.top))
    elif arguments.python:
        from hindmost.analysis.scaling.python_form import python_module

        print(python_module(study, top=arguments.top), end="")
    else:
        print_tables(study, arguments.top or TOP)
    if not arguments.json:
        out = sys.stderr if arguments.latex or arguments.python else sys.stdout
        shown = arguments.top or TOP
        for finding in findings[:shown]:
            out.write(folded(finding.explain(study.target)) + "\n")
        if len(findings) > shown:
            out.write(f"{len(findings) - shown} more kernels grow worse than expected: --json.\n")
        if expectations and not findings:
            out.write("No kernel grows worse than expected.\n")
    return 1 if findings else 0


def print_tables(study: Study, top: int) -> None:
    """Print a table a metric, and what must be known to read it."""
    from hindmost.analysis.tables.scaling import LEGEND, noise_words, scaling_table, words
    from hindmost.analysis.tables.terminal import table_width

    for metric in study.metrics:
        standings = metric.standings(metric.order[:top])
        print("\n".join(scaling_table(metric, standings, width=table_width())))
        if len(metric) > top:
            print(f"{len(metric) - top} more kernels: --top {len(metric)} shows all.")
        for line in words(metric, standings):
            print(folded(line))
        noises = [batch.noise for batch in metric.batches]
        likelihood = study.options.method == "likelihood" and len(study.target.parameters) == 1
        for line in noise_words(noises, segments=likelihood):
            print(folded(line))
        print()
    if len(study.target.parameters) > 1:
        print("Changes of behaviour are looked for over one parameter only: --parameter.")
    print(LEGEND)


def draw(study: Study, out: Path, top: int) -> None:
    """Draw the first kernels of all metrics; what was written is said on stderr."""
    from hindmost.analysis.figures.scaling_files import draw_kernels

    kernels = [each for metric in study.metrics for each in metric.kernels(metric.order[:top])]
    for file in draw_kernels(kernels, study.target, out):
        sys.stderr.write(f"{file}\n")


def folded(text: str) -> str:
    """Break a line of words."""
    return textwrap.fill(text, TEXT_WIDTH, subsequent_indent="    ", break_long_words=False)
