"""``hindmost history``: what changed in nightly results, and next to which commits.

``hindmost history ack`` acknowledges changes, and lists acknowledgements.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from hindmost.analysis.history.change_groups import (
    ChangeGroup,
    NightChange,
    change_sentence,
    group_changes,
    group_lines,
    open_lines,
    revision_lines,
)
from hindmost.analysis.history.commit_ranges import LocalGit
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.exports import history_json
from hindmost.analysis.history.headline import (
    age_line,
    data_remarks,
    failure_line,
    headline,
    newest_line,
    scope,
    silence_lines,
)
from hindmost.analysis.history.judged_series import (
    ANY,
    FILE_NAME,
    MANY,
    NEAREST,
    Acknowledgement,
    JudgedSeries,
    add_acknowledgement,
    fits,
    named,
    read_acknowledgements,
    suggested,
)
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.study import GATES, HistoryStudy, judge_history
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.show.table import MAX_LISTED, NAME, RIGHT, Column, Table
from hindmost.analysis.show.terminal import print_table
from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.files import data_errors, write_output
from hindmost.models.changepoint.detection import PASS, RECENT
from hindmost.output import warn, write_json, write_lines
from hindmost.records import from_document
from hindmost.statuses import A_FINDING
from hindmost.text import counted, quantity

KEYS = ("machine", "case", "timer")


def known_changes(
    files: Iterable[str], named: Iterable[Path] | None
) -> tuple[Acknowledgement, ...]:
    """Read the named acknowledgements, or those next to the data."""
    if named is None:
        named = [place for place in dict.fromkeys(map(notes_beside, files)) if place.exists()]
    return tuple(note for path in named for note in read_acknowledgements(path))


def notes_beside(file: str) -> Path:
    """Return the file of acknowledgements that belongs to a file or folder of results."""
    path = Path(file)
    return (path if path.is_dir() else path.parent) / FILE_NAME


def acknowledge(arguments: argparse.Namespace) -> int:
    """Acknowledge a change, or list the acknowledgements."""
    if len(arguments.file) != 2:
        raise UsageError("'hindmost history ack' needs one folder or file of results.")
    if len(arguments.ack or ()) > 1:
        raise UsageError("'hindmost history ack' writes one file: give --ack once.")
    data = Path(arguments.file[1])
    path = arguments.ack[0] if arguments.ack else notes_beside(arguments.file[1])
    if arguments.list:
        if arguments.date or arguments.reason:
            raise UsageError("--list shows all acknowledgements: omit --date and --reason.")
        return list_notes(path, judged_data(arguments, data, path))
    if not arguments.date or not arguments.reason:
        raise UsageError("'hindmost history ack' needs --date and --reason.")
    entry = {"date": arguments.date, "reason": arguments.reason}
    entry |= {name: getattr(arguments, name) or ANY for name in KEYS}
    try:
        note = from_document(Acknowledgement, entry)
    except DataError as error:
        raise UsageError(f"The acknowledgement: {error}") from error
    study = judged_data(arguments, data, path)
    covered = covered_by(study, note)
    if not covered:
        raise UsageError(why_nothing(study, note))
    everything = add_acknowledgement(path, note)
    write_lines(f"{path}: {counted(len(everything), 'acknowledgement')}")
    write_covered(covered, "acknowledged: ")
    return 0


def judged_data(arguments: argparse.Namespace, data: Path, path: Path) -> HistoryStudy:
    """Judge the data, with the state if one is given, and a file of acknowledgements."""
    state = None
    if arguments.state:
        from hindmost.analysis.history.state_file import read_state

        state = read_state(arguments.state)
    return judge_history(
        read_history(data, format=arguments.format),
        state=state,
        acknowledged=read_acknowledgements(path) if path.exists() else (),
    )


def covered_by(study: HistoryStudy, note: Acknowledgement) -> list[str]:
    """Return in words the changes and drifts, ended or not, that an acknowledgement matches."""
    concerned = [each for each in study.judged if note.concerns(each.series.name)]
    matched = [(each, each.meant(note)) for each in concerned]
    return [
        change_sentence(NightChange.of(study, each, finding))
        for each, finding in matched
        if finding is not None
    ]


def why_nothing(study: HistoryStudy, note: Acknowledgement) -> str:
    """Return why no change matches an acknowledgement, with the nearest names or changes."""
    left = list(study.judged)
    for key in KEYS:
        pattern = getattr(note, key)
        names = sorted({getattr(each.series.name, key) for each in left})
        left = [each for each in left if fits(pattern, getattr(each.series.name, key))]
        if not left:
            return (
                f"No {key} matches {pattern!r}; nothing was acknowledged. "
                f"{suggested(pattern, names)}"
            )
    noted = date.fromisoformat(note.date).toordinal()
    found = []  # distance in days, and the change
    for each in left:
        days = [date.fromisoformat(label[:10]).toordinal() for label in each.labels]
        found += [
            (
                min(abs(days[place] - noted) for place in (one.index, one.last)),
                NightChange.of(study, each, one),
            )
            for one in each.detection.findings
        ]
    where = f"{counted(len(left), 'matching series')}"
    if not found:
        return f"No change was found in the {where}; nothing was acknowledged."
    found.sort(key=lambda row: row[0])
    near = "; ".join(change_sentence(one) for _, one in found[:NEAREST])
    return (
        f"No change in the {where} may lie on {note.date}; nothing was acknowledged. The nearest "
        f"are: {near}."
    )


def list_notes(path: Path, study: HistoryStudy) -> int:
    """Print every acknowledgement, and what it matches now."""
    notes = read_acknowledgements(path) if path.exists() else ()
    write_lines(f"{path}: {counted(len(notes), 'acknowledgement')}")
    for note in notes:
        names = [f"--{key} {getattr(note, key)!r}" for key in KEYS if getattr(note, key) != ANY]
        write_lines(f"{' '.join([f'--date {note.date}', *names])}: {note.reason}")
        none = "No detected change matches this acknowledgement."
        write_covered(covered_by(study, note) or [none])
    return 0


def write_covered(covered: Sequence[str], before: str = "") -> None:
    """Print what an acknowledgement matches."""
    write_lines(*(f"  {before}{each}" for each in covered[:MAX_LISTED]))
    if len(covered) > MAX_LISTED:
        write_lines(f"  and {len(covered) - MAX_LISTED} more")


ACK = "ack"
"""First word of the command that acknowledges a change."""
COMMON = (
    "--format",
    "--case",
    "--since",
    "--state",
    "--fail-on",
    "--report",
    "--mail",
    "--json",
)
"""What --help lists; --help-all has the others."""
EXAMPLES = """\
examples:
  hindmost history nightly/
  hindmost history nightly/ --since 30 --timer '*Total*' --report history.html
  hindmost history nightly/ --state history.state --mail mail.eml --to team@example.org
  hindmost history ack nightly/ --case 'green-*' --date 2021-07-17 --reason "new compiler"

Verdicts: fail (a confirmed slowdown), warn (a slowdown that is seen but not confirmed, a failed
run, a drift for the worse by more than 5 % for certain, a machine or case that fell silent), open
(an older slowdown that is still there), pass (no change found, with the step that could not be
seen), and unknown (too few nights to judge, or no result in the last days).
The exit status is 1 while a confirmed slowdown is neither recovered nor acknowledged. --fail-on
confirmed counts those of the last days only, --fail-on new all that fails or warns. 'ack'
acknowledges changes in a TOML file next to the data, to be kept in a repository.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Report what changed in nightly results, and next to which commits."
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
    add_selection(reading)
    reading.add_argument(
        "--renamed",
        action="append",
        metavar="OLD=NEW",
        default=[],
        help="take the results of case OLD as those of NEW before it was renamed; repeatable",
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
        help="report from this day on, or on these last days (%(default)s)",
    )
    telling.add_argument(
        "--fail-on",
        choices=GATES,
        default=GATES[0],
        help="exit with status 1 for confirmed slowdowns that are open, also older ones (open), "
        "only for those of the last days (confirmed), or for all that fails or warns (new); "
        "default: %(default)s",
    )
    telling.add_argument(
        "--json", action="store_true", help="print JSON with an entry for each series"
    )
    telling.add_argument("--report", type=Path, metavar="PAGE", help="write one HTML page")
    telling.add_argument(
        "--metrics",
        type=Path,
        metavar="FILE",
        help="write verdicts and levels as OpenMetrics text, for a collector of text files",
    )
    telling.add_argument(
        "--git",
        type=Path,
        metavar="FOLDER",
        help="list the commits of a change from this local repository, with a line to bisect",
    )
    mailing = parser.add_argument_group("mail")
    mailing.add_argument(
        "--mail",
        metavar="FILE|-",
        help="write the summary as a mail for 'sendmail -t'; with --state, nothing without news",
    )
    mailing.add_argument(
        "--webhook",
        type=Path,
        metavar="FILE",
        help="write the same as JSON for Slack or another webhook; empty without news",
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


def add_selection(parser: argparse._ActionsContainer) -> None:
    """Declare which series are read, and what is worse for them: also of ``hindmost compare``."""
    for name in ("machine", "case", "timer"):
        parser.add_argument(f"--{name}", help=f"select a {name}; * and ? are wildcards")
    parser.add_argument(
        "--larger-is-better",
        action="append",
        metavar="TIMER",
        default=[],
        help="count a fall of this timer as the change for the worse; * and ? are wildcards; "
        "repeatable (default: rates, recognised by name and unit)",
    )


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
    if arguments.mail or arguments.webhook:
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
    if arguments.metrics:
        from hindmost.analysis.history.exports import open_metrics

        with data_errors(arguments.metrics, "written"):
            write_output(arguments.metrics, open_metrics(study))
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
    return A_FINDING if study.fails(arguments.fail_on) else 0


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
    git = LocalGit.opened(arguments.git) if arguments.git else None
    study = judge_history(
        history,
        method=arguments.method,
        state=state,
        acknowledged=known,
        executor=arguments.executor,
        now=time.time(),
        renamed=renamed_cases(arguments.renamed),
        **wanted,
    )
    return replace(study, git=git)


def renamed_cases(given: Sequence[str]) -> dict[str, str]:
    """Return old name to new name of cases.

    Raises
    ------
    UsageError
        One is not written as OLD=NEW.
    """
    pairs = [each.partition("=") for each in given]
    if wrong := next((pair for pair in pairs if not pair[0] or not pair[2]), None):
        raise UsageError(f"--renamed {''.join(wrong)}: give the names of two cases, as OLD=NEW.")
    return {old: new for old, _, new in pairs}


def report(study: HistoryStudy, groups: tuple[ChangeGroup, ...]) -> None:
    """Print what changed, and the table of the series."""
    write_lines(scope(study), headline(study), *open_lines(study), *silence_lines(study))
    write_lines(*group_lines(groups), *revision_lines(study))
    write_lines(*filter(None, (newest_line(study), failure_line(study))), "")
    table = series_table(study)
    if table.rows:
        print_table(table)
    passing = sum(each.status(study.since) == PASS for each in study.judged)
    left = len(study.judged) - passing - len(table.rows)
    if left > 0:
        write_lines(f"not passing: {counted(left, 'more series')}; --json lists all")
    if passing:
        write_lines(f"{counted(passing, 'series')} {'pass' if passing > 1 else 'passes'}")


def series_table(study: HistoryStudy) -> Table:
    """Return the table of the series that do not pass: the worst verdict first."""
    columns = (
        Column("verdict"),
        Column("series", NAME),
        Column("nights", RIGHT),
        Column("level now", RIGHT),
        Column("since"),
        Column("changes", RIGHT),
        Column("outliers", RIGHT),
    )
    rows = []
    for each in [one for one in study.ranked() if one.status(study.since) != PASS][:MANY]:
        found = each.detection
        regime = found.regimes[-1] if found.regimes else None
        level = quantity(found.level_now, each.series.unit) if found.regimes else ""
        rows.append(
            (
                each.status(study.since),
                named(each.series.name),
                str(each.nights),
                "drifts" if regime and regime.trend else level,
                "too short" if regime is None else each.labels[regime.start],
                str(len(found.changes)),
                str(outlying_nights(each)),
            )
        )
    return Table(columns=columns, rows=rows)


def outlying_nights(judged: JudgedSeries) -> int:
    """Return the number of nights with an outlier."""
    return len(
        {
            judged.labels[place][:10]
            for run in judged.detection.outliers
            for place in range(run.start, run.stop)
        }
    )


def deliver(
    arguments: argparse.Namespace, study: HistoryStudy, groups: tuple[ChangeGroup, ...], now: float
) -> HistoryState | None:
    """Write the mail; return the state that records it, None without a state.

    With a state, a finding is mailed once and then in the digests; without news nothing is written.
    """
    from hindmost.analysis.history.mail_message import compose, plan_mail, write

    plan = None if study.state is None else plan_mail(study, study.state.mailed, now)
    message = None
    if plan is None or plan.is_due:
        message = compose(study, groups, plan=plan, now=now, recipients=arguments.to or ())
    else:
        warn(f"nothing new to mail; the next digest is due on {plan.next_digest}")
    if arguments.webhook:
        from hindmost.analysis.history.exports import webhook_text

        told = groups if plan is None else plan.news
        with data_errors(arguments.webhook, "written"):
            write_output(arguments.webhook, "" if message is None else webhook_text(study, told))
    if arguments.mail:
        write(message, None if arguments.mail == "-" else Path(arguments.mail))
    if plan is None or study.state is None:
        return study.state
    return replace(study.state, mailed=plan.record)


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
