"""``hindmost history``: what changed in nightly results, when, by how much, next to which commits."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hindmost.analysis.history.acknowledgements import (
    ANY,
    FILE_NAME,
    Acknowledgement,
    add_acknowledgement,
    checked,
    read_acknowledgements,
)
from hindmost.analysis.history.judged import FAIL
from hindmost.analysis.history.labels import SECONDS_A_DAY
from hindmost.errors import DataError, UsageError

EXAMPLES = """\
examples:
  hindmost history nightly/
  hindmost history nightly/ --days 30 --timer '*Total*' --report history.html
  hindmost history tonight.json --state history.state --mail - --to team@example.org | sendmail -t
  hindmost history ack nightly/ --case 'green-*' --date 2021-07-17 --reason "new compiler"

A verdict is fail (a confirmed slowdown), warn (one that is seen, but not yet confirmed) or pass.
Exit status 1 if a slowdown newer than --since is confirmed and not noted as known. 'ack' notes
changes as known, in a plain TOML file beside the data that a repository can keep.
"""
JSON_VERSION = 1
A_FINDING = 1
ACK = "ack"
"""As the first word: note a change as known."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Says what changed in nightly results, and next to which commits."
    parser.epilog = EXAMPLES
    parser.usage = (
        "%(prog)s [option ...] FILE-OR-DIR ...\n       "
        "%(prog)s ack FILE-OR-DIR --date DATE --reason TEXT [--machine M] [--case C] [--timer T]"
    )
    parser.add_argument(
        "file", nargs="+", metavar="FILE-OR-DIR", help="results of nights, or folders of them"
    )
    reading = parser.add_argument_group("what to read")
    reading.add_argument(
        "--format", action="append", help="of the files (found by content); may be repeated"
    )
    for name in ("machine", "case", "timer"):
        reading.add_argument(f"--{name}", help="only this one; a pattern may hold * and ?")
    judging = parser.add_argument_group("how to judge")
    judging.add_argument("--method", default="robust", help="robust or report (%(default)s)")
    judging.add_argument("--alpha", type=float, help="level of the method's tests")
    judging.add_argument(
        "--only-between", metavar="days|commits", help="where changes may lie (anywhere)"
    )
    judging.add_argument(
        "--state", type=Path, metavar="FILE", help="keep verdicts, and log their revisions"
    )
    judging.add_argument(
        "--ack",
        type=Path,
        metavar="FILE",
        action="append",
        help=f"changes that are known ({FILE_NAME} beside the data)",
    )
    telling = parser.add_argument_group("what to tell")
    telling.add_argument(
        "--days", type=float, default=10.0, metavar="N", help="tell of the last N (%(default)g)"
    )
    telling.add_argument(
        "--since",
        metavar="DATE|DAYS",
        help="exit with 1 for slowdowns on this day or later, or in these last days (--days)",
    )
    telling.add_argument("--json", action="store_true", help="print JSON, one entry a series")
    telling.add_argument("--report", type=Path, metavar="PAGE", help="write one HTML page")
    mailing = parser.add_argument_group("mail")
    mailing.add_argument(
        "--mail", metavar="FILE|-", help="write the summary as a mail, for 'sendmail -t'"
    )
    mailing.add_argument("--smtp", metavar="HOST:PORT", help="send it to this mail server")
    mailing.add_argument("--to", action="append", metavar="ADDRESS", help="may be repeated")
    mailing.add_argument("--from", dest="sender", metavar="ADDRESS")
    noting = parser.add_argument_group("with 'ack'")
    noting.add_argument("--date", help="a day on which the change may have been, as 2021-07-17")
    noting.add_argument("--reason", help="why it needs no alarm")


def perform(arguments: argparse.Namespace) -> int:
    """Judge and tell, or note a change as known."""
    if arguments.file[0] == ACK:
        return acknowledge(arguments)
    if arguments.date is not None or arguments.reason is not None:
        raise UsageError("--date and --reason belong to 'hindmost history ack'; see its --help.")
    if arguments.smtp and not (arguments.to and arguments.sender):
        raise UsageError("--smtp needs --to and --from: who gets the mail, and who sends it.")
    from hindmost.analysis.history.causes import group_changes

    study = study_of(arguments)
    since = newer_than(arguments.since, study.until, study.since)
    causes = group_changes(study)
    for remark in warnings_of(study):
        sys.stderr.write(f"hindmost: {remark}\n")
    if arguments.mail or arguments.smtp:
        deliver(arguments, study, causes)
    if arguments.report:
        from hindmost.analysis.page.history import write_history_page

        write_history_page(study, arguments.report)
    if arguments.json:
        print(json.dumps(to_json(study), indent=2, allow_nan=False))
    elif arguments.mail != "-":
        tell(study, causes)
        if arguments.report:
            print(arguments.report)
    if arguments.state:
        from hindmost.analysis.history.state_file import write_state

        write_state(arguments.state, study.state)
    return A_FINDING if study.status(since) == FAIL else 0
