"""What a page says first of a history: verdict, data, and the changes that cost most."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from hindmost.analysis.history.change_groups import (
    ChangeGroup,
    NightChange,
    group_changes,
    open_before,
)
from hindmost.analysis.history.headline import (
    age_line,
    data_remarks,
    newest_words,
    quiet_words,
    silence_lines,
    unseen_steps,
    verdict_words,
)
from hindmost.analysis.history.judged_series import named, worse_noun
from hindmost.analysis.history.page.data import SECTIONS, address_of, change_badge
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.runs.finding import MAX_SHOWN
from hindmost.analysis.show.facts import Link
from hindmost.analysis.show.overview import Judgement
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.templates import rendered
from hindmost.models.changepoint import ChangePoint, Trend
from hindmost.models.changepoint.detection import FAIL, OPEN, PASS
from hindmost.text import capital, p_words, percent, quantity, signed_percent

HINT = "Point at a night or a change; drag to zoom. Keyboard: ← → nights, ↑ ↓ changes, + - 0 zoom."


def leading_charts(study: HistoryStudy) -> list[Widget]:
    """Return the charts of the one or two series that changed most: that of the headline first."""
    recent = [finding for group in group_changes(study) for finding in group.findings]
    older = [finding for group in open_before(study) for finding in group.findings]
    changed = sorted(
        worst_of(recent) or older, key=lambda each: -abs(math.log1p(each.change.effect))
    )
    first = most_costly(recent)
    series = dict.fromkeys(
        each.judged.series.name for each in [*([first] if first else []), *changed]
    )
    return [
        Widget(html=rendered(SECTIONS, "leading", number, address_of(name), named(name), HINT))
        for number, name in enumerate(list(series)[:MAX_SHOWN])
    ]


def worst_of(recent: Sequence[NightChange]) -> list[NightChange]:
    """Return the confirmed changes for the worse; without any, those seen and the drifts."""
    return [each for each in recent if each.badge == FAIL] or [
        each for each in recent if each.judged.is_open(each.change)
    ]


def most_costly(recent: Sequence[NightChange]) -> NightChange | None:
    """Return the change for the worse that costs most: in seconds, where some are times."""
    worst = [each for each in worst_of(recent) if each.open]
    timed = [each for each in worst if each.judged.series.unit == "s"]
    return max(
        timed or worst,
        key=lambda each: abs(each.difference) if timed else abs(math.log1p(each.change.effect)),
        default=None,
    )


def history_sentences(study: HistoryStudy) -> list[str]:
    """Return what changed most, the verdict, and what is still open, the most important first."""
    status = study.status()
    said = f"{capital(verdict_words(study))} ({status})."
    older = still_open(study)
    if status == OPEN:
        said = f"{capital(', '.join(quiet_words(study)))} ({status})."
    in_order = (older, said) if status in (PASS, OPEN) else (worst_change(study), said, older)
    return list(filter(None, in_order))


def worst_change(study: HistoryStudy) -> str:
    """Say what changed or drifted most for the worse, and since when; empty if nothing did."""
    worst = most_costly([finding for group in group_changes(study) for finding in group.findings])
    if worst is None:
        return ""
    change, unit = worst.change, worst.judged.series.unit
    drift = isinstance(change, Trend)
    since = f"in a drift since {worst.dates[0]}" if drift else f"since {worst.date}"
    seen = isinstance(change, ChangePoint) and not change.confirmed
    name, cause = worst.judged.series.name, worst.cause
    subject, why = named(name), "" if cause is None else f"; cause: {cause.text}"
    if cause is not None and cause.own and cause.subject:
        # A stretch has its name by its place, which the cause says with lines.
        subject, why = capital(cause.subject), ""
    return (
        f"{subject} is {percent(abs(change.effect))} "
        f"{'slower' if unit == 's' else 'worse'} "
        f"({quantity(change.before, unit)} -> {quantity(change.after, unit)}) "
        f"{since}{', seen, not confirmed' if seen else ''}{why}."
    )


def still_open(study: HistoryStudy) -> str:
    """Say that older changes for the worse are still there, with the largest; empty if none is."""
    found = [finding for group in open_before(study) for finding in group.findings]
    if not found:
        return ""
    most = max(found, key=lambda each: abs(math.log1p(each.change.effect)))
    series, date = most.judged.series, most.judged.labels[most.change.last]
    noun = worse_noun({each.judged.series.unit for each in found})[len(found) > 1]
    which = "" if len(found) == 1 else "the largest, "
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{len(found)} older {noun} {verb} still there ({which}{named(series.name)}: "
        f"{signed_percent(most.change.effect)} since {date[:10]})."
    )


def judge_nights(study: HistoryStudy) -> Judgement:
    """Return whether the nights are good enough to conclude from."""
    old = age_line(study, time.time())
    said = [*([old] if old else []), *silence_lines(study), *data_remarks(study)]
    if not said:
        return Judgement(grade="good", text="The data are good: every series can be judged.")
    first, more = capital(said[0].rstrip(".")), len(said) - 1
    left = f"; {more} more" if more else ""
    return Judgement(grade="fair", text=f"The data are usable with care. {first}{left}.")


def history_conclusions(study: HistoryStudy) -> list[NightChange]:
    """Return the changes of the last days, those of the highest timers only."""
    return [
        with_links(finding, group, study.since)
        for group in group_changes(study)
        for finding in group.findings
    ]


def no_change(study: HistoryStudy) -> str:
    """Say that no change was found, and what could not have been seen."""
    steps = [each.visible_step(study.since) for each in study.judged]
    unseen = unseen_steps(steps)
    newest = newest_words(study)
    words = [
        f"No change was found in the last {study.last_days:.3g} days",
        *([capital(unseen)] if unseen else []),
        *([capital(newest)] if newest else []),
    ]
    return f"{'. '.join(words)}."


def with_links(finding: NightChange, group: ChangeGroup, since: float) -> NightChange:
    """Return a change as the page has it: with its verdict, its commits and its chart."""
    judged, change = finding.judged, finding.change
    seen = "drift"
    if isinstance(change, ChangePoint):
        seen = "confirmed" if change.confirmed else f"seen, not confirmed: {change.progress}"
    badge = change_badge(judged, change, since)
    return replace(
        finding,
        remedy=f"Commits to inspect: {group.commits}." if group.commits else "",
        basis=f"verdict {badge}; {p_words(change.p_anywhere, 1)}; {seen}",
        links=(Link(anchor=address_of(judged.series.name), text="The series"),),
    )
