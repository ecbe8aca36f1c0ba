"""``hindmost history``: what changed in nightly results, and next to which commits."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from hindmost.analysis.history.acknowledgements import FILE_NAME
from hindmost.analysis.history.causes import Cause, group_changes
from hindmost.analysis.history.contract import to_json
from hindmost.analysis.history.judged import FAIL
from hindmost.analysis.history.labels import SECONDS_A_DAY
from hindmost.analysis.history.only import only
from hindmost.analysis.history.readers.find import read_history
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.history.words import (
    MOST_SERIES,
    cause_lines,
    drift_lines,
    failure_line,
    headline,
    named,
    quantity,
    ranked_series,
    revision_lines,
    scope,
)
from hindmost.analysis.tables.terminal import LEFT, RIGHT, new_table, print_table
from hindmost.analysis.verbs.acknowledge import acknowledge, known_changes
from hindmost.errors import UsageError

EXAMPLES = """\
examples:
  hindmost history nightly/
  hindmost history nightly/ --days 30 --timer '*Total*' --report history.html
  hindmost history tonight.json --state history.state --mail - --to team@example.org | sendmail -t
  hindmost history ack nightly/ --case 'green-*' --date 2021-07-17 --reason "new compiler"

A verdict is fail (a confirmed slowdown), warn (one that is seen, but not yet confirmed; a run that
failed; a drift that goes on and is worse by more than 5 %, for certain) or pass.
Exit status 1 if a slowdown newer than --since is confirmed and not noted as known. 'ack' notes
changes as known, in a plain TOML file beside the data that a repository can keep.
"""
A_FINDING = 1
MOST_WARNINGS = 5
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
        help="tell from this day on, or of these last days, in place of --days; slowdowns in "
        "them make the exit status 1",
    )
    telling.add_argument("--json", action="store_true", help="print JSON, one entry a series")
    telling.add_argument("--report", type=Path, metavar="PAGE", help="write one HTML page")
    mailing = parser.add_argument_group("mail")
    mailing.add_argument(
        "--mail", metavar="FILE|-", help="write the summary as a mail, for 'sendmail -t'"
    )
    mailing.add_argument(
        "--smtp",
        metavar="SERVER",
        help="send it to this mail server: HOST:PORT, or with TLS and a login smtps://USER@HOST "
        "or smtp+starttls://USER@HOST; the password is in HINDMOST_SMTP_PASSWORD",
    )
    mailing.add_argument(
        "--smtp-password-file", type=Path, metavar="FILE", help="or in the first line of this file"
    )
    mailing.add_argument("--to", action="append", metavar="ADDRESS", help="may be repeated")
    mailing.add_argument("--from", dest="sender", metavar="ADDRESS")
    noting = parser.add_argument_group("with 'ack'")
    noting.add_argument("--date", help="a day on which the change may have been, as 2021-07-17")
    noting.add_argument("--reason", help="why it needs no alarm")


def perform(arguments: argparse.Namespace) -> int:
    """Judge and tell, or note a change as known."""
    with no_collection():
        return judge_and_tell(arguments)


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python from looking for cycles: a state is a million objects, and none are in any."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def judge_and_tell(arguments: argparse.Namespace) -> int:
    """Do what `perform` does."""
    if arguments.file[0] == ACK:
        return acknowledge(arguments)
    if arguments.date is not None or arguments.reason is not None:
        raise UsageError("--date and --reason belong to 'hindmost history ack'; see its --help.")
    if arguments.smtp and not (arguments.to and arguments.sender):
        raise UsageError("--smtp needs --to and --from: who gets the mail, and who sends it.")
    if arguments.smtp_password_file and not arguments.smtp:
        raise UsageError("--smtp-password-file needs --smtp: the server to log in to.")
    if arguments.smtp:
        from hindmost.analysis.history.mail_server import mail_server, password_for

        # A name that is none should not wait for the nights to be judged.
        password_for(mail_server(arguments.smtp), arguments.smtp_password_file)
    if arguments.json and arguments.mail == "-":
        raise UsageError("--json and --mail - both write to stdout: name a file for the mail.")
    if arguments.alpha is not None and not 0.0 < arguments.alpha < 1.0:
        raise UsageError(f"--alpha {arguments.alpha:g} is no probability: give one in 0 to 1.")
    study = study_of(arguments)
    if arguments.since is not None:  # one cutoff for all that is told, and for the exit status
        since = newer_than(arguments.since, study.until)
        study = replace(study, last_days=(study.until - since) / SECONDS_A_DAY)
    causes = group_changes(study)
    for remark in warnings_of(study):
        sys.stderr.write(f"hindmost: {remark}\n")
    if arguments.mail or arguments.smtp:
        deliver(arguments, study, causes)
    if arguments.report:
        from hindmost.analysis.page.history import write_history_page

        write_history_page(study, arguments.report)
    # Before anything is printed: who reads the output may go away, as in '| head'.
    if arguments.state and study.state is not None:
        from hindmost.analysis.history.state_file import write_state

        write_state(arguments.state, study.state)
    if arguments.json:
        print(json.dumps(to_json(study), indent=2, allow_nan=False))
    elif arguments.mail != "-":
        tell(study, causes)
        if arguments.report:
            print(arguments.report)
    return A_FINDING if study.status() == FAIL else 0


def study_of(arguments: argparse.Namespace) -> HistoryStudy:
    """Read and judge what the command line names."""
    wanted = {name: getattr(arguments, name) for name in ("machine", "case", "timer")}
    settings = {} if arguments.alpha is None else {"alpha": arguments.alpha}
    state = None
    if arguments.state:
        from hindmost.analysis.history.state_file import read_state

        state = read_state(arguments.state)
    known = known_changes(arguments.file, arguments.ack)
    # A state goes on with all series, also those that are not asked for today.
    history = read_history(arguments.file, format=arguments.format, **({} if state else wanted))
    study = judge_history(
        history,
        method=arguments.method,
        last_days=arguments.days,
        only_between=arguments.only_between,
        state=state,
        acknowledged=known,
        **settings,
    )
    return only(study, **wanted) if state else study


def newer_than(words: str, until: float) -> float:
    """Return the time after which a slowdown counts: seconds since 1970, UTC.

    Raises
    ------
    UsageError
        It is neither a date nor a number of days.
    """
    try:  # a date first: 20210717 is one, too
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


def warnings_of(study: HistoryStudy) -> list[str]:
    """Return what a person should know of the data, shortened."""
    refused = [f"{name} is not judged: {why}" for name, why in study.refused.items()]
    everything = [*study.history.warnings, *study.remarks, *refused]
    left = len(everything) - MOST_WARNINGS
    return [*everything[:MOST_WARNINGS], *([f"{left} more of such"] if left > 0 else [])]


def tell(study: HistoryStudy, causes: tuple[Cause, ...]) -> None:
    """Print what changed, and the series."""
    print(scope(study))
    print(headline(study))
    for line in cause_lines(causes):
        print(line)
    for line in (*drift_lines(study), *revision_lines(study, MOST_SERIES)):
        print(line)
    if failures := failure_line(study):
        print(failures)
    print()
    columns = [("verdict", LEFT), ("series", LEFT), ("nights", RIGHT), ("level now", RIGHT)]
    table = new_table("", [*columns, ("since", LEFT), ("changes", RIGHT), ("outliers", RIGHT)])
    ranked = ranked_series(study)
    for each in ranked[:MOST_SERIES]:
        found = each.detection
        regime = found.regimes[-1] if found.regimes else None
        level = "" if regime is None else quantity(regime.mean, each.series.unit)
        table.add_row(
            each.status(study.since),
            named(each.series.name),
            str(found.observations),
            "drifts" if regime is not None and regime.trend else level,
            "too short" if regime is None else each.labels[regime.start],
            str(len(found.changes)),
            str(sum(run.stop - run.start for run in found.outliers)),
        )
    print_table(table)
    if len(ranked) > MOST_SERIES:
        print(f"{len(ranked) - MOST_SERIES} more series; --json has all")


def deliver(arguments: argparse.Namespace, study: HistoryStudy, causes: tuple[Cause, ...]) -> None:
    """Write the mail, or send it."""
    from hindmost.analysis.history.mail import compose, write
    from hindmost.analysis.history.mail_server import mail_server, password_for, send

    message = compose(study, causes, sender=arguments.sender, recipients=arguments.to or ())
    if arguments.mail:
        write(message, None if arguments.mail == "-" else Path(arguments.mail))
    if arguments.smtp:
        server = mail_server(arguments.smtp)
        send(message, server, password_for(server, arguments.smtp_password_file))
