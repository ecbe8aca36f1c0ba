"""``hindmost compare``: how much slower or faster one result is than another."""

from __future__ import annotations

import argparse
import json
import sys

from hindmost.analysis.history.compare import ComparedSeries, Comparison, compare_histories
from hindmost.analysis.history.pairing import WAYS
from hindmost.analysis.history.ratio import LEVEL
from hindmost.analysis.history.readers.find import read_history
from hindmost.analysis.tables.terminal import LEFT, RIGHT, new_table, print_table
from hindmost.shares import read_increase

EXAMPLES = """\
examples:
  hindmost compare before.json after.json
  hindmost compare runs-gcc/ runs-clang/ --fail-above 5%
  hindmost compare nightly-a/ nightly-b/ --timer '*Total*' --pair nights

Results of the same nights or commits are paired, and repeats that took turns; else all of one are
held against all of the other by Welch's test. Intervals are at 90 %. "Significant" counts how many
timers are compared. Exit status 1 if --fail-above is given, and a timer is significantly slower in
B than in A by more than that.
"""
JSON_VERSION = 1
A_FINDING = 1
MOST = 40
MOST_WARNINGS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Says how much slower or faster B is than A, timer by timer."
    parser.epilog = EXAMPLES
    parser.add_argument("first", metavar="A", help="a file of results, or a folder of them")
    parser.add_argument("second", metavar="B")
    parser.add_argument("--format", action="append", help="of the files (found by content)")
    for name in ("machine", "case", "timer"):
        parser.add_argument(f"--{name}", help="only this one; a pattern may hold * and ?")
    parser.add_argument("--pair", default="auto", help=f"{', '.join(WAYS)} (%(default)s)")
    parser.add_argument(
        "--fail-above", metavar="SHARE", help="exit with 1 beyond it; 5%% and 0.05 are the same"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one entry a timer")


def perform(arguments: argparse.Namespace) -> int:
    """Compare and print."""
    limit = (
        None
        if arguments.fail_above is None
        else read_increase(arguments.fail_above, "--fail-above")
    )
    wanted = {name: getattr(arguments, name) for name in ("machine", "case", "timer")}
    first, second = (
        read_history(path, format=arguments.format, **wanted)
        for path in (arguments.first, arguments.second)
    )
    comparison = compare_histories(first, second, pair=arguments.pair)
    warnings = [*first.warnings, *second.warnings]
    for remark in warnings[:MOST_WARNINGS]:
        sys.stderr.write(f"hindmost: {remark}\n")
    if len(warnings) > MOST_WARNINGS:
        sys.stderr.write(f"hindmost: {len(warnings) - MOST_WARNINGS} more of such\n")
    beyond = () if limit is None else comparison.beyond(limit)
    if arguments.json:
        answer = {
            "version": JSON_VERSION,
            "first": first.source,
            "second": second.source,
            "level": LEVEL,
            "series": [each.to_json() for each in comparison.series],
            "only_first": [str(name) for name in comparison.only_first],
            "only_second": [str(name) for name in comparison.only_second],
            "beyond": [each.name for each in beyond],
        }
        print(json.dumps(answer, indent=2, allow_nan=False))
    else:
        tell(comparison)
        if limit is not None:
            names = "; ".join(each.name for each in beyond[:MOST_WARNINGS])
            print(f"worse by more than {100.0 * limit:g} %: {names or 'none'}")
    return A_FINDING if beyond else 0


def tell(comparison: Comparison) -> None:
    """Print a line a timer; of many, what is significant comes first."""
    title = f"{comparison.second.source} against {comparison.first.source}"
    table = new_table(
        title, [("timer", LEFT), ("pairs", RIGHT), ("by", LEFT), ("B against A", LEFT)]
    )
    ranked = sorted(
        comparison.series, key=lambda each: (not each.is_significant, -abs(each.worse_by))
    )
    told = comparison.series if len(ranked) <= MOST else ranked[:MOST]
    for each in told:
        table.add_row(each.name, count(each), each.paired_by, each.words())
    print_table(table)
    if len(ranked) > MOST:
        print(f"{len(ranked) - MOST} more; --json has all")
    for side, names in (("A", comparison.only_first), ("B", comparison.only_second)):
        if names:
            print(f"only in {side}: {'; '.join(map(str, names[:3]))}{' ...' if names[3:] else ''}")


def count(each: ComparedSeries) -> str:
    """Say how many observations or pairs there are."""
    return str(each.pairs[0]) if each.paired_by != "none" else f"{each.pairs[0]}, {each.pairs[1]}"
