"""What a page on a history says in tables: verdicts by case, recent changes, failed runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from hindmost.analysis.history.causes import Cause, Finding, group_changes
from hindmost.analysis.history.judged import WARN
from hindmost.analysis.history.labels import date_of
from hindmost.analysis.history.records import FailedRun
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.words import counted, headline, signed, timer_name
from hindmost.analysis.page.history_verdicts import (
    BADGES,
    badge_html,
    change_badge,
    factor_words,
    interval_level,
    link_html,
    series_badge,
)
from hindmost.analysis.page.parts import Column, Folded, Heading, Html, Paragraph, Part, Table
from hindmost.models.significance import p_number

MOST_ROWS = 14
"""Of a group of changes that stands open."""


def summary(study: HistoryStudy) -> list[Part]:
    """Return the verdicts by case, the worst first."""
    cases: dict[tuple[str, str], Counter[str]] = {}
    for judged in study.judged:
        name = judged.series.name
        badge = series_badge(judged, study.since)
        cases.setdefault((name.machine, name.case), Counter())[badge] += 1
    failed = study.failed_cases(study.since)
    for case in failed:
        cases.setdefault(case, Counter())

    def rank(item: tuple[tuple[str, str], Counter[str]]) -> tuple[int, list[int], tuple[str, str]]:
        case, counts = item
        verdict = BADGES.index(case_badge(counts, failed[case]))
        return verdict, [-counts[badge] for badge in BADGES], case

    worst = sorted(cases.items(), key=rank)
    rows = [
        (
            machine,
            case,
            badge_html(case_badge(counts, failed[machine, case])),
            *(str(counts[badge]) if counts[badge] else "" for badge in BADGES),
            str(failed[machine, case] or ""),
        )
        for (machine, case), counts in worst
    ]
    everything = sum(cases.values(), Counter())
    table = Table(
        columns=(
            Column("machine"),
            Column("case", "name"),
            Column("verdict"),
            *(Column(badge, "right") for badge in BADGES),
            Column("failed runs", "right"),
        ),
        rows=rows,
    )
    series = ", ".join(
        f"{badge_html(badge)} {everything[badge]:,}" for badge in BADGES if everything[badge]
    )
    return [
        Paragraph(headline(study)),
        Paragraph(Html(f"{counted(len(study.judged), 'series')}: {series or 'none'}.")),
        Folded(f"Verdicts of {counted(len(cases), 'case')}", [table]),
    ]


def case_badge(counts: Counter[str], failed: int) -> str:
    """Return the verdict on a case: its worst series', and at least "warn" if runs failed."""
    found = {badge for badge in BADGES if counts[badge]} | ({WARN} if failed else set())
    return next(badge for badge in BADGES if badge in found)


def events(study: HistoryStudy) -> list[Part]:
    """Return the changes of the last days, by what may have caused them."""
    found = group_changes(study)
    parts: list[Part] = [Heading(f"Changes of the last {study.last_days:.3g} days")]
    if not found:
        return [*parts, Paragraph(f"None up to {date_of(study.until)}.")]
    explanation = (
        "Changes that may have the same cause stand together: one lies in the other's interval of "
        "dates. A timer that is a part of another one stands below it, with its share."
    )
    level = f"{100.0 * interval_level(study):g} %"
    causes = [cause_part(cause, level) for cause in found]
    return [*parts, Paragraph(explanation, quiet=True), *causes]


def cause_part(cause: Cause, level: str) -> Part:
    """Return one group of changes."""
    rows = [row for finding in cause.findings for row in finding_rows(finding)]
    cases = {each.judged.series.name.case for each in cause.findings}
    many = f"{counted(len(rows), 'change')} in {counted(len(cases), 'case')}"
    commits = escape(cause.commits or "commits unknown")
    title = f"{badge_html(cause_badge(cause))} <b>{cause.leading.date}</b>, {many}: {commits}"
    table = Table(
        columns=(
            Column("verdict"),
            Column("case and timer", "name"),
            Column("from", "short"),
            Column("change", "right"),
            Column(f"effect, {level} interval", "right"),
            Column("p", "right"),
            Column("explained by", "wide"),
        ),
        rows=rows,
    )
    return Folded(Html(title), [table], opened=len(rows) <= MOST_ROWS)


def finding_rows(finding: Finding, within: Sequence[Finding] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a change and of those of its parts.

    Parameters
    ----------
    finding : Finding
    within : sequence of Finding
        Those that it is a part of, the nearest last.
    """
    judged, change = finding.judged, finding.change
    name = judged.series.name
    low, high = (100.0 * end for end in change.effect_interval)
    timer = link_html(name, timer_name(name.timer))
    if within:
        label = f'<span class="part" style="padding-left: {len(within)}em">└ {timer}</span>'
        told = [f"{100.0 * difference(finding) / difference(within[-1]):.0f} % of that above"]
    else:
        case = escape(" ".join(part for part in (name.machine, name.case) if part))
        label = f'<span class="quiet">{case}</span><br>{timer}'
        told = list(parts_words(finding))
    yield (
        badge_html(change_badge(judged, change)),
        Html(label),
        finding.date,
        factor_words(judged, change.before, change.after),
        f"{100.0 * change.effect:+.1f} % ({low:+.1f} to {high:+.1f})",
        p_number(change.p_value, 1),
        "; ".join([*note_words(finding), *told]),
    )
    for each in finding.within:
        yield from finding_rows(each, [*within, finding])


def note_words(finding: Finding) -> Iterator[str]:
    """Yield why a change needs no alarm, if someone has noted that."""
    note = finding.judged.acknowledgement(finding.change)
    if note is not None:
        yield f"known: {note.reason}"


def parts_words(finding: Finding) -> Iterator[str]:
    """Yield in which parts most of a change lies."""
    if finding.parts:
        unit = finding.judged.series.unit
        yield ", of which ".join(
            f"{100.0 * part.share:.0f} % ({signed(part.difference, unit)}) "
            f"in {timer_name(part.timer)}"
            for part in finding.parts
        )


def difference(finding: Finding) -> float:
    """Return a change in the unit of its series."""
    return finding.change.after - finding.change.before


def cause_badge(cause: Cause) -> str:
    """Return the worst verdict on a group of changes."""
    findings = list(cause.findings)
    for each in findings:  # grows while it is read
        findings += each.within
    badges = {change_badge(each.judged, each.change) for each in findings}
    return next(badge for badge in BADGES if badge in badges)


def failures(failed: Sequence[FailedRun]) -> list[Part]:
    """Return the failed runs, newest first."""
    parts: list[Part] = [Heading("Failed runs")]
    if not failed:
        return [*parts, Paragraph("None.")]
    table = Table(
        columns=(
            Column("date"),
            Column("machine"),
            Column("case", "name"),
            Column("reason", "wide"),
            Column("file"),
        ),
        rows=[
            (
                date_of(run.time),
                run.machine,
                run.case,
                run.reason,
                run.file.rsplit("/", 1)[-1],
            )
            for run in reversed(failed)
        ],
    )
    return [*parts, Folded(counted(len(failed), "failed run"), [table])]


def remarks(study: HistoryStudy) -> list[Part]:
    """Return what was refused, left out or assumed."""
    refused = [f"{name}: {reason}" for name, reason in study.refused.items()]
    lines = [*study.remarks, *study.history.warnings, *refused]
    if not lines:
        return []
    rows = [(line,) for line in lines]
    table = Table(columns=(Column("remark", "wide"),), rows=rows)
    return [Heading("Remarks"), Folded(counted(len(lines), "remark"), [table])]
