"""``hindmost plot``: figures of runs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from hindmost.analysis.adaptive.figures import ADAPTIVE_FIGURES
from hindmost.analysis.history.figures import HISTORY_FIGURES
from hindmost.analysis.report.papers import papers_table
from hindmost.analysis.report.run_figures import RUN_FIGURES
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.figures.compare_runs import COMPARISON_FIGURES
from hindmost.analysis.runs.figures.run_figure import (
    DEFAULT_HEIGHT_INCHES,
    Content,
    Figure,
    FigureChoice,
    FileFigure,
    Position,
)
from hindmost.analysis.runs.finding import OF_SHOW, cautions
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.scaling.window_errors import SCALING_FIGURES
from hindmost.analysis.show.csv_file import write_csv
from hindmost.analysis.show.figure_style import FORMATS, WIDTHS_INCHES, new_figure, save
from hindmost.analysis.show.matplotlib_charts import draw
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.whatif.noise_sweep import LATENCY_TREND, NOISE_SWEEP
from hindmost.errors import NotARunFileError, UsageError
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.harness.runfile.reader import Run
from hindmost.output import warn, write_lines

OF_SEVERAL = (*COMPARISON_FIGURES, *LATENCY_TREND, *NOISE_SWEEP)
OF_ONE_RUN = (*RUN_FIGURES, *ADAPTIVE_FIGURES)
OF_FILES: tuple[FileFigure, ...] = (*HISTORY_FIGURES, *SCALING_FIGURES)
EVERY: tuple[Figure, ...] = (*OF_ONE_RUN, *OF_SEVERAL, *OF_FILES)
NAMES = [figure.name for figure in EVERY]
OF_OTHER_FILES = (
    "Figures of nightly results and of scaling experiments are asked for by name: --figure nights, "
    "--figure scaling."
)
LONGEST_NAME = 80
"""Of a series, as part of the name of a file."""


FIGURES = "\n".join(f"  {each.name:19}{each.summary}{' *' * each.default}" for each in EVERY)
DESCRIPTION = f"""\
Draw figures of each run, figures that compare all runs, and with --figure also figures of nightly
results and of scaling experiments.

figures (*: drawn by default, if the runs allow it; --papers lists the papers' figures):
{FIGURES}
"""
EXAMPLES = """\
examples:
  hindmost plot runs/laplacian-1d-gmres-p2-0.h5
  hindmost plot runs/ --out figures --format pdf --csv
  hindmost plot runs/laplacian-1d-pgmres-p2-0.h5 --figure ranks --rank 0 --rank 1
  hindmost plot runs/laplacian-1d-gmres-p2-0.h5 --figure map --position all --width half
  hindmost plot here/run.h5 there/run.h5 --figure overlay --figure ecdf
  hindmost plot theta/ daint/ --figure overlay-fastest --figure overlay-span
  hindmost plot nightly/ --figure nights --figure p-values --series 'Total Time'
  hindmost plot experiment.txt --figure scaling --series 'main->*'
  hindmost plot runs/adaptive-timing-a-p2-0.h5 --figure predicted --figure grind --machine m.json

Iterations and places of the restart cycle count from 0. Figures of one run are named after its file
(with --out also after its number, if files have the same name), figures of several runs after the
figure.
"""
COMMON = (
    "--figure",
    "--papers",
    "--rank",
    "--iteration",
    "--out",
    "--format",
)
"""What --help lists; --help-all has the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        nargs="*",
        type=Path,
        help="run files, or folders of them; for figures "
        "of nightly results or scaling experiments, files that history or scale reads",
    )
    parser.add_argument(
        "--figure",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help="figure to draw; repeat for more",
    )
    parser.add_argument(
        "--papers",
        action="store_true",
        help="list the figures and tables of the papers, and what shows each, and exit",
    )
    parser.add_argument(
        "--rank", action="append", type=int, metavar="RANK", help="for ranks; repeat for more"
    )
    parser.add_argument(
        "--iteration", type=int, metavar="BODY", help="for iteration (default: the middle one)"
    )
    parser.add_argument(
        "--position",
        type=position,
        default="middle",
        metavar="PLACE",
        help="place in the restart cycle, for map and work: a number, middle or all (%(default)s)",
    )
    parser.add_argument(
        "--machine",
        type=Path,
        metavar="FILE",
        help="for grind: a machine file whose curves are drawn with the measured times",
    )
    parser.add_argument(
        "--series",
        metavar="PATTERN",
        help="for nightly results and scaling experiments: a case, timer or kernel, or a pattern "
        "with * and ?",
    )
    parser.add_argument(
        "--out", type=Path, help="folder for the figures (default: that of each run file)"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="png", help="file format (%(default)s)"
    )
    parser.add_argument(
        "--width",
        choices=tuple(WIDTHS_INCHES),
        default="full",
        help="width of a journal's text block, or of one of its columns (%(default)s)",
    )
    parser.add_argument(
        "--csv", action="store_true", help="also write the plotted numbers of each figure"
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
            f"'{word}' is not a place of the restart cycle; give a number, 'middle' or 'all'"
        ) from None


def perform(arguments: argparse.Namespace) -> int:
    """Draw and save."""
    if arguments.papers:
        print_table(papers_table())
        return 0
    if not arguments.file:
        raise UsageError("Name a run file: hindmost plot FILE... (--help lists the figures)")
    names = arguments.figure or ()
    of_files = [figure for figure in OF_FILES if figure.name in names]
    draw_series(of_files, arguments)
    if of_files and len(set(names)) == len(of_files):
        return 0
    try:
        runs = find_runs(arguments.file, complete=True)
    except NotARunFileError as error:
        raise NotARunFileError(f"{error} {OF_OTHER_FILES}") from error
    choice = FigureChoice(
        ranks=tuple(arguments.rank or ()),
        body=arguments.iteration,
        position=arguments.position,
        machine=read_machine(arguments.machine) if arguments.machine else None,
    )
    together = arguments.out is not None
    drawn = contents(runs, choice, names, arguments.width, together=together)
    for target, height_inches, content in drawn:
        save_figure(target, height_inches, content, arguments)
    for line in cautions(findings_of(group_runs(runs), read_large=False), OF_SHOW):
        warn(line)
    return 0


def draw_series(figures: Sequence[FileFigure], arguments: argparse.Namespace) -> None:
    """Draw the figures of nightly results and of scaling experiments next to the first file."""
    first: Path = arguments.file[0]
    beside = first if first.is_dir() else first.parent
    for figure in figures:
        used: dict[str, int] = {}
        for series, chart in figure.make(arguments.file, arguments.series):
            name = re.sub(r"[^\w.]+", "-", series, flags=re.ASCII).strip("-.")[-LONGEST_NAME:]
            used[name] = used.get(name, 0) + 1
            again = f"-{used[name]}" if used[name] > 1 else ""
            target = beside / f"{name or 'series'}{again}-{figure.name}"
            save_figure(target, DEFAULT_HEIGHT_INCHES[arguments.width], chart, arguments)


def save_figure(
    target: Path, height_inches: float, content: Content, arguments: argparse.Namespace
) -> None:
    """Draw a figure into a file, with its numbers if they are wanted, and name what was written."""
    folder = arguments.out or target.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder} cannot be made: {error.strerror}.") from error
    file = folder / f"{target.name}.{arguments.format}"
    with new_figure(height_inches, arguments.width) as (canvas, axes):
        draw(content, axes)
        write_lines(str(save(canvas, file)))
    if arguments.csv:
        columns = write_csv(file.with_name(f"{target.name}.csv"), content.columns())
        write_lines(str(columns))


def stems_of(paths: Sequence[Path], *, together: bool) -> list[str]:
    """Return what the figures of each file are named after.

    Files of the same name from several folders, whose figures go into one, also get a number.
    """
    stems = [path.stem for path in paths]
    if not together:
        return stems
    return [
        stem if stems.count(stem) == 1 else f"{number}-{stem}" for number, stem in enumerate(stems)
    ]


def contents(
    runs: Sequence[Run],
    choice: FigureChoice,
    names: Sequence[str],
    width: str,
    *,
    together: bool = False,
) -> Iterator[tuple[Path, float, Content]]:
    """Yield the figures to draw: path without suffix, height in inches, content."""
    stems = stems_of([run.path for run in runs], together=together)
    for run, stem in zip(runs, stems, strict=True):
        for figure in OF_ONE_RUN:
            if figure.name in names or (figure.default and not names):
                content = made(partial(figure.make, run, choice), asked=bool(names))
                if content is not None:
                    target = run.path.with_name(f"{stem}-{figure.name}")
                    yield target, figure.height_inches(run.header.ranks, width), content
    for comparison in OF_SEVERAL:
        if comparison.name in names or (comparison.default and not names and len(runs) > 1):
            content = made(partial(comparison.make, runs), asked=bool(names))
            if content is not None:
                target = runs[0].path.with_name(comparison.name)
                yield target, DEFAULT_HEIGHT_INCHES[width], content


def made(make: Callable[[], Content], *, asked: bool) -> Content | None:
    """Make a figure; None if the runs do not allow it and it was not asked for by name."""
    try:
        return make()
    except UsageError:
        if asked:
            raise
        return None
