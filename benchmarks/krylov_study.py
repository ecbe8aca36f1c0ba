"""The paper's tables 1 to 4 and its figures for a machine, in one page beside the paper's numbers.

Run by ``make study-krylov`` (wants an idle machine). The runs are five studies of `jobs`, so the
same command works under Slurm: there the sizes are the paper's, jobs are submitted, and the command
is repeated when they are done (exit status 75 until then). Without a scheduler, sizes are those of
a small machine. A study that is there already goes on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks.krylov_figures import Study, figure_parts
from benchmarks.krylov_tables import (
    by_case,
    difference_1,
    difference_2,
    difference_3,
    difference_4,
    table_1,
    table_2,
    table_3,
    table_4,
)

from hindmost.analysis.fits.study import FitOptions, FittedGroup, fit_groups
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.finding import OF_MODELS, caution_parts
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.summary import mpi_name, when
from hindmost.analysis.show.html_renderer import write_page
from hindmost.analysis.show.page import Heading, Page, Paragraph, Part
from hindmost.analysis.show.table import Table
from hindmost.analysis.show.terminal import print_table
from hindmost.errors import DataError, UsageError
from hindmost.statuses import WORK_IS_LEFT
from hindmost.text import counted

LOCAL = "local"
POLL_S = 2.0
OPEN = ("running", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One of the studies.

    Attributes
    ----------
    name : str
        Of its folder.
    study : str
        As `hindmost study plan` knows it.
    always, here, quick : tuple of str
        Replacements: of the shipped study, further ones without a scheduler, and for a trial.
    """

    name: str
    study: str
    always: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()


ICE_FLOW = ("problem=ice-flow", "solver=gmres")
LINE = ("unknowns=1e5", "repeats=5")
BRIEFLY = ("unknowns=2e3", "iterations=300", "repeats=2")
MEMBERS = (
    Member(
        name="ex23",
        study="gmres-noise",
        here=LINE,
        quick=BRIEFLY,
    ),
    Member(
        name="ex23-bcgs",
        study="solvers",
        always=("solver=bcgs,pipebcgs",),
        here=LINE,
        quick=BRIEFLY,
    ),
    Member(
        name="ex48",
        study="ice-flow-noise",
        here=("unknowns=2e4", "repeats=5"),
        quick=BRIEFLY,
    ),
    Member(
        name="ex48-strong",
        study="strong-scaling",
        always=ICE_FLOW,
        here=("unknowns=2e4", "iterations=2000", "repeats=3"),
        quick=("unknowns=2e3", "iterations=300", "repeats=1"),
    ),
    Member(
        name="ex48-static",
        study="static-scaling",
        always=ICE_FLOW,
        here=("unknowns=2e3,5e3,1e4,2e4,4e4", "iterations=2000", "repeats=3"),
        quick=("unknowns=1e3,2e3,4e3", "iterations=300", "repeats=1"),
    ),
)


def words_of(member: Member, machine: str, ranks: int, *, quick: bool) -> list[str]:
    """Return the arguments that plan or submit a study on a machine."""
    chosen = list(member.always)
    if machine == LOCAL:
        several = [str(2**power) for power in range(ranks.bit_length()) if 2**power < ranks]
        chosen.append(
            f"ranks={','.join([*several, str(ranks)])}"
            if member.study == "strong-scaling"
            else f"ranks={ranks}"
        )
        chosen += member.quick if quick else member.here
    sets = [word for each in chosen for word in ("--set", each)]
    return [member.study, "--machine", machine, *sets]


def hindmost(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a verb and return what it said."""
    command = [sys.executable, "-m", "hindmost", *map(str, words)]
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)


def record(folder: Path, machine: str, ranks: int, *, quick: bool) -> bool:
    """Submit what is not there yet, and say whether all runs are done."""
    folder.mkdir(parents=True, exist_ok=True)
    complete = True
    for member in MEMBERS:
        place = folder / member.name
        if not (place / "plan.json").exists():
            words = words_of(member, machine, ranks, quick=quick)
            done = hindmost("study", "submit", *words, "--folder", place)
            if done.returncode != 0:
                raise UsageError(f"{member.study} was not submitted to {machine}: see above.")
        status = hindmost("study", "status", place, "--json")
        if status.returncode == WORK_IS_LEFT and not going_on(status.stdout):
            hindmost("study", "submit", place)
        if machine == LOCAL:
            say(f"{member.name} ...")
            status = waited_for(place)
        complete &= status.returncode == 0
    return complete


def going_on(status: str) -> bool:
    """Tell from the status of a study whether a job is at work on it."""
    counts = json.loads(status)["counts"]
    return any(counts[each] for each in OPEN)


def waited_for(place: Path) -> subprocess.CompletedProcess[str]:
    """Wait until no job is at work on a study; return its status."""
    while True:
        status = hindmost("study", "status", place, "--json")
        if status.returncode not in (0, 1, WORK_IS_LEFT):
            raise DataError(f"{place}: its status cannot be told: see above.")
        if not going_on(status.stdout):
            return status
        time.sleep(POLL_S)


def collected(folder: Path, *names: str) -> list[FittedGroup]:
    """Return the fitted groups of some of the studies."""
    places = []
    for name in names:
        place = folder / name
        hindmost("study", "collect", place)
        places.append(place / "collected")
    # Without the search over all families, which takes longer than all else and is in no table.
    return fit_groups(group_runs(find_runs(places)), FitOptions(families=False))


def page_of(folder: Path) -> tuple[Page, dict[str, Table]]:
    """Return the page, and its tables by name."""
    main = collected(folder, "ex23", "ex23-bcgs", "ex48")
    groups = by_case(main)
    strong = sorted(collected(folder, "ex48-strong"), key=rank_count)
    static = sorted(collected(folder, "ex48-static"), key=unknowns)
    header = main[0].runs[0].run.header
    tables = {
        "Table 1: models and bounds": table_1(groups),
        "Table 2: Johnson SU laws of fastest rank and span": table_2(groups),
        "Table 3: simulated times": table_3(groups),
        "Table 4: other solvers and machines": table_4(groups),
    }
    said = (
        difference_1(groups, header.ranks),
        difference_2(),
        difference_3(groups),
        difference_4(groups),
    )
    parts: list[Part] = [Paragraph(introduction(main, header.ranks))]
    every = [*main, *strong, *static]
    parts += caution_parts([finding for fitted in every for finding in fitted.findings], OF_MODELS)
    for (title, table), difference in zip(tables.items(), said, strict=True):
        parts += [Heading(title), table, Paragraph(difference)]
    parts.append(Heading("Figures"))
    study = Study(groups=groups, strong=strong, static=static)
    parts += figure_parts(study, count(1))
    runs = sum(len(each.runs) for each in every)
    petsc = f", PETSc {version}" if (version := header.environment.get("petsc")) else ""
    return Page(
        title="Noise and pipelined Krylov methods: the paper and this machine",
        subtitle=f"{counted(runs, 'recorded run')}, the first from {when(header.t0_utc)}; "
        f"{mpi_name(header.mpi_library)}{petsc}",
        parts=parts,
    ), tables


def introduction(groups: Sequence[FittedGroup], ranks: int) -> str:
    """Say what is compared, and what is not comparable."""
    sizes = dict.fromkeys(
        f"{group.runs[0].run.header.workload} with {unknowns(group):,} unknowns" for group in groups
    )
    return (
        "Paper: H. Morgan, P. Sanan, M. Knepley, R. Mills, The impact of noise on pipelined Krylov "
        "method performance: 8192 ranks of Theta (Cray XC40), a million unknowns. Here: "
        f"{counted(ranks, 'rank')}, {' and '.join(sizes)}. Times of the two are not comparable; "
        "errors of models are. Brackets and bands are 90 % intervals from a bootstrap: over the "
        "repeats in tables, over blocks of iterations in figures."
    )


def rank_count(fitted: FittedGroup) -> int:
    """Return the ranks of a configuration."""
    return int(fitted.runs[0].run.header.ranks)


def unknowns(fitted: FittedGroup) -> int:
    """Return the unknowns of a configuration."""
    return int(fitted.runs[0].run.header.spec.get("unknowns", 0))


def plan(machine: str, ranks: int, *, quick: bool) -> None:
    """Print the plan and the cost of every study."""
    for member in MEMBERS:
        done = hindmost("study", "plan", *words_of(member, machine, ranks, quick=quick))
        sys.stdout.write(f"{done.stdout}\n")


def say(text: str) -> None:
    """Say what is going on."""
    sys.stderr.write(f"{text}\n")


def main(words: Sequence[str] | None = None) -> int:
    """Record what is missing, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("study-krylov"), help="(%(default)s)")
    parser.add_argument("--machine", default=LOCAL, help="as of 'study plan' (%(default)s)")
    parser.add_argument(
        "--ranks", type=int, default=2, help="without a scheduler; elsewhere the paper's"
    )
    parser.add_argument("--quick", action="store_true", help="tiny: to see that all of it works")
    parser.add_argument("--plan", action="store_true", help="print plans and cost, and stop")
    parser.add_argument("--conclude", action="store_true", help="record nothing; write the page")
    arguments = parser.parse_args(words)
    if arguments.plan:
        plan(arguments.machine, arguments.ranks, quick=arguments.quick)
        return 0
    folder = arguments.out
    if not arguments.conclude and not record(
        folder, arguments.machine, arguments.ranks, quick=arguments.quick
    ):
        say(f"Runs are left: hindmost study status {folder}/NAME. Repeat this command afterwards.")
        return WORK_IS_LEFT
    page, tables = page_of(folder)
    say(str(write_page(folder / "page.html", page)))
    for title, table in tables.items():
        print_table(table.under(title))
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
