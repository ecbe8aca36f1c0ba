"""The summary of a history as a mail, in text and HTML."""

from __future__ import annotations

import time
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path

from hindmost.analysis.history.change_groups import ChangeGroup, NightChange
from hindmost.analysis.history.change_sentences import (
    change_sentence,
    details_of,
    group_heading,
    group_lines,
    open_lines,
    worst_of,
)
from hindmost.analysis.history.dates import date_of
from hindmost.analysis.history.headline import (
    age_line,
    case_words,
    data_remarks,
    failure_line,
    headline,
    newest_line,
    scope,
    silence_lines,
    verdict_words,
)
from hindmost.analysis.history.mail_plan import MailPlan, news_words
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.terms import MANY
from hindmost.analysis.show.templates import rendered
from hindmost.errors import DataError, UsageError
from hindmost.files import write_output
from hindmost.models.changepoint.detection import FAIL, OPEN, PASS, UNKNOWN, VERDICTS, WARN
from hindmost.output import write_bytes
from hindmost.printable import one_line
from hindmost.text import counted

COLOURS = {
    FAIL: "#b3261e",
    WARN: "#8a5a00",
    OPEN: "#9c3d00",
    PASS: "#2e6b34",
    UNKNOWN: "#5f6368",
}


def compose(
    study: HistoryStudy,
    groups: Sequence[ChangeGroup],
    *,
    plan: MailPlan | None = None,
    now: float | None = None,
    recipients: Sequence[str] = (),
) -> EmailMessage:
    """Return the message; it has no From, which sendmail sets, and no To unless it is given.

    Parameters
    ----------
    study : HistoryStudy
    groups : sequence of ChangeGroup
        The changes of the last days.
    plan : MailPlan, optional
        What is new; without it, everything is in the mail.
    now : float, optional
        Seconds since 1970, UTC; the clock's by default.
    recipients : sequence of str

    Raises
    ------
    UsageError
        An address is invalid.
    """
    message = EmailMessage()
    at = time.time() if now is None else now
    summary = headline(study)
    if plan is not None:
        fresh = [
            each
            for group in plan.news
            for finding in group.findings
            for each in (finding, *finding.descendants())
        ]
        summary = f"{study.status()}: {news_words(plan, fresh)}"
    try:
        message["Subject"] = f"hindmost: {summary}, {date_of(study.until)}"
        if recipients:
            message["To"] = ", ".join(recipients)
        to = message["To"]
        broken = to is not None and (to.defects or not to.addresses)
    except (ValueError, IndexError) as error:
        raise UsageError(f"These mail addresses are invalid: {error}.") from error
    if broken:
        raise UsageError(f"{str(to)!r} is not a mail address: write it as name@example.org.")
    message["Date"] = formatdate(at)
    message["Message-ID"] = make_msgid(domain="hindmost.invalid")
    message["Auto-Submitted"] = "auto-generated"
    told_of = groups if plan is None else plan.news
    message.set_content(text_of(study, told_of, plan, at))
    message.add_alternative(html_of(study, told_of, plan, at), subtype="html")
    return message


def remarks_of(study: HistoryStudy, plan: MailPlan | None, at: float) -> list[str]:
    """Return the lines before the changes: age, silence, and older open changes."""
    lines = [age_line(study, at), *silence_lines(study), newest_line(study)]
    if plan is None:
        return [line for line in (*lines, *open_lines(study)) if line]
    lines += plan.withdrawn
    if plan.again and plan.digest:
        lines.append(f"Weekly digest: {counted(plan.still_open, 'open change')}:")
        lines += [f"  {line}" for line in group_lines(plan.again)]
    elif plan.again:
        verb = "was" if plan.still_open == 1 else "were"
        lines.append(
            f"{counted(plan.still_open, 'open change')} {verb} mailed before; the next digest is "
            f"due on {plan.next_digest}. Use 'hindmost history ack' to acknowledge a change."
        )
    return [line for line in lines if line]


def text_of(
    study: HistoryStudy, groups: Sequence[ChangeGroup], plan: MailPlan | None, at: float
) -> str:
    """Return the mail as plain text."""
    lines = [scope(study), told_headline(study), *remarks_of(study, plan, at), ""]
    if plan is not None:
        lines.append("New changes:" if groups else "No new changes.")
    lines += [*group_lines(groups), ""]
    for badge, cases in cases_by_badge(study).items():
        lines.append(f"{badge}: {counted(len(cases), 'case')}")
        lines += [f"  {case}" for case in cases]
    lines += ["", *last_lines(study, plan)]
    return "\n".join(map(one_line, lines)).rstrip() + "\n"


def last_lines(study: HistoryStudy, plan: MailPlan | None) -> list[str]:
    """Return the failed runs, if there is news, and remarks on the data."""
    data = [f"Data: {line}" for line in data_remarks(study)]
    if plan is not None and not plan.others and not plan.digest:
        return data
    return [*filter(None, [failure_line(study)]), *data]


def told_headline(study: HistoryStudy) -> str:
    """Return the headline, with the verdict in capitals."""
    return f"{study.status().upper()}: {verdict_words(study)}"


def cases_by_badge(study: HistoryStudy) -> dict[str, list[str]]:
    """Return the cases of every verdict, the worst verdict first."""
    cases: dict[str, list[str]] = {badge: [] for badge in VERDICTS}
    for (machine, case), badge in sorted(study.by_case().items()):
        cases[badge].append(case_words((machine, case)))
    return {badge: named for badge, named in cases.items() if named}


def html_of(
    study: HistoryStudy, groups: Sequence[ChangeGroup], plan: MailPlan | None, at: float
) -> str:
    """Return the mail as HTML."""
    left = sum(len(group.findings) for group in groups) - MANY
    return rendered(
        "history/mail.html",
        "mail",
        scope=scope(study),
        headline=told_headline(study),
        colour=COLOURS[study.status()],
        remarks=remarks_of(study, plan, at),
        groups=[
            (
                group_heading(group),
                group.full_commits,
                group.link,
                group.history_lines,
                [cells_of(each) for each in shown],
            )
            for group, shown in worst_of(groups)
        ],
        left=counted(left, "smaller change") if left > 0 else "",
        quiet=plan is not None and not groups,
        cases=[(badge, COLOURS[badge], named) for badge, named in cases_by_badge(study).items()],
        rest=list(last_lines(study, plan)),
    )


def cells_of(finding: NightChange) -> tuple[str, str, str, list[str]]:
    """Return the row of a change: its verdict, that one's colour, a sentence, and details."""
    badge = finding.judged.verdict_on(finding.change)
    return badge, COLOURS[badge], change_sentence(finding), list(details_of(finding))


def write(message: EmailMessage | None, path: Path | None) -> None:
    """Write a message as ``sendmail -t`` reads it: to a file, or to stdout for None.

    Without a message, a file is left empty.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    data = b"" if message is None else message.as_bytes()
    if path is None:
        write_bytes(data)
        return
    try:
        write_output(path, data)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error
