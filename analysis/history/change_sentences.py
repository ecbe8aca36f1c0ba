"""Sentences on changes and drifts, for a terminal and the text of a mail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from hindmost.analysis.history.change_groups import ChangeGroup, NightChange, open_before, weight
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.judged_series import FEW, MANY, named, signed, timer_name, worse_noun
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.show.phrases import Sentence, sentences
from hindmost.models.changepoint import ChangePoint, Event, Trend
from hindmost.models.changepoint.changes import WITHIN
from hindmost.models.changepoint.detection import VERDICTS
from hindmost.models.changepoint.revisions import CONFIRMED, SEEN
from hindmost.models.changepoint.robust.noise import FEWEST_NIGHTS
from hindmost.text import counted, first_of, p_words, percent, quantity, signed_percent


def group_lines(groups: Sequence[ChangeGroup]) -> Iterator[str]:
    """Yield the lines on groups of changes; of many, the worst and largest."""
    chosen = worst_of(groups)
    for group, shown in chosen:
        yield f"{group_heading(group)}"
        yield from (f"  {line}" for line in commit_lines(group))
        for finding in shown:
            own = finding.judged.verdict_on(finding.change)
            yield f"  {own:<4}  {change_sentence(finding)}"
            yield from (f"        {line}" for line in details_of(finding))
        if len(shown) < len(group.findings):
            yield f"        and {len(group.findings) - len(shown)} more"
    left = len(groups) - len(chosen)
    if left:
        yield f"{counted(left, 'more group')} of smaller changes; --json lists all"


def worst_of(groups: Sequence[ChangeGroup]) -> list[tuple[ChangeGroup, list[NightChange]]]:
    """Return the groups with the worst and largest changes, and these."""
    everything = [finding for group in groups for finding in group.findings]
    selected = {id(finding) for finding in sorted(everything, key=weight)[:MANY]}
    chosen = [
        (group, [finding for finding in group.findings if id(finding) in selected])
        for group in groups
    ]
    return [(group, shown) for group, shown in chosen if shown]


def group_heading(group: ChangeGroup) -> str:
    """Return the date of a group of changes, and the commits next to it."""
    date, commits = group.leading.date, group.commits
    return f"{date}{': ' + commits if commits else ''}"


def commit_lines(group: ChangeGroup) -> list[str]:
    """Return the link to the commits of a group, their list, and how to bisect them."""
    return [*([group.link] if group.link else []), *group.history_lines]


@sentences.register
def on_night_change(fact: NightChange) -> list[Sentence]:
    """Return by how much a series changed, and why."""
    why = "" if fact.cause is None else f" Cause: {fact.cause.text}."
    return [Sentence(f"{change_words(fact)}.{why}")]


def change_sentence(finding: NightChange) -> str:
    """Return what changed, by how much, and how certain that is."""
    return f"{named(finding.judged.series.name)}: {change_words(finding)}"


def change_words(finding: NightChange) -> str:
    """Return by how much a series changed, when, and how certain that is."""
    change, series = finding.change, finding.judged.series
    first, last = finding.dates
    when = f"on {finding.date}" + ("" if first == last else f" ({first} to {last})")
    if isinstance(change, Trend):
        goes_on = change.stop == finding.judged.detection.observations
        when = "in a drift " + (f"since {first}" if goes_on else f"from {first} to {last}")
    return (
        f"{quantity(change.before, series.unit)} -> "
        f"{quantity(change.after, series.unit)}, "
        f"{signed_percent(change.effect, change.effect_interval)}, "
        f"{p_words(change.p_anywhere, 1)}, {when}"
    )


def state_words(finding: NightChange) -> str:
    """Return the states of a change with their dates: seen, confirmed, acknowledged.

    The dates are those of a log (``--state``); without one, only the state of today is known.
    """
    judged, change = finding.judged, finding.change
    begins, near = judged.times[change.index], WITHIN * SECONDS_A_DAY
    states = [
        f"{event.kind} {date_of(event.time)}"
        for event in judged.log
        if event.kind in (SEEN, CONFIRMED) and abs(event.changed - begins) <= near
    ]
    if isinstance(change, ChangePoint) and not states:
        states = ["confirmed"] if change.confirmed else ["seen, not confirmed"]
    if finding.known is not None:
        states.append(f"acknowledged: {finding.known}")
    elif judged.is_worse(change) and judged.is_undone(change):
        states.append("recovered")
    return ", ".join(dict.fromkeys(states))


def details_of(finding: NightChange) -> Iterator[str]:
    """Yield the details of a change: its state, acknowledgement and parts."""
    judged, change = finding.judged, finding.change
    if finding.known is not None:
        yield f"acknowledged: {finding.known}"
    elif judged.is_worse(change) and judged.is_undone(change):
        yield "has recovered since"
    elif isinstance(change, ChangePoint) and judged.is_worse(change) and not change.confirmed:
        yield f"not confirmed yet: {change.progress}"
    if judged.nights <= FEWEST_NIGHTS and judged.is_open(change):
        yield "few nights: their correlation is unknown, which makes a false change likelier"
    yield from worse_within(finding)
    inside = list(finding.descendants())
    if finding.cause is not None:
        yield f"cause: {finding.cause.text}"
    elif inside:
        names = [
            f"{timer_name(each.judged.series.name.timer)} "
            f"{signed(each.difference, each.judged.series.unit)} "
            f"({percent(each.difference / finding.difference, 0)})"
            for each in inside
        ]
        whole = signed(finding.difference, judged.series.unit)
        yield f"parts that changed, of {whole}: {first_of(names)}"


def worse_within(finding: NightChange) -> Iterator[str]:
    """Yield the parts whose verdict is worse than that of the whole."""
    own = VERDICTS.index(finding.judged.verdict_on(finding.change))
    for descendant in finding.descendants():
        badge = descendant.judged.verdict_on(descendant.change)
        if VERDICTS.index(badge) < own:
            timer = timer_name(descendant.judged.series.name.timer)
            change = descendant.change
            size = f"{signed_percent(change.effect)}, {p_words(change.p_anywhere, 1)}"
            yield f"{badge} in its part {timer}: {size}, on {descendant.date}"


def open_lines(study: HistoryStudy) -> Iterator[str]:
    """Yield the changes for the worse from before the last days that are still open."""
    opened = [each for each in study.judged for _ in each.open_before(study.since)]
    if not opened:
        return
    cases = {each.series.name.place for each in opened}
    noun = worse_noun({each.series.unit for each in opened})[len(opened) > 1]
    found = [finding for group in open_before(study) for finding in group.findings]
    found.sort(key=lambda each: -abs(math.log1p(each.change.effect)))
    shown = found[:FEW]
    since = min(each.judged.labels[each.change.last] for each in shown)[:10]
    yield (
        f"open: {len(opened)} older {noun} in {counted(len(cases), 'case')}, neither recovered nor "
        f"acknowledged; --since {since} includes "
        f"{'it' if len(opened) == 1 else 'those listed'}"
    )
    for each in shown:
        yield f"  {change_sentence(each)}"
    if len(found) > FEW:
        yield f"  and {len(opened) - FEW} more, smaller or parts of these; --json lists all"


def revision_lines(study: HistoryStudy) -> Iterator[str]:
    """Yield what newer nights revised in the last days.

    Recent changes get a line each; revisions of older ones are counted.
    """
    revised = [
        (each, event)
        for each in study.judged
        for event in each.log
        if event.revises and event.time > study.since
    ]
    recent = [row for row in revised if row[1].changed > study.since]
    for each, event in recent[:MANY]:
        yield f"revised: {named(each.series.name)}: {revision_words(event)}"
    if len(recent) > MANY:
        yield f"revised: {len(recent) - MANY} more"
    older = Counter(event.kind for each, event in revised) - Counter(
        event.kind for each, event in recent
    )
    if older:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(older.items()))
        yield f"revised: older changes: {kinds}; --json gives the reasons"


def revision_words(event: Event) -> str:
    """Return how a change was revised, when and why."""
    changed, at = map(date_of, (event.changed, event.time))
    return f"{signed_percent(event.effect)} on {changed}, {event.kind} on {at}: {event.reason}"
