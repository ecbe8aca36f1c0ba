"""The summary of a history as a mail: text and HTML, for sendmail or a mail server."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path

from hindmost.analysis.history.causes import Cause, Finding
from hindmost.analysis.history.judged import BADGES, FAIL, PASS, WARN
from hindmost.analysis.history.labels import date_of
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.words import (
    cause_head,
    cause_lines,
    counted,
    drift_lines,
    failure_line,
    finding_words,
    headline,
    more_on,
    scope,
)
from hindmost.errors import DataError, UsageError

MOST_FINDINGS = 30
COLOURS = {FAIL: "#b3261e", WARN: "#8a5a00", PASS: "#2e6b34"}


def compose(
    study: HistoryStudy,
    causes: Sequence[Cause],
    *,
    sender: str | None = None,
    recipients: Sequence[str] = (),
) -> EmailMessage:
    """Make the message; it has no From or To where none are given.

    Raises
    ------
    UsageError
        An address is none.
    """
    message = EmailMessage()
    told = headline(study)
    try:
        message["Subject"] = f"hindmost: {told}, {date_of(study.until)}"
        if sender:
            message["From"] = sender
        if recipients:
            message["To"] = ", ".join(recipients)
        broken = [
            str(message[name])
            for name in ("From", "To")
            if name in message and (message[name].defects or not message[name].addresses)
        ]
    except (ValueError, IndexError) as error:
        raise UsageError(f"A mail cannot be made for these addresses: {error}.") from error
    if broken:
        raise UsageError(f"{broken[0]!r} is no mail address: write it as name@example.org.")
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain="hindmost.invalid")
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text_of(study, causes))
    message.add_alternative(html_of(study, causes), subtype="html")
    return message


def text_of(study: HistoryStudy, causes: Sequence[Cause]) -> str:
    """Return the part that is plain text."""
    lines = [scope(study), told_headline(study), "", *cause_lines(causes, MOST_FINDINGS), ""]
    for badge, cases in cases_by_badge(study).items():
        lines.append(f"{badge}: {counted(len(cases), 'case')}")
        lines += [f"  {case}" for case in cases]
    lines += ["", *drift_lines(study), failure_line(study)]
    return "\n".join(lines).rstrip() + "\n"


def told_headline(study: HistoryStudy) -> str:
    """Return the verdict, with its badge in capitals."""
    badge, _, rest = headline(study).partition(": ")
    return f"{badge.upper()}: {rest}"


def cases_by_badge(study: HistoryStudy) -> dict[str, list[str]]:
    """Return the cases of every verdict, the worst verdict first."""
    cases: dict[str, list[str]] = {badge: [] for badge in BADGES}
    for (machine, case), badge in sorted(study.by_case().items()):
        cases[badge].append(", ".join(part for part in (machine, case) if part) or "(no name)")
    return {badge: named for badge, named in cases.items() if named}


def html_of(study: HistoryStudy, causes: Sequence[Cause]) -> str:
    """Return the part that is HTML; styles are inline, as mail programs want them."""
    shown = [finding for cause in causes for finding in cause.findings]
    shown.sort(key=lambda each: (BADGES.index(each.badge), -abs(each.change.effect)))
    told = {id(finding) for finding in shown[:MOST_FINDINGS]}
    parts = []
    for cause in causes:
        rows = [finding_html(each) for each in cause.findings if id(each) in told]
        if rows:
            head = html.escape(cause_head(cause))
            parts.append(f"<h3>{head}</h3><table cellpadding='4'>{''.join(rows)}</table>")
    if len(shown) > MOST_FINDINGS:
        parts.append(f"<p>{len(shown) - MOST_FINDINGS} smaller changes more.</p>")
    cases = "".join(
        f"<tr><td valign='top'>{badge_html(badge)}</td><td>{'<br>'.join(map(html.escape, named))}"
        "</td></tr>"
        for badge, named in cases_by_badge(study).items()
    )
    rest = "".join(
        f"<p>{html.escape(line)}</p>" for line in (*drift_lines(study), failure_line(study)) if line
    )
    return (
        "<html><body style='font-family: sans-serif'>"
        f"<p>{html.escape(scope(study))}</p>"
        f"<h2 style='color: {COLOURS[study.status()]}'>{html.escape(told_headline(study))}</h2>"
        f"{''.join(parts)}<h3>By case</h3><table cellpadding='4'>{cases}</table>"
        f"{rest}</body></html>\n"
    )


def finding_html(finding: Finding) -> str:
    """Return a row on a change."""
    lines = "".join(f"<br><small>{html.escape(line)}</small>" for line in more_on(finding))
    words = html.escape(finding_words(finding))
    return f"<tr><td valign='top'>{badge_html(finding.badge)}</td><td>{words}{lines}</td></tr>"


def badge_html(badge: str) -> str:
    """Return a verdict in its colour."""
    return f"<b style='color: {COLOURS[badge]}'>{badge}</b>"


def write(message: EmailMessage, path: Path | None) -> None:
    """Write a message as ``sendmail -t`` takes it, to a file, or to stdout for None.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    data = message.as_bytes()
    if path is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error
