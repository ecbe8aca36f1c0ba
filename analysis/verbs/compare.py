"""``hindmost compare``: how much slower or faster one result is than another."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from itertools import compress
from pathlib import Path

from hindmost.analysis.history.compare import (
    ComparedSeries,
    Comparison,
    compare_histories,
    unit_words,
    with_cases,
)
from hindmost.analysis.readers.formats.run_history import case_of
from hindmost.analysis.readers.history import History
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.readers.remarks import SHOWN, few
from hindmost.analysis.runs.check import findings_in
from hindmost.analysis.runs.finding import (
    OF_COMPARISON,
    cautions,
    run_files_in,
)
from hindmost.analysis.runs.sides import Sides, sides_of
from hindmost.analysis.show.phrases import folded
from hindmost.analysis.show.table import MAX_LISTED, NAME, RIGHT, Column, Table
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.verbs.history import add_selection
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.models.inference import LEVEL
from hindmost.output import warn, write_json, write_lines
from hindmost.statuses import A_FINDING
from hindmost.text import first_of, percent, read_increase

EXAMPLES = """\
examples:
  hindmost compare before.json after.json
  hindmost compare runs-gcc/ runs-clang/ --fail-above 5%
  hindmost compare nightly-a/ nightly-b/ --timer '*Total*'

Results of the same nights or commits are paired, and so are repetitions that alternate between A
and B; all others are compared by Welch's test. The most significant difference comes first, and
timers that are part of no other come before their parts. Run files are compared case by case, such
as each number of ranks; cases are told apart by what is not the same in all of A, and in all of B.
Intervals are at 90 %. Significance takes the number of timers into account. The ratio of nights or
commits is that since its last change, or at the end of a drift. Nights are dates in UTC. Of run
files, 'solve' is the whole solve or loop, and 'iteration' its median iteration.

--fail-above compares ratios of times: 5% fails above 1.05x. For rates, such as GB/s, it uses A / B:
10.5% passes a rate that falls to 90.5 %, and fails one that falls to 90 %. The exit status is 1 if
a timer is significantly worse in B than in A by more than that, and confirmed; a change in only the
last nights gives a warning. The exit status is 3 if no timer can be judged.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Compare two results or histories: how much slower or faster is B than A, timer by timer?"
    )
    parser.add_argument("first", metavar="A", help="the baseline: a file or folder of results")
    parser.add_argument("second", metavar="B", help="the results to compare with it")
    add_selection(parser)
    parser.add_argument(
        "--fail-above",
        metavar="SHARE",
        help="exit with 1 if a ratio of times (of rates: A / B) exceeds 1 by more than this, such "
        "as 5%% or 0.05",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON with an entry for each timer"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Compare and print."""
    limit = (
        None
        if arguments.fail_above is None
        else read_increase(arguments.fail_above, "--fail-above")
    )
    wanted = {name: getattr(arguments, name) for name in ("machine", "case", "timer")}
    first, second = (
        read_history(
            path,
            larger_is_better=arguments.larger_is_better,
            **wanted,
        )
        for path in (arguments.first, arguments.second)
    )
    sides = sides_in(arguments, (first, second))
    if sides is not None:
        named = {case_of(run): name for run, name in sides.names}
        first, second = (with_cases(each, named) for each in (first, second))
    comparison = compare_histories(first, second)
    warnings = [*first.warnings, *second.warnings, *unit_words(comparison.other_units)]
    for remark in few(warnings, SHOWN):
        warn(remark)
    found = findings_in([Path(arguments.first), Path(arguments.second)])
    beyond = () if limit is None else comparison.beyond(limit)
    if arguments.json:
        unconfirmed = () if limit is None else comparison.unconfirmed(limit)
        of_runs = {} if sides is None else {"differ": sides.differ, "cases": sides.cases}
        write_json(
            **of_runs,
            first=first.source,
            second=second.source,
            level=LEVEL,
            summary=comparison.summary(),
            series=comparison.ranked(),
            only_first=[str(name) for name in comparison.only_first],
            only_second=[str(name) for name in comparison.only_second],
            other_units=[str(name) for name, _, _ in comparison.other_units],
            beyond=[each.name for each in beyond],
            unconfirmed=[each.name for each in unconfirmed],
            not_judged=[each.name for each in comparison.not_judged()],
            findings=found,
        )
    else:
        print_comparison(comparison, sides)
        write_lines(*folded(cautions(found, OF_COMPARISON)))
        if limit is not None:
            write_lines(*gate_lines(comparison, limit))
    if limit is not None and len(comparison.not_judged()) == len(comparison.series):
        raise DataError(
            "--fail-above could not judge any timer: all have too few data. Give at least two "
            "results on each side."
        )
    return A_FINDING if beyond else 0


def gate_lines(comparison: Comparison, limit: float) -> list[str]:
    """Return which timers are worse by more than a limit, confirmed or not, and not judged."""
    rates = any(not each.first.smaller_is_better for each in comparison.series)
    meaning = f"ratio of times above {1.0 + limit:g}x" + ("; of rates, A over B" if rates else "")
    beyond, unsure = comparison.beyond(limit), comparison.unconfirmed(limit)
    lines = [f"worse by more than {percent(limit, None)} ({meaning}): {named(beyond)}"]
    if unsure:
        lines.append(f"warning: worse but not yet confirmed, so no failure: {named(unsure)}")
    if unknown := comparison.not_judged():
        lines.append(f"not judged, too few data: {named(unknown)}")
    return lines


def named(series: Sequence[ComparedSeries]) -> str:
    """Name the first few series."""
    return first_of([each.name for each in series], "; ") or "none"


def sides_in(arguments: argparse.Namespace, histories: Sequence[History]) -> Sides | None:
    """Put the runs of two folders side by side; None if not all results are of run files."""
    found: list[list[Run]] = []
    for path, history in zip((arguments.first, arguments.second), histories, strict=True):
        runs: list[Run] = []
        for file in run_files_in([Path(path)]):
            with suppress(DataError):
                runs.append(open_run(file))
        cases = {series.name.case for series in history.series}
        found.append([run for run in runs if run.header.complete and case_of(run) in cases])
        if not cases or cases - {case_of(run) for run in found[-1]}:
            return None
    return sides_of(*found)


def print_comparison(comparison: Comparison, sides: Sides | None) -> None:
    """Print a summary and the table of timers, the most significant difference first."""
    names = [comparison.first.source, comparison.second.source]
    if sides is not None:
        names = [
            f"{name} ({words})" if words else name
            for name, words in zip(names, sides.differ, strict=True)
        ]
    write_lines(f"B = {names[1]} compared with A = {names[0]}")
    if sides is not None:
        write_lines(*folded(case.explain() for case in sides.cases))
    write_lines(comparison.summary(), "")
    ranked = comparison.ranked()
    columns = (Column("timer", NAME), Column("pairs", RIGHT), Column("by"), Column("B against A"))
    parts = [each.name_parts for each in ranked]
    common = [len(ranked) > 1 and len(set(values)) == 1 for values in zip(*parts, strict=True)]
    if title := ", ".join(filter(None, compress(parts[0], common))):
        write_lines(f"{title}:")
    own = [not each for each in common]
    rows = [
        (
            ", ".join(filter(None, compress(each.name_parts, own))),
            count(each),
            each.paired_by,
            each.words(),
        )
        for each in ranked[:MAX_LISTED]
    ]
    print_table(Table(columns=columns, rows=rows))
    if len(ranked) > MAX_LISTED:
        write_lines(f"{len(ranked) - MAX_LISTED} more; --json has all")
    for side, alone in (("A", comparison.only_first), ("B", comparison.only_second)):
        if alone:
            write_lines(f"only in {side}: {first_of(list(map(str, alone)), '; ')}")


def count(each: ComparedSeries) -> str:
    """Return how many observations or pairs there are."""
    return str(each.pairs[0]) if each.paired_by != "none" else f"{each.pairs[0]}, {each.pairs[1]}"
