"""``hindmost plot``: the figures of runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.analysis.figures.run_figures import RUN_FIGURES
from hindmost.analysis.figures.style import FORMATS, new_figure, save
from hindmost.analysis.runs import find_runs
from hindmost.errors import UsageError

EXAMPLES = """\
examples:
  hindmost plot runs/laplacian-1d-gmres-p2-0.h5
  hindmost plot runs/ --out figures --format pdf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Draws an (iteration, rank) map and a histogram with laws of every run."
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("--out", type=Path, help="folder for the figures (beside each run file)")
    parser.add_argument(
        "--format", choices=FORMATS, default="png", help="of the figures (%(default)s)"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Draw and save."""
    for run in find_runs(arguments.file, complete=True):
        folder = arguments.out or run.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {folder} cannot be made: {error.strerror}.") from error
        for figure in RUN_FIGURES:
            with new_figure(figure.height_inches(run.header.ranks)) as (canvas, axes):
                figure.draw(axes, run)
                target = folder / f"{run.path.stem}-{figure.name}.{arguments.format}"
                print(save(canvas, target))
    return 0
