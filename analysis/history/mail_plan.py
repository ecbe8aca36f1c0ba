"""What a mail contains: a finding once, then in a weekly digest while it is open."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from itertools import groupby
from operator import attrgetter

from hindmost.analysis.history.change_groups import ChangeGroup, NightChange, grouped
from hindmost.analysis.history.change_sentences import revision_words
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.mail_record import (
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
from hindmost.models.changepoint import ChangePoint
from hindmost.models.changepoint.changes import Finding
from hindmost.models.changepoint.detection import FAIL, PASS, SILENT_DAYS, VERDICTS, WARN
from hindmost.models.changepoint.revisions import WITHDRAWN
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
        name = each.series.name
        results.setdefault((name.machine, name.case), []).extend(each.series.times.tolist())
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
