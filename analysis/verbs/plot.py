"""``hindmost plot``: the figures of runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from hindmost.analysis.adaptive.baseline import read_machine
from hindmost.analysis.figures.adaptive.figures import ADAPTIVE_FIGURES
from hindmost.analysis.figures.choice import Choice, Position
from hindmost.analysis.figures.columns import write_csv
from hindmost.analysis.figures.run_figures import (
    RUN_FIGURES,
    USUAL_HEIGHT_INCHES,
    Content,
)
from hindmost.analysis.figures.style import FORMATS, WIDTHS_INCHES, new_figure, save
from hindmost.analysis.figures.together import TOGETHER_FIGURES
from hindmost.analysis.runs import find_runs
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run

OF_ONE_RUN = (*RUN_FIGURES, *ADAPTIVE_FIGURES)
NAMES = [figure.name for figure in (*OF_ONE_RUN, *TOGETHER_FIGURES)]
FIGURES = "\n".join(
    f"  {figure.name:19}{figure.summary}{' *' if figure.usual else ''}"
    for figure in (*OF_ONE_RUN, *TOGETHER_FIGURES)
)
DESCRIPTION = f"""\
Draws figures of every run, and of all files together.

figures (*: drawn unless --figure chooses, where the runs allow it):
{FIGURES}
"""
EXAMPLES = """\
examples:
  hindmost plot runs/laplacian-1d-gmres-p2-0.h5
  hindmost plot runs/ --out figures --format pdf --csv
  hindmost plot runs/laplacian-1d-pgmres-p2-0.h5 --figure ranks --rank 0 --rank 1
  hindmost plot runs/laplacian-1d-gmres-p2-0.h5 --figure map --position all --width half
  hindmost plot here/run.h5 there/run.h5 --figure overlay --figure ecdf
  hindmost plot runs/adaptive-timing-a-p2-0.h5 --figure predicted --figure grind --machine m.json

Bodies and places of the restart cycle are counted from 0. Figures of one run are named after its
file, those of several after the figure.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="*", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--figure", action="append", choices=NAMES, metavar="NAME", help="may be given repeatedly"
    )
    parser.add_argument("--list", action="store_true", help="name the figures and draw nothing")
    parser.add_argument(
        "--rank", action="append", type=int, metavar="RANK", help="for ranks; repeatedly"
    )
    parser.add_argument(
        "--iteration", type=int, metavar="BODY", help="for iteration (the middle one)"
    )
    parser.add_argument(
        "--position",
        type=position,
        default="middle",
        metavar="PLACE",
        help="of the restart cycle, for map and work: a number, middle or all (%(default)s)",
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="for grind: a machine file, whose curves are drawn beside what the run took",
    )
    parser.add_argument("--out", type=Path, help="folder for the figures (beside each run file)")
    parser.add_argument(
        "--format", choices=FORMATS, default="png", help="of the figures (%(default)s)"
    )
    parser.add_argument(
        "--width",
        choices=tuple(WIDTHS_INCHES),
        default="full",
        help="of the text block of a journal, or one of its columns (%(default)s)",
    )
    parser.add_argument(
        "--csv", action="store_true", help="write the plotted numbers beside each figure"
    )


def position(word: str) -> Position:
    """Read a place of the restart cycle."""
    if word == "middle":
        return "middle"
    if word == "all":
        return "all"
    try:
        return int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{word}' is no place of the restart cycle; it is a number, 'middle' or 'all'"
        ) from None


def perform(arguments: argparse.Namespace) -> int:
    """Draw and save."""
    if arguments.list:
        print(FIGURES)
        return 0
    if not arguments.file:
        raise UsageError("No run file is named: hindmost plot FILE... (or --list for the figures)")
    runs = find_runs(arguments.file, complete=True)
    choice = Choice(
        ranks=tuple(arguments.rank or ()),
        body=arguments.iteration,
        position=arguments.position,
        machine=read_machine(arguments.machine) if arguments.machine else None,
    )
    drawn = contents(runs, choice, arguments.figure or (), arguments.width)
    for target, height_inches, content in drawn:
        folder = arguments.out or target.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {folder} cannot be made: {error.strerror}.") from error
        file = folder / f"{target.name}.{arguments.format}"
        with new_figure(height_inches, arguments.width) as (canvas, axes):
            content.draw(axes)
            print(save(canvas, file))
        if arguments.csv:
            print(write_csv(file.with_name(f"{target.name}.csv"), content.columns()))
    return 0


def contents(
    runs: Sequence[Run], choice: Choice, names: Sequence[str], width: str
) -> Iterator[tuple[Path, float, Content]]:
    """Yield what is to be drawn: its place without suffix, its height in inches, its numbers."""
    for run in runs:
        for figure in OF_ONE_RUN:
            if figure.name in names or (figure.usual and not names):
                content = made(partial(figure.make, run, choice), asked=bool(names))
                if content is not None:
                    target = run.path.with_name(f"{run.path.stem}-{figure.name}")
                    yield target, figure.height_inches(run.header.ranks, width), content
    for together in TOGETHER_FIGURES:
        if together.name in names or (together.usual and not names and len(runs) > 1):
            content = made(partial(together.make, runs), asked=bool(names))
            if content is not None:
                target = runs[0].path.with_name(together.name)
                yield target, USUAL_HEIGHT_INCHES[width], content


def made(make: Callable[[], Content], *, asked: bool) -> Content | None:
    """Make a figure; None for one that nobody asked for and that the runs do not allow."""
    try:
        return make()
    except UsageError:
        if asked:
            raise
        return None
