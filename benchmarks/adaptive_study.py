"""The paper's tables 3 and 4 and figures 1 to 5 for this machine, and what else predictions reach.

Run by ``make study-adaptive`` (wants an idle machine). It probes the machine, runs three decks on 1
and 2 ranks in four replays, two kinds of interference and a run with checkpoints, writes a page and
figures, and prints the tables beside what is to be reached. Machine file and run files that are
there already are kept, so that a study that was stopped goes on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.adaptive_goals import floor_table, goal_table
from benchmarks.adaptive_paper import DECKS, paper_table

from hindmost.analysis.adaptive.figures import ADAPTIVE_FIGURES
from hindmost.analysis.adaptive.study import (
    checkpoint_table,
    group_replays,
    onset_table,
    raw_table,
    study_runs,
)
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.runs.cycles import AdaptiveRun, read_adaptive
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.show.csv_file import write_csv, write_rows
from hindmost.analysis.show.figure_style import new_figure, save
from hindmost.analysis.show.html_renderer import write_page
from hindmost.analysis.show.matplotlib_charts import draw
from hindmost.analysis.show.table import Table
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.verbs.plot import made
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.models.adaptive.machine import Machine

BIN = Path(sys.prefix) / "bin"
MTBF = "10m"
"""That of the paper's figure 4."""
WITHIN_S = 3600
FIGURES = ("grind", "predicted", "checkpoints", "interference")
"""Figures 1, 2 and 3, 4, and 5 of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is run.

    Attributes
    ----------
    cycles, repeats : int
    words : tuple of str
        Further options of every run.
    probe : tuple of str
        Further options of the probe.
    """

    cycles: int
    repeats: int
    words: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()


CELLS = "6000,9000,13000,20000,50000,80000,110000,150000,220000"
"""Cells per rank of the probe: close together where the decks have theirs."""
FULL = Size(cycles=200, repeats=4, probe=("--cells", CELLS))
QUICK = Size(cycles=40, repeats=2, words=("--base", "16x16", "--steps", "40"), probe=("--quick",))
"""To see that all of it works; its figures say nothing. The steps suit the heat of every deck."""


def start(ranks: int, *words: str | Path) -> None:
    """Run hindmost on ranks; what it says goes to stderr."""
    command = (BIN / "mpiexec", "-n", str(ranks), sys.executable, "-m", "hindmost", *words)
    subprocess.run(
        [str(word) for word in command], check=True, stdout=subprocess.DEVNULL, timeout=WITHIN_S
    )


def planned(size: Size, folder: Path) -> list[tuple[str, int, tuple[str | Path, ...]]]:
    """Return every experiment: its folder's name, its ranks, its options."""
    first = size.cycles // 4
    # Twice on, twice off, as in the paper's figure 5 (b); 50 is where the neighbour comes in (a).
    quarter = max(1, size.cycles // 8)
    on = f"{first}-{first + quarter - 1},{first + 2 * quarter}-{first + 3 * quarter - 1}"
    found: list[tuple[str, int, tuple[str | Path, ...]]] = [
        (f"{deck}-p{ranks}", ranks, ("--deck", deck, "--repeats", str(size.repeats)))
        for deck in DECKS
        for ranks in (1, 2)
    ]
    found += [
        (f"{name}-p{ranks}", ranks, ("--deck", DECKS[0], "--interfere", spans))
        for name, spans in (("constant", f"{first}-"), ("intermittent", on))
        for ranks in (1, 2)
    ]
    checkpoint = ("--mtbf", MTBF, "--checkpoint", folder / "checkpoint.h5")
    found.append(("checkpoints-p2", 2, ("--deck", DECKS[0], *checkpoint)))
    return found


def record(size: Size, folder: Path) -> Path:
    """Probe the machine and do all runs that are not there yet; return the machine file."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = folder / "machine.json"
    if not machine.exists():
        say("probing the machine ...")
        start(2, "probe", "all", "--out", machine, *size.probe)
    for name, ranks, words in planned(size, folder):
        place = folder / name
        if any(place.glob("*.h5")):
            say(f"{name}: kept")
            continue
        say(f"{name} ...")
        run = ("run", "adaptive", "--cycles", str(size.cycles), "--machine", machine)
        start(ranks, *run, "--out", place, *words, *size.words)
    return machine


def conclude(folder: Path, machine_file: Path, size: Size) -> None:
    """Write the page, the figures and the main tables, and print all tables."""
    machine = read_machine(machine_file)
    places = [folder / name for name, _, _ in planned(size, folder)]
    files = find_runs(places)
    runs = [read_adaptive(run) for run in files]
    study = study_runs(runs)
    raw = raw_table(study.errors)
    show("Raw prediction errors, in percent", raw)
    paper = paper_table(study.judged)
    show("Tables 3 and 4 of the paper, and this machine", paper)
    for each in study.judged:
        title = f"a failure every {each.checkpoints.mtbf_s:g} s: {each.title}"
        show(f"Checkpoints, {title}", checkpoint_table(each.checkpoints))
    if study.onsets:
        show("Neighbours", onset_table(study.onsets))
    floor = floor_table(study)
    show("Predictions beside the floor", floor)
    goals = goal_table(study)
    show("Goals", goals)
    kept = {"raw": raw, "paper": paper, "floor": floor, "goals": goals}
    for name, table in kept.items():
        heads = [column.head for column in table.columns]
        write_rows(folder / f"{name}.csv", heads, table.rows)
    page = write_page(folder / "report.html", report_page(Contents(adaptive=runs, machine=machine)))
    pictures = draw_all(runs, machine, folder / "figures")
    say(f"{page}; {pictures} figures in {folder / 'figures'}")


def draw_all(runs: Sequence[AdaptiveRun], machine: Machine, folder: Path) -> int:
    """Draw figures 1 to 5 of the middle run of every group, with their numbers; say how many."""
    folder.mkdir(exist_ok=True)
    choice = FigureChoice(machine=machine)
    count = 0
    for group in group_replays(runs):
        run = group.middle.run
        for figure in ADAPTIVE_FIGURES:
            content = made(partial(figure.make, run, choice), asked=False)
            if figure.name not in FIGURES or content is None:
                continue
            name = f"{run.path.parent.name}-{figure.name}"
            with new_figure(figure.height_inches(run.header.ranks)) as (canvas, axes):
                draw(content, axes)
                save(canvas, folder / f"{name}.pdf")
            write_csv(folder / f"{name}.csv", content.columns())
            count += 1
    return count


def show(title: str, table: Table) -> None:
    """Print a table of the page."""
    print_table(table.under(title))
    sys.stdout.write("\n")


def say(text: str) -> None:
    """Say what is going on."""
    sys.stderr.write(f"{text}\n")


def main(words: Sequence[str] | None = None) -> int:
    """Record what is missing, and conclude."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("study-adaptive"), help="(%(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny: to see that all of it works")
    parser.add_argument("--cycles", type=int, help="of each run, 200 unless --quick")
    parser.add_argument(
        "--conclude", action="store_true", help="record nothing: conclude from what is there"
    )
    arguments = parser.parse_args(words)
    size = QUICK if arguments.quick else FULL
    if arguments.cycles is not None:
        size = replace(size, cycles=arguments.cycles)
    folder = arguments.out
    machine = folder / "machine.json" if arguments.conclude else record(size, folder)
    conclude(folder, machine, size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
