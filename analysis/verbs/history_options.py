"""The options of ``hindmost history``, their checks, and the settings of a method in them."""

from __future__ import annotations

import argparse
from datetime import UTC, date, datetime
from pathlib import Path

from hindmost.analysis.history.acknowledgements import FILE_NAME
from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.errors import UsageError
from hindmost.models.changepoint.detection import RECENT

EXAMPLES = """\
examples:
  hindmost history nightly/
  hindmost history nightly/ --since 30 --timer '*Total*' --report history.html
  hindmost history nightly/ --state history.state --mail mail.eml --to team@example.org
  hindmost history ack nightly/ --case 'green-*' --date 2021-07-17 --reason "new compiler"

Verdicts: fail (a confirmed slowdown), warn (a slowdown that is not yet confirmed, a failed run, a
drift for the worse by more than 5 % for certain, a machine that went silent), pass, and unknown
(too few nights to judge, or no result in the last days).
The exit status is 1 if a slowdown in the last days is confirmed and not acknowledged. Older open
slowdowns are listed but do not change the exit status; --since includes them. 'ack' acknowledges
changes in a TOML file next to the data, to be kept in a repository.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Report what changed in nightly results, and next to which commits."
    parser.epilog = EXAMPLES
    parser.usage = (
        "%(prog)s [option ...] FILE-OR-DIR ...\n       "
        "%(prog)s ack FILE-OR-DIR --date DATE --reason TEXT [--machine M] [--case C] [--timer T]\n"
        "       %(prog)s ack FILE-OR-DIR --list"
    )
    parser.add_argument(
        "file", nargs="+", metavar="FILE-OR-DIR", help="nightly results, or folders of them"
    )
    reading = parser.add_argument_group("what to read")
    reading.add_argument(
        "--format", action="append", help="format of the files (default: by content); repeatable"
    )
    for name in ("machine", "case", "timer"):
        reading.add_argument(f"--{name}", help=f"select a {name}; * and ? are wildcards")
    reading.add_argument(
        "--larger-is-better",
        action="append",
        metavar="TIMER",
        default=[],
        help="count a fall of this timer as the change for the worse; * and ? are wildcards; "
        "repeatable (default: rates, recognised by name and unit)",
    )
    judging = parser.add_argument_group("how to judge")
    judging.add_argument(
        "--method",
        default="robust",
        help="detect changes by this method: robust, or report, that of the Albany report "
        "(%(default)s)",
    )
    judging.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="keep reported changes, log their revisions, and mail a finding once and then weekly",
    )
    judging.add_argument(
        "--ack",
        type=Path,
        metavar="FILE",
        action="append",
        help=f"acknowledged changes ({FILE_NAME} next to the data); 'ack' writes them there",
    )
    telling = parser.add_argument_group("what to report")
    telling.add_argument(
        "--since",
        metavar="DATE|DAYS",
        default=f"{RECENT:g}",
        help="report from this day on, or on these last days (%(default)s); the exit status covers "
        "them",
    )
    telling.add_argument(
        "--json", action="store_true", help="print JSON with an entry for each series"
    )
    telling.add_argument("--report", type=Path, metavar="PAGE", help="write one HTML page")
    mailing = parser.add_argument_group("mail")
    mailing.add_argument(
        "--mail",
        metavar="FILE|-",
        help="write the summary as a mail for 'sendmail -t'; with --state, nothing without news",
    )
    mailing.add_argument(
        "--to", action="append", metavar="ADDRESS", help="set a recipient; repeatable"
    )
    noting = parser.add_argument_group("with 'ack'")
    noting.add_argument("--date", help="day on which the change may lie, as 2021-07-17")
    noting.add_argument("--reason", help="why the change needs no alarm")
    noting.add_argument(
        "--list",
        action="store_true",
        help="list the acknowledgements and the changes that they match",
    )


def check_options(arguments: argparse.Namespace) -> None:
    """Refuse options that contradict or need each other, before the results are read.

    Raises
    ------
    UsageError
        They do; the message says what to do.
    """
    if any((arguments.date, arguments.reason, arguments.list)):
        raise UsageError(
            "--date, --reason and --list belong to 'hindmost history ack'; see --help."
        )
    if arguments.json and arguments.mail == "-":
        raise UsageError("--json and --mail - both write to stdout: name a file for the mail.")


def newer_than(words: str, until: float) -> float:
    """Return the time after which changes are recent: seconds since 1970, UTC.

    Raises
    ------
    UsageError
        It is neither a date nor a number of days.
    """
    try:  # a date first, because 20210717 is one
        day = date.fromisoformat(words)
    except ValueError:
        pass
    else:
        return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() - 1.0
    try:
        days = float(words)
    except ValueError as error:
        raise UsageError(
            f"--since {words}: give a date as 2021-07-17, or a number of days."
        ) from error
    if 0.0 < days < float("inf"):
        return until - days * SECONDS_A_DAY
    raise UsageError(f"--since {words}: give a number of days above 0, or a date.")
