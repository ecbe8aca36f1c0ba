"""What is said of a history on a terminal and in the text of a mail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hindmost.analysis.history.causes import Cause, Finding
from hindmost.analysis.history.direction import worse_noun
from hindmost.analysis.history.judged import BADGES, FAIL, WARN, Judged
from hindmost.analysis.history.labels import SECONDS_A_DAY, date_of
from hindmost.analysis.history.records import SeriesName
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.tables.terminal import seconds
from hindmost.models.significance import p_words

MOST_FINDINGS = 30
MOST_SERIES = 20
MOST_NAMES = 4
MOST_DRIFTS = 5
MOST_CASES = 8


def headline(study: HistoryStudy) -> str:
    """Say the verdict in one line."""
    changes = [(each, change) for each in study.judged for change in each.recent(study.since)]
    badges = Counter(each.badge(change) for each, change in changes)
    known = sum(each.acknowledgement(change) is not None for each, change in changes)
    failing = [case for case, badge in study.by_case().items() if badge == FAIL]

    def worse(badge: str) -> str:
        units = {each.series.unit for each, change in changes if each.badge(change) == badge}
        one, several = worse_noun(units)
        return f"{badges[badge]} {one if badges[badge] == 1 else several}"

    told = []
    if badges[FAIL]:
        told.append(f"{worse(FAIL)} confirmed in {counted(len(failing), 'case')}")
    if badges[WARN]:
        told.append(f"{worse(WARN)} seen, not yet confirmed")
    suspected = sum(each.is_suspected(study.since) for each in study.judged)
    if suspected:
        told.append(f"{counted(suspected, 'series')} suspected")
    drifting = sum(each.drifts_badly(study.since) for each in study.judged)
    if drifting:
        verb = "drifts" if drifting == 1 else "drift"
        told.append(f"{drifting} series {verb} for the worse")
    failed = study.failed_cases(study.since)
    if failed:
        runs = counted(failed.total(), "failed run")
        told.append(f"{runs} of {counted(len(failed), 'case')}")
    others = len(changes) - badges[FAIL] - badges[WARN] - known
    if others:
        told.append(f"{counted(others, 'change')} for the better or undone")
    if known:
        told.append(f"{counted(known, 'change')} known")
    return f"{study.status()}: {', '.join(told) or 'no change'}"


def scope(study: HistoryStudy) -> str:
    """Say what was judged."""
    names = [each.series.name for each in study.judged]
    machines = sorted({name.machine for name in names if name.machine})
    cases = {(name.machine, name.case) for name in names}
    nights = {label[:10] for each in study.judged for label in each.labels}
    first = min(nights, default=date_of(study.until))
    return (
        f"{', '.join(machines) or study.history.source}: {counted(len(names), 'series')} of "
        f"{counted(len(cases), 'case')}, {counted(len(nights), 'night')} from {first} to "
        f"{date_of(study.until)}; the last {study.last_days:.3g} days:"
    )


def cause_lines(causes: Sequence[Cause], most: int = MOST_FINDINGS) -> Iterator[str]:
    """Yield the lines on groups of changes; of many, the worst and largest are told."""
    everything = [finding for cause in causes for finding in cause.findings]
    order = sorted(
        everything, key=lambda each: (BADGES.index(each.badge), -abs(each.change.effect))
    )
    told = {id(finding) for finding in order[:most]}
    for cause in causes:
        shown = [finding for finding in cause.findings if id(finding) in told]
        if not shown:
            continue
        yield f"{cause_head(cause)}"
        for finding in shown:
            yield f"  {finding.badge:<4}  {finding_words(finding)}"
            yield from (f"        {line}" for line in more_on(finding))
        if len(shown) < len(cause.findings):
            yield f"        and {len(cause.findings) - len(shown)} more"
    left = sum(not any(id(each) in told for each in cause.findings) for cause in causes)
    if left:
        yield f"{counted(left, 'group')} of smaller changes more; --json has all"


def cause_head(cause: Cause) -> str:
    """Say when the changes of a group were, and next to which commits."""
    date, commits = cause.leading.date, cause.commits
    return f"{date}{': ' + commits if commits else ''}"


def finding_words(finding: Finding) -> str:
    """Say what changed, by how much, and how sure that is."""
    change, series = finding.change, finding.judged.series
    low, high = (100.0 * end for end in change.effect_interval)
    first, last = finding.dates
    when = "" if first == last else f" ({first} to {last})"
    return (
        f"{named(series.name)}: {quantity(change.before, series.unit)} -> "
        f"{quantity(change.after, series.unit)}, {100.0 * change.effect:+.1f} % "
        f"({low:+.1f} to {high:+.1f} %), {p_words(change.p_value, 1)}, on {finding.date}{when}"
    )


def more_on(finding: Finding) -> Iterator[str]:
    """Yield what else there is to say: state, note, parts."""
    judged, change = finding.judged, finding.change
    note = judged.acknowledgement(change)
    if note is not None:
        yield f"known: {note.reason}"
    elif judged.is_worse(change) and judged.is_undone(change):
        yield "undone since by more than half"
    elif judged.is_worse(change) and not change.confirmed:
        yield f"seen by {change.seen} of the {change.needed} passes that confirm it"
    if finding.parts:
        whole = change.after - change.before
        path = ", of which ".join(
            f"{signed(part.difference, judged.series.unit)} ({100.0 * part.share:.0f} %) in "
            f"{timer_name(part.timer)}"
            for part in finding.parts
        )
        yield f"of {signed(whole, judged.series.unit)}, {path}"
    inside = list(everything_within(finding))
    if inside:
        names = [
            f"{timer_name(each.judged.series.name.timer)} {100.0 * each.change.effect:+.1f} %"
            for each in inside[:MOST_NAMES]
        ]
        yield f"with it: {', '.join(names)}{more(len(inside) - MOST_NAMES)}"


def everything_within(finding: Finding) -> Iterator[Finding]:
    """Yield all findings below one."""
    for each in finding.within:
        yield each
        yield from everything_within(each)


def failure_line(study: HistoryStudy) -> str:
    """Say which runs failed in the last days; empty if none did."""
    failed = study.failed_cases(study.since)
    if not failed:
        return ""
    total = failed.total()
    names = [
        f"{', '.join(part for part in case if part)} ({count})"
        for case, count in failed.most_common(MOST_CASES)
    ]
    left = more(len(failed) - MOST_CASES)
    days = f"in the last {study.last_days:.3g} days"
    return f"{counted(total, 'run')} failed {days}: {'; '.join(names)}{left}"


def ranked_series(study: HistoryStudy) -> list[Judged]:
    """Return the series that a person may want to see: the worst first, then the newest change."""
    return sorted(
        study.judged,
        key=lambda each: (
            BADGES.index(each.status(study.since)),
            -max((change.time for change in each.detection.changes), default=0.0),
            each.series.name,
        ),
    )


def drift_lines(study: HistoryStudy) -> Iterator[str]:
    """Yield the series that certainly drift up to now, those for the worse first."""
    drifting = [
        (each, trend) for each in study.judged if (trend := each.drift(study.since)) is not None
    ]
    drifting.sort(key=lambda row: -row[1].effect * (1 if row[0].series.smaller_is_better else -1))
    for each, trend in drifting[:MOST_DRIFTS]:
        low, high = (100.0 * end for end in trend.effect_interval)
        yield (
            f"drifts: {named(each.series.name)}: {100.0 * trend.effect:+.1f} % ({low:+.1f} to "
            f"{high:+.1f} %) since {each.labels[trend.start]}"
        )
    if len(drifting) > MOST_DRIFTS:
        yield f"drifts:{more(len(drifting) - MOST_DRIFTS)}"


def revision_lines(study: HistoryStudy, most: int) -> Iterator[str]:
    """Yield what newer nights revised of what was told before, in the last days.

    Changes of the last days are told of one by one, those before are counted.
    """
    day = study.since / SECONDS_A_DAY
    revised = [
        (each, event)
        for each in study.judged
        for event in each.log
        if event.revises and event.time > day
    ]
    recent = [row for row in revised if row[0].detection.times[row[1].index] > day]
    for each, event in recent[:most]:
        yield (
            f"revised: {named(each.series.name)}: {100.0 * event.effect:+.1f} % of "
            f"{each.labels[event.index]} {event.kind} on {date_of(event.time * SECONDS_A_DAY)}; "
            f"{event.reason}"
        )
    if len(recent) > most:
        yield f"revised:{more(len(recent) - most)}"
    older = Counter(event.kind for each, event in revised) - Counter(
        event.kind for each, event in recent
    )
    if older:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(older.items()))
        yield f"revised: older changes: {kinds}; --json has the log with the reasons"


def named(name: SeriesName) -> str:
    """Write a series' name, without the colon that some timers end with."""
    return timer_name(str(name))


def timer_name(timer: str) -> str:
    """Write a timer's name, without the colon that some end with."""
    return timer.rstrip(": ")


def quantity(value: float, unit: str) -> str:
    """Write a value with its unit."""
    return seconds(value) if unit == "s" else f"{value:.4g} {unit}".strip()


def signed(value: float, unit: str) -> str:
    """Write a difference with its sign and unit."""
    return f"{'+' if value >= 0.0 else '-'}{quantity(abs(value), unit)}"


def counted(number: int, name: str) -> str:
    """Write how many there are of something."""
    return f"{number} {name}{'' if number == 1 or name == 'series' else 's'}"


def more(left: int) -> str:
    """Write how many are not named."""
    return f" and {left} more" if left > 0 else ""
