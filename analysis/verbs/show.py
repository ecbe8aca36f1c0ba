"""``hindmost show``: run files on a few lines each; a section on their ranks or efficiencies.

``hindmost show --efficiency``: how much of the ranks' time is work, and where the rest goes.

``hindmost show --ranks``: stragglers, outliers and groups of ranks.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hindmost.analysis.ranks.read_tables import read_table
from hindmost.analysis.ranks.study import RankReport, report_run, report_table
from hindmost.analysis.ranks.tables import summary_lines
from hindmost.analysis.readers.text_files import head_of
from hindmost.analysis.runs.attached import (
    attached_programs,
    repeated_culprits,
)
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.efficiency.of_run import efficiencies_of
from hindmost.analysis.runs.efficiency.scaling import (
    LEGEND,
    OF_SCALING,
    compared,
    efficiencies_over_ranks,
    efficiency_table,
)
from hindmost.analysis.runs.finding import OF_RANKS, OF_SHOW, cautions, of_file
from hindmost.analysis.runs.first_screen import worth_saying
from hindmost.analysis.runs.over_ranks import other_loops, series_over_ranks, several_ranks
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.summary import summarise_run
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY
from hindmost.analysis.runs.trace_file import read_window, trace_of
from hindmost.analysis.show.facts import NoCore, UnequalWork
from hindmost.analysis.show.phrases import FactEntry, Sentence, folded, sentences, within
from hindmost.analysis.show.table import LEADING
from hindmost.analysis.show.terminal import print_table
from hindmost.errors import DataError, UsageError
from hindmost.files import write_output
from hindmost.harness.runfile.damaged import lines_of_damaged
from hindmost.harness.runfile.reader import Run
from hindmost.output import write_json, write_lines
from hindmost.text import counted, seconds

EXAMPLES = """\
examples:
  hindmost show runs/laplacian-1d-gmres-p2-0.h5
  hindmost show runs/ --json
  hindmost show cut-off.h5 --damaged
  hindmost show runs/laplacian-1d-gmres-p2-0.h5 --trace trace.json --window 0..29
  hindmost show runs/ --ranks                   # stragglers, outliers and groups of ranks
  hindmost show runs/big.h5 --ranks --out ranks.html   # charts; click a rank for its timeline
  hindmost show runs/ --loops                   # which loops the program has, and in which others
  hindmost show metrics.csv --ranks             # rank,host,compute [s],messages; CUBE, Caliper, TAU
  hindmost show runs/ --efficiency              # a table per kernel, a column per rank count

Efficiencies are load balance, serialisation, transfer and computation scaling as defined by POP, of
the repeat with the median solve time; docs/efficiencies.md has the formulas.
"""
MAX_LINES = 12
"""Lines of one run, of which the most important sentences are taken."""
MAX_FINDINGS = 1
"""Findings below a run that its facts do not contain; others are only counted."""
OF_SECTIONS = {
    "ranks": ("out",),
    "efficiency": (),
    "loops": (),
    "": ("damaged", "trace", "window"),
}
"""Which options go with which section; those of the last one with no section."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Summarise run files: solve time, phases, efficiency, noise and machine."
    parser.add_argument("file", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument(
        "--damaged",
        action="store_true",
        help="read as much as possible of files whose checksum is wrong; nothing is verified",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write a trace of one run for ui.perfetto.dev or chrome://tracing (JSON)",
    )
    parser.add_argument(
        "--window", metavar="A..B", help="iterations of the trace (default: all of them)"
    )
    sections = parser.add_mutually_exclusive_group()
    sections.add_argument(
        "--loops",
        action="store_true",
        help="the loops of attached programs, by the code: how often and how long they iterate",
    )
    sections.add_argument(
        "--ranks",
        action="store_true",
        help="which ranks are last, how often and at what cost; outliers; groups of ranks",
    )
    sections.add_argument(
        "--efficiency",
        action="store_true",
        help="how much of the ranks' time is work, and where the rest is lost",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry per run")
    of_ranks = parser.add_argument_group("of --ranks")
    of_ranks.add_argument("--out", type=Path, metavar="PAGE", help="write an HTML page instead")


def perform(arguments: argparse.Namespace) -> int:
    """Summarise and print."""
    refuse_options_of_other_sections(arguments)
    if arguments.ranks:
        return show_ranks(arguments)
    if arguments.efficiency:
        return show_efficiencies(arguments)
    if arguments.damaged:
        if arguments.json:
            raise UsageError(
                "--json and --damaged exclude each other: a damaged file has no verified data."
            )
        for path in arguments.file:
            write_lines(*lines_of_damaged(path))
        return 0
    runs = find_runs(arguments.file)
    if arguments.loops:
        show_loops(runs, as_json=arguments.json)
        return 0
    if arguments.trace is not None:
        if len(runs) != 1:
            raise UsageError(f"--trace shows one run, and these are {len(runs)}: name one file.")
        trace = trace_of(runs[0], read_window(arguments.window, runs[0].bodies))
        write_output(arguments.trace, json.dumps(trace))
        return 0
    if arguments.window is not None:
        raise UsageError("--window says which iterations --trace shows; give --trace too.")
    groups = group_runs(runs)
    remarks = {run.path: group.remark for group in groups for run in group.runs}
    found = findings_of(groups, read_large=False)
    shown = {run.path: (summarise_run(run), of_file(found, run.path)) for run in runs}
    programs = attached_programs(runs, found)
    if arguments.json:
        entries = [
            replace(
                summary,
                findings=tuple(doubts),
                facts=tuple(map(FactEntry, facts_of(run, doubts))),
            )
            for run, (summary, doubts) in zip(runs, shown.values(), strict=True)
        ]
        known = {"programs": programs, "repeats": repeated_culprits(programs)} if programs else {}
        write_json(**known, runs=entries)
        return 0
    parts = [folded(lines) for lines in how_runs_scale(runs)]
    for program in programs:
        below = {
            each.run.path: [
                *summary.lines(below_program=True),
                *cautions(doubts, OF_SHOW, each.codes, MAX_FINDINGS),
            ]
            for each in program.runs
            for summary, doubts in [shown[each.run.path]]
        }
        remark = remarks[program.runs[0].run.path] if len(program.runs) == 1 else ""
        parts.append(program.lines(below, remark, MAX_LINES))
    if repeats := [each.text for each in repeated_culprits(programs)]:
        parts.append(folded(repeats))
    attached = {each.run.path for program in programs for each in program.runs}
    for run in runs:
        if run.path not in attached:
            summary, doubts = shown[run.path]
            facts = [
                fact
                for fact in worth_saying(facts_of(run, doubts))
                if not isinstance(fact, NoCore)  # the summary has it
            ]
            codes = {*summary.said, *(code for fact in facts for code in fact.codes)}
            last = folded(cautions(doubts, OF_SHOW, codes, MAX_FINDINGS), indent="  ")
            lines = summary.lines()
            room = MAX_LINES - len(lines) - len(last)
            said = [
                # Who asked for samples is told what they say.
                sentences(fact)
                if isinstance(fact, UnequalWork) and fact.extra is not None
                else [Sentence(one.text, one.rank + 1) for one in sentences(fact)]
                for fact in facts
            ]
            parts.append([*lines, *within(room, said, indent="  "), *last])
    for number, lines in enumerate(parts):
        write_lines(*([""] if number else []), *lines)
    return 0


def how_runs_scale(runs: Sequence[Run]) -> list[list[str]]:
    """Return how each program scales that ran on several numbers of ranks, in sentences."""
    whole = [run for run in runs if run.header.complete and run.bodies]
    several = [each for each in series_over_ranks(whole) if several_ranks(each.runs)]
    several.sort(key=lambda each: -each.runs[-1].solve_time_s)
    said = [[each] for each in other_loops(whole)]
    if any(run.bodies * run.columns > MAX_IN_MEMORY for each in several for run in each.runs):
        return [*said, ["How the runs scale over ranks: --efficiency, or hindmost report."]]
    with suppress(DataError):  # impossible times, which the lines on each run are about
        for kernel in compared(several[:LEADING]):
            said.append([*kernel.explain(), *kernel.assumed])
    if said:
        said[-1].append("All tables: --efficiency. Curves: hindmost report.")
    return said


def show_loops(runs: Sequence[Run], *, as_json: bool) -> None:
    """Print the loops of programs, each below those that it is in.

    Raises
    ------
    UsageError
        No run knows them.
    """
    known = [run for run in runs if run.header.loops(every=True)]
    if not known:
        raise UsageError(
            "--loops shows the loops of programs that 'hindmost attach' found in their code; no "
            "run here has any."
        )
    if as_json:
        entries = [
            {"file": str(run.path), "loops": run.header.spec["attached"]["loop"]["loops"]}
            for run in known
        ]
        write_json(runs=entries)
        return
    for number, run in enumerate(known):
        write_lines(
            *([""] if number else []),
            f"{run.path.name}: {counted(run.header.ranks, 'rank')}, {seconds(run.solve_time_s)}"
            f"{run.of_program}",
            *(f"  {each}" for each in run.header.loops(every=True)),
        )


def refuse_options_of_other_sections(arguments: argparse.Namespace) -> None:
    """Refuse an option that the section asked for would ignore."""
    asked = next((each for each in OF_SECTIONS if each and getattr(arguments, each)), "")
    for section, names in OF_SECTIONS.items():
        given = [name for name in names if getattr(arguments, name) not in (None, False)]
        if given and section != asked:
            where = f"goes with --{section}" if section else f"does not go with --{asked}"
            raise UsageError(f"--{given[0]} {where}.")


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


HDF5 = b"\x89HDF\r\n\x1a\n"


def show_ranks(arguments: argparse.Namespace) -> int:
    """Analyse the ranks and print the results."""
    if arguments.out is not None and arguments.json:
        raise UsageError("--out writes a page and --json prints: give only one of them.")
    looked: list[tuple[RankReport, Run | None]] = []
    for path in arguments.file:
        if holds_runs(path):
            looked += [(report_run(run), run) for run in find_runs([path])]
        else:
            looked.append((report_table(str(path), read_table(path)), None))
    reports = [report for report, _ in looked]
    if arguments.out is not None:
        from hindmost.analysis.report.ranks_page import ranks_page
        from hindmost.analysis.show.html_renderer import write_page

        write_lines(str(write_page(arguments.out, ranks_page(looked))))
        return 0
    if arguments.json:
        write_json(files=reports)
        return 0
    for number, report in enumerate(reports):
        write_lines(*([""] if number else []), *summary_lines(report))
    return 0


def holds_runs(path: Path) -> bool:
    """Tell whether a path is a run file or a folder with run files."""
    if path.is_dir():
        return any(path.glob("*.h5"))
    return path.suffix == ".h5" or (path.exists() and head_of(path).startswith(HDF5))
