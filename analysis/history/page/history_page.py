"""The page on a history: verdicts by case, recent changes, every series, failed runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from hindmost.analysis.history.change_groups import (
    ChangeGroup,
    NightChange,
    group_changes,
    open_before,
    open_lines,
    state_words,
)
from hindmost.analysis.history.dates import date_of
from hindmost.analysis.history.headline import silence_lines
from hindmost.analysis.history.judged_series import MANY, timer_name
from hindmost.analysis.history.page.data import (
    BADGES,
    HINT,
    SECTIONS,
    address_of,
    badge_html,
    change_badge,
    factor_words,
    history_data,
    packed,
    series_badge,
)
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.show.html_charts import CHART_SCRIPTS
from hindmost.analysis.show.page import Folded, Heading, Paragraph, Part, Widget
from hindmost.analysis.show.table import Column, Table
from hindmost.analysis.show.templates import rendered
from hindmost.models.changepoint.detection import WARN
from hindmost.text import counted, p_number, percent, signed_percent


def summary(study: HistoryStudy) -> list[Part]:
    """Return the verdicts by case, the worst first; the first screen has the headline."""
    cases: dict[tuple[str, str], Counter[str]] = {}
    for judged in study.judged:
        badge = series_badge(judged, study.since)
        cases.setdefault(judged.series.name.place, Counter())[badge] += 1
    failed = study.failed_cases()
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
    counts = [(badge_html(badge), everything[badge]) for badge in BADGES if everything[badge]]
    return [
        *(Paragraph(line) for line in islice(open_lines(study), 1)),
        *(Paragraph(line) for line in silence_lines(study)),
        Paragraph(rendered(SECTIONS, "counts", counted(len(study.judged), "series"), counts)),
        Folded(f"Verdicts of {counted(len(cases), 'case')}", [table]),
    ]


def case_badge(counts: Counter[str], failed: int) -> str:
    """Return the verdict on a case: its worst series', and at least "warn" if runs failed."""
    found = {badge for badge in BADGES if counts[badge]} | ({WARN} if failed else set())
    return next(badge for badge in BADGES if badge in found)


def events(study: HistoryStudy) -> list[Part]:
    """Return the groups of changes of the last days."""
    found = group_changes(study)
    parts: list[Part] = [Heading(f"Changes of the last {study.last_days:.3g} days")]
    if not found:
        return [*parts, Paragraph(f"No changes up to {date_of(study.until)}.")]
    explanation = (
        "Changes that may have the same cause are grouped: the date of one lies in the other's "
        "interval of dates. A timer that is part of another one is below it, with its share."
    )
    level = percent(study.level, None)
    groups = [group_part(group, level, study.since) for group in found]
    return [*parts, Paragraph(explanation, quiet=True), *groups]


def still_open(study: HistoryStudy) -> list[Part]:
    """Return the changes for the worse from before the last days that are still open."""
    found = open_before(study)
    if not found:
        return []
    level = percent(study.level, None)
    parts: list[Part] = [
        Heading("Older changes for the worse, still open"),
        Paragraph("Neither recovered nor acknowledged; newest first.", quiet=True),
        *(group_part(group, level, study.since, opened=False) for group in found[:MANY]),
    ]
    left = len(found) - MANY
    if left > 0:
        parts.append(
            Paragraph(f"and {counted(left, 'older group')}; 'hindmost history --json' lists all")
        )
    return parts


def group_part(group: ChangeGroup, level: str, since: float, *, opened: bool = True) -> Part:
    """Return one group of changes."""
    rows = [row for finding in group.findings for row in change_rows(finding, since)]
    cases = {finding.judged.series.name.case for finding in group.findings}
    many = f"{counted(len(rows), 'change')} in {counted(len(cases), 'case')}"
    badge, commits = badge_html(group_badge(group, since)), group.commits or "unknown commits"
    title = rendered(
        SECTIONS,
        "group_title",
        badge,
        group.leading.date,
        many,
        commits,
        group.full_commits,
        group.link,
    )
    table = Table(
        columns=(
            Column("verdict"),
            Column("case and timer", "name"),
            Column("from", "short"),
            Column("change", "right"),
            Column(f"effect, {level} interval", "right"),
            Column("p", "right"),
            Column("state and cause", "wide"),
        ),
        rows=rows,
    )
    lines = [Paragraph(line, quiet=True) for line in group.history_lines]
    return Folded(title, [*lines, table], opened=opened and len(rows) <= MANY)


def change_rows(
    finding: NightChange, since: float, within: Sequence[NightChange] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a change and of those of its parts.

    Parameters
    ----------
    finding : NightChange
    since : float
        Changes after it are recent.
    within : sequence of NightChange
        Those that it is a part of, the nearest last.
    """
    judged, change = finding.judged, finding.change
    name = judged.series.name
    timer = rendered(SECTIONS, "link", address_of(name), timer_name(name.timer))
    case = " ".join(filter(None, name.place))
    label = rendered(SECTIONS, "timer", timer, len(within), case)
    explained = [] if within else [state_words(finding)]
    if finding.cause is not None:
        explained.append(finding.cause.text)
    if within and finding.cause is None:
        share = percent(finding.difference / within[-1].difference, 0)
        explained.append(f"{share} of the above")
    yield (
        badge_html(change_badge(judged, change, since)),
        label,
        finding.date,
        factor_words(judged, change.before, change.after),
        signed_percent(change.effect, change.effect_interval),
        p_number(change.p_anywhere, 1),
        "; ".join(explained),
    )
    for each in finding.within:
        yield from change_rows(each, since, [*within, finding])


def group_badge(group: ChangeGroup, since: float) -> str:
    """Return the worst verdict on a group of changes."""
    findings = list(group.findings)
    for each in findings:  # grows while it is read
        findings += each.within
    badges = {change_badge(finding.judged, finding.change, since) for finding in findings}
    return next(badge for badge in BADGES if badge in badges)


def failures(failed: Sequence[FailedRun]) -> list[Part]:
    """Return the failed runs, newest first."""
    parts: list[Part] = [Heading("Failed runs")]
    if not failed:
        return [*parts, Paragraph("No failed runs.")]
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
    """Return remarks on what was refused, omitted or assumed."""
    refused = [f"{name}: {reason}" for name, reason in study.refused.items()]
    lines = [*study.history.warnings, *refused]
    if not lines:
        return []
    rows = [(line,) for line in lines]
    table = Table(columns=(Column("remark", "wide"),), rows=rows)
    return [Heading("Remarks"), Folded(counted(len(lines), "remark"), [table])]


HERE = Path(__file__).parent
OWN = (
    "data",
    "chooser",
    "chart",
    "matrix",
    "start",
)
SCRIPTS = (
    *CHART_SCRIPTS,
    *(HERE / f"{name}.js" for name in OWN),
)
VERDICTS_ANCHOR = "verdicts"
METHOD = (
    "Changes are steps of the level. Nights that leave a level which later returns are outliers, "
    "and slow drifts are trends. Each change has an interval of dates; the commits to inspect are "
    "those after the last night before that interval, up to its last night."
)


def history_parts(study: HistoryStudy) -> list[Part]:
    """Return all sections after the first screen; one history on a page has them."""
    parts: list[Part] = [
        *([matrix()] if study.judged else []),
        Heading("Verdicts", anchor=VERDICTS_ANCHOR),
        *summary(study),
        *events(study),
        *still_open(study),
    ]
    if study.judged:
        parts.append(explorer(study))
    return [
        *parts,
        *failures(study.history.failures),
        *remarks(study),
        Paragraph(f"{METHOD} Method: {study.method}.", quiet=True),
    ]


def explorer(study: HistoryStudy) -> Widget:
    """Return the chosen series: chooser, chart, changes, regimes and their histograms."""
    return Widget(
        html=rendered(SECTIONS, "explorer", packed(history_data(study)), HINT),
        anchor="explorer",
        begins="One series",
        scripts=SCRIPTS,
        styles=(HERE / "history.css",),
    )


def matrix() -> Widget:
    """Return the map of all series over time."""
    return Widget(anchor="matrix", begins="All series over time", html=rendered(SECTIONS, "matrix"))
