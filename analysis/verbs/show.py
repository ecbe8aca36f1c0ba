"""``hindmost show``: run files on a few lines each; a section on their ranks or efficiencies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.efficiency.scaling import compared
from hindmost.analysis.runs.finding import OF_SHOW, cautions, of_file
from hindmost.analysis.runs.first_screen import worth_saying
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.model_input import MAX_IN_MEMORY
from hindmost.analysis.runs.over_ranks import other_loops, series_over_ranks, several_ranks
from hindmost.analysis.runs.programs import (
    attached_programs,
    repeated_culprits,
)
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.summary import summarise_run
from hindmost.analysis.runs.trace_file import read_window, write_trace
from hindmost.analysis.show.facts import NoCore, UnequalWork
from hindmost.analysis.show.phrases import FactEntry, Sentence, folded, sentences, within
from hindmost.analysis.show.table import LEADING
from hindmost.errors import DataError, UsageError
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
    parser.epilog = EXAMPLES
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
        from hindmost.analysis.verbs.show_ranks import show_ranks

        return show_ranks(arguments)
    if arguments.efficiency:
        from hindmost.analysis.verbs.show_efficiency import show_efficiencies

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
        write_trace(runs[0], read_window(arguments.window, runs[0].bodies), arguments.trace)
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
