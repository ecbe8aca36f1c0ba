"""``hindmost history``: what changed in nightly results, and next to which commits."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from hindmost.analysis.history.change_groups import ChangeGroup, group_changes
from hindmost.analysis.history.change_sentences import (
    group_lines,
    open_lines,
    revision_lines,
)
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.headline import (
    age_line,
    data_remarks,
    failure_line,
    headline,
    newest_line,
    scope,
    silence_lines,
)
from hindmost.analysis.history.history_json import history_json
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.history.tables import series_table
from hindmost.analysis.history.terms import MANY
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.show.terminal import print_table
from hindmost.analysis.verbs.acknowledge import acknowledge, known_changes
from hindmost.analysis.verbs.history_options import (
    add_arguments,
    check_options,
    newer_than,
)
from hindmost.errors import HindmostError, UsageError
from hindmost.models.changepoint.verdicts import FAIL, PASS
from hindmost.output import warn, write_json, write_lines
from hindmost.statuses import A_FINDING
from hindmost.text import counted

__all__ = ["add_arguments", "perform"]
ACK = "ack"
"""First word of the command that acknowledges a change."""
COMMON = (
    "--format",
    "--case",
    "--since",
    "--state",
    "--report",
    "--mail",
    "--json",
)
"""What --help lists; --help-all has the others."""


def perform(arguments: argparse.Namespace) -> int:
    """Judge the nights, write the mail, keep the state and report; or acknowledge a change."""
    if arguments.file[0] == ACK:
        return acknowledge(arguments)
    check_options(arguments)
    study = study_of(arguments)
    since = newer_than(arguments.since, study.until)
    if since >= study.until:
        raise UsageError(
            f"--since {arguments.since} is not before the newest result "
            f"({date_of(study.until)}): give an earlier date."
        )
    # One cutoff for the whole report and the exit status.
    study = replace(study, last_days=(study.until - since) / SECONDS_A_DAY)
    groups = group_changes(study)
    now = time.time()
    for remark in (age_line(study, now), *data_remarks(study)):
        if remark:
            warn(remark)
    lost: HindmostError | OSError | None = None
    state = study.state
    if arguments.mail:
        try:
            state = deliver(arguments, study, groups, now)
        except (HindmostError, OSError) as error:  # keep the nights; the mail is due again
            lost = error
    # Before anything is printed: the reader of a pipe may go away, as in '| head'.
    if arguments.state and state is not None:
        from hindmost.analysis.history.state_file import write_state

        write_state(arguments.state, state)
    if lost is not None:
        raise lost
    if arguments.report:
        from hindmost.analysis.report.report import Contents, report_page
        from hindmost.analysis.show.html_renderer import write_page

        write_page(arguments.report, report_page(Contents(history=study)), "--report")
    if arguments.json:
        write_json(**history_json(study))
    elif arguments.mail != "-":
        report(study, groups)
        if arguments.report:
            write_lines(str(arguments.report))
    return A_FINDING if study.status() == FAIL else 0


def study_of(arguments: argparse.Namespace) -> HistoryStudy:
    """Read and judge what the command line names."""
    wanted = {name: getattr(arguments, name) for name in ("machine", "case", "timer")}
    state = None
    if arguments.state:
        from hindmost.analysis.history.state_file import read_state

        state = read_state(arguments.state)
    known = known_changes(arguments.file, arguments.ack)
    history = read_history(
        arguments.file, format=arguments.format, larger_is_better=arguments.larger_is_better
    )
    return judge_history(
        history,
        method=arguments.method,
        state=state,
        acknowledged=known,
        executor=arguments.executor,
        now=time.time(),
        **wanted,
    )


def report(study: HistoryStudy, groups: tuple[ChangeGroup, ...]) -> None:
    """Print what changed, and the table of the series."""
    write_lines(scope(study), headline(study), *open_lines(study), *silence_lines(study))
    write_lines(*group_lines(groups), *revision_lines(study, MANY))
    write_lines(*filter(None, (newest_line(study), failure_line(study))), "")
    table = series_table(study)
    if table.rows:
        print_table(table)
    passing = sum(each.status(study.since) == PASS for each in study.judged)
    left = len(study.judged) - passing - len(table.rows)
    if left > 0:
        write_lines(f"{left} more series do not pass; --json lists all")
    if passing:
        write_lines(f"{counted(passing, 'series')} {'pass' if passing > 1 else 'passes'}")


def deliver(
    arguments: argparse.Namespace, study: HistoryStudy, groups: tuple[ChangeGroup, ...], now: float
) -> HistoryState | None:
    """Write the mail; return the state that records it, None without a state.

    With a state, a finding is mailed once and then in the digests; without news nothing is written.
    """
    from hindmost.analysis.history.mail_message import compose, write
    from hindmost.analysis.history.mail_plan import plan_mail

    plan = None if study.state is None else plan_mail(study, study.state.mailed, now)
    message = None
    if plan is None or plan.is_due:
        message = compose(study, groups, plan=plan, now=now, recipients=arguments.to or ())
    else:
        warn(f"nothing new to mail; the next digest is due on {plan.next_digest}")
    write(message, None if arguments.mail == "-" else Path(arguments.mail))
    if plan is None or study.state is None:
        return study.state
    return replace(study.state, mailed=plan.record)
