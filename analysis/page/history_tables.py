"""What a page on a history says in tables: verdicts by case, recent changes, failed runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape

from hindmost.analysis.figures.units import several
from hindmost.analysis.history.records import FailedRun
from hindmost.analysis.history.study import SECONDS_A_DAY, HistoryStudy
from hindmost.analysis.page.history_events import Cause, causes, explained
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

MOST_ROWS = 14
"""Of a group of changes that stands open."""
COMMIT = 10
"""Letters of a commit that are shown."""


def day_words(day: float) -> str:
    """Write a day since 1970."""
    return datetime.fromtimestamp(day * SECONDS_A_DAY, timezone.utc).strftime("%Y-%m-%d")


def summary(study: HistoryStudy) -> list[Part]:
    """Return the verdicts by case, the worst first."""
    cases: dict[tuple[str, str], Counter[str]] = {}
    for judged in study.judged:
        name = judged.series.name
        badge = series_badge(judged, study.since)
        cases.setdefault((name.machine, name.case), Counter())[badge] += 1
    worst = sorted(cases.items(), key=lambda item: ([-item[1][badge] for badge in BADGES], item[0]))
    rows = [
        (
            machine,
            case,
            badge_html(next(badge for badge in BADGES if counts[badge])),
            *(str(counts[badge]) if counts[badge] else "" for badge in BADGES),
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
        ),
        rows=rows,
    )
    counted = ", ".join(
        f"{badge_html(badge)} {everything[badge]:,}" for badge in BADGES if everything[badge]
    )
    return [
        Paragraph(Html(f"{len(study.judged):,} series: {counted or 'none'}.")),
        Folded(f"Verdicts of {several(len(cases), 'case')}", [table]),
    ]


def events(study: HistoryStudy) -> list[Part]:
    """Return the changes of the last days, by what may have caused them."""
    found = causes(study)
    days = several(round(study.last_days), "day") if study.last_days >= 1 else "hours"
    parts: list[Part] = [Heading(f"Changes of the last {days}")]
    if not found:
        newest = day_words(study.until / SECONDS_A_DAY)
        return [*parts, Paragraph(f"None up to {newest}.")]
    many = sum(len(cause.told) for cause in found)
    parts.append(
        Paragraph(
            f"{several(many, 'change')}, grouped by the fewest nights that explain all of them. A "
            "timer that is a part of another one stands below it, with its share of the change.",
            quiet=True,
        )
    )
    level = f"{100.0 * interval_level(study):g} %"
    return [*parts, *(cause_part(cause, level) for cause in found)]


def cause_part(cause: Cause, level: str) -> Part:
    """Return one group of changes."""
    first, last = (day_words(day) for day in cause.days)
    when = first if first == last else f"{first} to {last}"
    timers = f"{several(len(cause.told), 'timer')} of {several(cause.cases, 'case')}"
    title = Html(f"<b>{when}</b>, {timers}: {escape(commit_words(cause))}")
    return Folded(title, [cause_table(cause, level)], opened=len(cause.told) <= MOST_ROWS)


def commit_words(cause: Cause) -> str:
    """Write the commits between the last night before and the first one after."""
    told = cause.narrowest
    first, last = told.change.interval
    parts = told.judged.series.commit_parts
    before, after = parts[max(first - 1, 0)], parts[last]
    moved = [
        f"{repository} {str(before.get(repository, '?'))[:COMMIT]} → {commit[:COMMIT]}".strip()
        for repository, commit in after.items()
        if before.get(repository) != commit
    ]
    if not after:
        return "commits unknown"
    return ", ".join(moved) or "no commit changed, look at the machine"


def cause_table(cause: Cause, level: str) -> Table:
    """Return the table of a group of changes."""
    rows = []
    for place, told in enumerate(cause.told):
        judged, change = told.judged, told.change
        name = judged.series.name
        low, high = (100.0 * end for end in change.effect_interval)
        timer = link_html(name, name.timer)
        if told.depth:
            timer = Html(f'<span class="part" style="padding-left: {told.depth}em">└ {timer}</span>')
        below = explained(cause, place)
        share = "" if told.share is None else f"{100.0 * told.share:.0f} % of it"
        parts = "" if below is None else f"parts explain {100.0 * below:.0f} %"
        rows.append(
            (
                badge_html(change_badge(judged, change)),
                "" if told.depth else f"{name.machine} {name.case}".strip(),
                timer,
                judged.labels[change.index],
                factor_words(judged, change.before, change.after),
                f"{100.0 * change.effect:+.1f} % ({low:+.1f} to {high:+.1f})",
                f"{change.p_value:.1g}",
                "; ".join(word for word in (share, parts) if word),
            )
        )
    return Table(
        columns=(
            Column("verdict"),
            Column("case", "name"),
            Column("timer", "name"),
            Column("from", "short"),
            Column("change", "right"),
            Column(f"effect, {level} interval", "right"),
            Column("p", "right"),
            Column("hierarchy", "short"),
        ),
        rows=rows,
    )


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
                day_words(run.time / SECONDS_A_DAY),
                run.machine,
                run.case,
                run.reason,
                run.file.rsplit("/", 1)[-1],
            )
            for run in reversed(failed)
        ],
    )
    return [*parts, Folded(several(len(failed), "failed run"), [table])]


def remarks(study: HistoryStudy) -> list[Part]:
    """Return what was refused, left out or assumed."""
    refused = [f"{name}: {reason}" for name, reason in study.refused.items()]
    lines = [*study.remarks, *study.history.warnings, *refused]
    if not lines:
        return []
    rows = [(line,) for line in lines]
    table = Table(columns=(Column("remark", "wide"),), rows=rows)
    return [Heading("Remarks"), Folded(several(len(lines), "remark"), [table])]
