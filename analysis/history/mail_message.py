"""The summary of a history as a mail: a finding once, then in a weekly digest while it is open."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from hindmost.analysis.history.change_groups import (
    ChangeGroup,
    NightChange,
    change_sentence,
    details_of,
    group_heading,
    group_lines,
    grouped,
    open_lines,
    revision_words,
    worst_of,
)
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
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
from hindmost.analysis.history.judged_series import MANY, JudgedSeries
from hindmost.analysis.history.state import (
    CHANGE,
    DIGEST_DAYS,
    DRIFT,
    FAILURE,
    SILENCE,
    MailedItem,
    MailRecord,
    is_digest_due,
    taken,
)
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.show.templates import rendered
from hindmost.errors import UsageError
from hindmost.files import data_errors, write_output
from hindmost.models.changepoint import ChangePoint
from hindmost.models.changepoint.changes import Finding
from hindmost.models.changepoint.detection import (
    FAIL,
    OPEN,
    PASS,
    SILENT_DAYS,
    UNKNOWN,
    VERDICTS,
    WARN,
)
from hindmost.models.changepoint.revisions import WITHDRAWN
from hindmost.output import write_bytes
from hindmost.printable import one_line
from hindmost.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPlan:
    """The contents of tonight's mail.

    Attributes
    ----------
    news : tuple of ChangeGroup
        Changes that were not mailed, or only with a milder verdict.
    others : int
        Cases that fail, and silent machines and cases, that were not mailed.
    again : tuple of ChangeGroup
        Open changes that were mailed before: a digest lists them. In the first mail, those older
        than the last days.
    still_open : int
        Number of these changes.
    withdrawn : tuple of str
        Sentences on mailed changes that were confirmed and that later nights have refuted.
    digest : bool
        Whether the digest is due.
    next_digest : str
        The date of the next one.
    record : MailRecord
        To be kept once the mail is sent.
    """

    news: tuple[ChangeGroup, ...]
    others: int
    again: tuple[ChangeGroup, ...]
    still_open: int
    withdrawn: tuple[str, ...] = ()
    digest: bool
    next_digest: str
    record: MailRecord

    @property
    def is_due(self) -> bool:
        """Whether there is anything to send."""
        return bool(self.news or self.others or self.withdrawn or (self.digest and self.again))


def plan_mail(study: HistoryStudy, record: MailRecord, now: float) -> MailPlan:
    """Decide what a mail contains.

    Parameters
    ----------
    study : HistoryStudy
    record : MailRecord
        What was mailed so far.
    now : float
        Seconds since 1970, UTC.
    """
    digest = is_digest_due(record.digest, now)
    left = list(record.items)
    fresh: list[NightChange] = []
    again: list[NightChange] = []
    kept: list[MailedItem] = []
    others = 0
    for item, finding in sorted(items_of(study, now), key=lambda each: each[0].last):
        before = taken(left, item)
        is_new = before is None or VERDICTS.index(item.badge) < VERDICTS.index(before.badge)
        mailed = is_new or (digest and item.badge != PASS)
        kept.append(item if mailed or before is None else replace(item, mailed=before.mailed))
        if finding is None:
            others += is_new
            continue
        is_recent = finding.judged.times[finding.change.last] > study.since
        if is_new and (record.digest is not None or is_recent):
            fresh.append(finding)
        elif item.badge in (FAIL, WARN):
            again.append(finding)
    withdrawn = tuple(line for item in left if (line := withdrawal(study, item)))
    # Told once; if the change is found again, it is news.
    left = [replace(item, badge=PASS) if withdrawal(study, item) else item for item in left]
    forgotten = now - SILENT_DAYS * SECONDS_A_DAY  # until then, what is no longer found may return
    begun = now if digest or record.digest is None else record.digest
    return MailPlan(
        news=grouped(study, fresh),
        others=others,
        again=grouped(study, again),
        still_open=len(again),
        withdrawn=withdrawn,
        digest=digest,
        next_digest=(date.fromisoformat(date_of(begun)) + timedelta(DIGEST_DAYS)).isoformat(),
        record=MailRecord(
            digest=begun,
            items=(*kept, *(item for item in left if item.mailed > forgotten)),
        ),
    )


def withdrawal(study: HistoryStudy, item: MailedItem) -> str:
    """Return the sentence on a mailed change that was confirmed and is withdrawn; else nothing."""
    if item.kind != CHANGE or item.badge != FAIL:
        return ""
    for judged in study.judged:
        log = judged.log if judged.series.name == item.name else ()
        there = (
            event
            for event in reversed(log)
            if (event.effect > 0.0) == item.rises
            and any(
                at is not None and item.first <= at <= item.last
                for at in (event.changed, event.was)
            )
        )
        # What was withdrawn once may have been found again since, or moved from there.
        latest = next(there, None)
        if latest is not None and latest.kind == WITHDRAWN:
            return f"Withdrawn: {item.name}: {revision_words(latest)}"
    return ""


def items_of(study: HistoryStudy, now: float) -> Iterator[tuple[MailedItem, NightChange | None]]:
    """Yield all items that could be mailed: changes with their findings, and the others."""
    for judged in study.judged:
        for change in (*judged.recent(study.since), *judged.open_before(study.since)):
            yield change_item(judged, change, now), NightChange.of(study, judged, change)
    for name, first, last in failing(study):
        if last > study.since:
            yield MailedItem(kind=FAILURE, name=name, first=first, last=last, mailed=now), None
    silent = {(machine, ""): at for machine, at in study.silent_machines().items()}
    silent |= {case: at for case, at in study.silent_cases().items() if at > study.since}
    for (machine, case), at in silent.items():
        name = SeriesName(machine=machine, case=case, timer="")
        yield MailedItem(kind=SILENCE, name=name, first=at, last=at, mailed=now), None


def failing(study: HistoryStudy) -> Iterator[tuple[SeriesName, float, float]]:
    """Yield the cases that failed, with the times of the first and the last run in a row."""
    results: dict[tuple[str, str], list[float]] = {}
    for each in study.judged:
        results.setdefault(each.series.name.place, []).extend(each.series.times.tolist())
    of_case = attrgetter("machine", "case")
    dated = [run for run in study.history.failures if run.time <= study.until]
    for case, runs in groupby(sorted(dated, key=of_case), of_case):
        passed = sorted(results.get(case, []))
        times = sorted(run.time for run in runs)
        # Runs with as many results before them are in a row.
        for _, row in groupby(times, partial(bisect_left, passed)):
            first, *others = row
            name = SeriesName(machine=case[0], case=case[1], timer="")
            yield name, first, others[-1] if others else first


def change_item(judged: JudgedSeries, change: Finding, now: float) -> MailedItem:
    """Return a change or drift as an item; with some observations around it."""
    times = judged.series.times
    first, last = judged.places_of(change)
    return MailedItem(
        kind=CHANGE if isinstance(change, ChangePoint) else DRIFT,
        name=judged.series.name,
        first=float(times[first]),
        last=float(times[last]),
        rises=change.effect > 0.0,
        badge=judged.verdict_on(change),
        mailed=now,
    )


def news_words(plan: MailPlan, findings: Sequence[NightChange]) -> str:
    """Return in a few words what is new.

    Parameters
    ----------
    plan : MailPlan
    findings : sequence of NightChange
        All new ones, including those within others.
    """
    worse = sum(finding.judged.verdict_on(finding.change) != PASS for finding in findings)
    counts = (worse, "new finding"), (len(findings) - worse, "other new change")
    phrases = [counted(*each) for each in (*counts, (plan.others, "new warning")) if each[0]]
    if plan.withdrawn:
        phrases.append(f"{len(plan.withdrawn)} withdrawn")
    if not phrases:
        phrases.append("nothing new")
    if plan.still_open:
        phrases.append(f"{plan.still_open} still open")
    if plan.digest and plan.again:
        phrases.append("weekly digest")
    return ", ".join(phrases)


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
    with data_errors(path, "written"):
        write_output(path, data)
