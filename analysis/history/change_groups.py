"""Changes that may have the same cause, and the sentences on them, for a terminal and a mail.

Groups are of a night, its commits, and a timer hierarchy. A drift is grouped like a change, with
those of other timers of its case.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Self

from hindmost.analysis.history.causes import Cause, cause_of
from hindmost.analysis.history.commit_ranges import link_to, range_words, ranges_of
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.judged_series import (
    FEW,
    MANY,
    JudgedSeries,
    named,
    signed,
    timer_name,
    worse_noun,
)
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.provenance import short_commit
from hindmost.analysis.show.facts import Certainty, Fact
from hindmost.analysis.show.phrases import Sentence, sentences
from hindmost.models.changepoint import ChangePoint, Event, Trend
from hindmost.models.changepoint.changes import WITHIN, Finding
from hindmost.models.changepoint.detection import VERDICTS, worst
from hindmost.models.changepoint.revisions import CONFIRMED, SEEN
from hindmost.models.changepoint.robust.noise import FEWEST_NIGHTS
from hindmost.text import counted, first_of, p_words, percent, quantity, signed_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class NightChange(Fact):
    """A change or drift of a series, with those of the timers that are its parts.

    Terminal, page, mail and JSON have this fact; its words are `change_words`.

    Attributes
    ----------
    judged : JudgedSeries
    change : ChangePoint or Trend
    within : tuple of NightChange
        Changes of the timers below it, of the same case and group.
    cause : Cause or None
        None if nothing is known of the runs.
    """

    judged: JudgedSeries
    change: Finding
    within: tuple[NightChange, ...] = ()
    cause: Cause | None = None

    JSON = "**judged.series.name date dates **change badge open known commits cause"

    @classmethod
    def of(cls, study: HistoryStudy, judged: JudgedSeries, change: Finding) -> Self:
        """Return a change with its cause."""
        difference, unit = change.after - change.before, judged.series.unit
        unconfirmed = isinstance(change, ChangePoint) and not change.confirmed
        return cls(
            quantity=named(judged.series.name),
            cost_s=difference if unit == "s" else 0.0,
            share=change.effect,
            relative=True,
            amount=signed(difference, unit),
            certainty=Certainty.OPEN if unconfirmed else Certainty.MEASURED,
            judged=judged,
            change=change,
            cause=cause_of(study, judged, change),
        )

    @property
    def difference(self) -> float:
        """The new level less the old one, in the unit of the series."""
        return self.change.after - self.change.before

    @property
    def badge(self) -> str:
        """The worst verdict on it and the changes within."""
        return worst({self.judged.verdict_on(self.change), *(each.badge for each in self.within)})

    def descendants(self) -> Iterator[NightChange]:
        """Yield all changes within it, and within those."""
        for each in self.within:
            yield each
            yield from each.descendants()

    @property
    def open(self) -> bool:
        """Whether it neither recovered nor was acknowledged."""
        return self.judged.is_open(self.change)

    @property
    def known(self) -> str | None:
        """The reason of its acknowledgement."""
        note = self.judged.acknowledgement(self.change)
        return None if note is None else note.reason

    @property
    def commits(self) -> list[str]:
        """Those of the last observation before it and of the first after it."""
        first, last = self.change.interval
        return [self.judged.series.commits[place] for place in (max(first - 1, 0), last)]

    @property
    def date(self) -> str:
        """The date of the first observation of the new level, or of the drift."""
        return self.judged.labels[self.change.index]

    @property
    def dates(self) -> tuple[str, str]:
        """The interval of dates in which the new level may begin."""
        first, last = self.change.interval
        return self.judged.labels[first], self.judged.labels[last]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeGroup:
    """Changes that may have the same cause.

    Attributes
    ----------
    leading : NightChange
        The change with the narrowest interval of dates; it gives the date and the commits.
    findings : tuple of NightChange
        Those of the timers highest in the hierarchy; the worst and largest first.
    link : str
        The address of a page that compares the commits; empty if the repository is unknown.
    history_lines : tuple of str
        The commits of the local repository, and how to bisect them; none without one.
    """

    leading: NightChange
    findings: tuple[NightChange, ...]
    link: str = ""
    history_lines: tuple[str, ...] = ()

    @property
    def badge(self) -> str:
        """The worst verdict."""
        return worst({finding.badge for finding in self.findings})

    @property
    def commits(self) -> str:
        """The commits to inspect, shortened: the leading change's, and whether others differ."""
        leading = self.full_commits
        ranges = {full_commits(finding) for finding in self.findings} | {leading}
        if not leading or len(ranges) == 1:
            return short_commit(leading)
        return f"{short_commit(leading)} (the narrowest of {len(ranges)} ranges)"

    @property
    def full_commits(self) -> str:
        """The leading change's commits in full."""
        return full_commits(self.leading)


def full_commits(finding: NightChange) -> str:
    """Return the commits between which a change lies, in full; empty where none are known."""
    return range_words(ranges_of(finding.judged, finding.change))


def changes_open_before(study: HistoryStudy) -> list[NightChange]:
    """Return the changes before the last days that are still open."""
    return [
        NightChange.of(study, judged, change)
        for judged in study.judged
        for change in judged.open_before(study.since)
    ]


def group_changes(study: HistoryStudy) -> tuple[ChangeGroup, ...]:
    """Group the changes and drifts of the last days, the newest first; see `grouped`."""
    recent = [
        NightChange.of(study, judged, change)
        for judged in study.judged
        for change in judged.recent(study.since)
    ]
    return grouped(study, recent)


def open_before(study: HistoryStudy) -> tuple[ChangeGroup, ...]:
    """Group the changes before the last days that are still open, the newest first."""
    return grouped(study, changes_open_before(study))


def grouped(study: HistoryStudy, findings: Sequence[NightChange]) -> tuple[ChangeGroup, ...]:
    """Group changes by what may have caused them, the newest first.

    Two changes may have the same cause if the date of one lies in the other's interval of dates,
    and they are on one machine or next to the same commits. Groups form around the changes with the
    narrowest intervals.
    """
    left = sorted(
        findings, key=lambda each: (span(each), each.change.p_value, each.judged.series.name)
    )
    groups = []
    while left:
        leading = left[0]
        members = [each for each in left if each is leading or belongs(each, leading)]
        taken = {id(member) for member in members}
        left = [each for each in left if id(each) not in taken]
        findings = [
            finding
            for _, case in groupby(sorted(members, key=case_of), case_of)
            for finding in nested(list(case), study.history.parents)
        ]
        findings.sort(key=weight)
        groups.append(with_commits(study, leading, tuple(findings)))
    groups.sort(key=lambda group: (group.leading.date, -VERDICTS.index(group.badge)), reverse=True)
    return tuple(groups)


def with_commits(
    study: HistoryStudy, leading: NightChange, findings: tuple[NightChange, ...]
) -> ChangeGroup:
    """Return a group with what is known of its commits."""
    ranges, git = ranges_of(leading.judged, leading.change), study.git
    known = leading.judged.series.circumstances
    addresses = known[leading.change.interval[1]].repositories if known else {}
    origin = "" if git is None else git.ask("remote", "get-url", "origin") or ""
    ends = next((each.ends for each in ranges if each.ends is not None), None)
    return ChangeGroup(
        leading=leading,
        findings=findings,
        link=link_to(ranges, addresses, origin),
        history_lines=() if git is None or ends is None else tuple(git.lines(ends)),
    )


def case_of(finding: NightChange) -> tuple[str, str]:
    """Return the machine and the case."""
    return finding.judged.series.name.place


def span(finding: NightChange) -> float:
    """Return the length of a change's interval of dates, in seconds."""
    first, last = finding.change.interval
    times = finding.judged.times
    return times[last] - times[max(first - 1, 0)]


def weight(finding: NightChange) -> tuple[int, float]:
    """Return the sort key of a change: the worst verdict first, then the largest effect."""
    return VERDICTS.index(finding.badge), -abs(finding.change.effect)


def belongs(finding: NightChange, leading: NightChange) -> bool:
    """Tell whether a change may have the same cause as the leading one."""
    mine, theirs = (each.judged.series.name for each in (finding, leading))
    drifts = [isinstance(each.change, Trend) for each in (finding, leading)]
    if any(drifts) and not (all(drifts) and mine.case == theirs.case):
        return False
    if mine.machine != theirs.machine and not commits_of(finding) & commits_of(leading):
        return False
    return lies_in(finding, leading) or lies_in(leading, finding)


def commits_of(finding: NightChange) -> set[str]:
    """Return the commits at which a change may have begun."""
    first, last = finding.change.interval
    return {text for text in finding.judged.series.commits[first : last + 1] if text}


def lies_in(finding: NightChange, other: NightChange) -> bool:
    """Tell whether the date of a change lies in the interval of another one."""
    first, last = other.dates
    return first[:10] <= finding.date[:10] <= last[:10]


def nested(case: list[NightChange], parents: Mapping[str, str]) -> list[NightChange]:
    """Put the changes of one case below those of the timers that contain them.

    A part that changed in the opposite direction stays at the top.
    """
    of_timer: dict[str, NightChange] = {}
    for finding in case:
        of_timer.setdefault(finding.judged.series.name.timer, finding)
    below: dict[int, list[NightChange]] = {}
    roots = []
    for finding in case:
        above = next(
            (
                of_timer[timer]
                for timer in ancestors(finding.judged.series.name.timer, parents)
                if timer in of_timer and of_timer[timer].change.effect * finding.change.effect > 0.0
            ),
            None,
        )
        if above is None or above is finding:
            roots.append(finding)
        else:
            below.setdefault(id(above), []).append(finding)

    def whole(finding: NightChange) -> NightChange:
        inside = sorted((whole(each) for each in below.get(id(finding), ())), key=weight)
        return replace(finding, within=tuple(inside))

    return [whole(root) for root in roots]


def ancestors(timer: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yield the timers that contain a timer, the nearest first; a cycle ends the search."""
    seen = {timer}
    while (timer := parents.get(timer, "")) and timer not in seen:
        seen.add(timer)
        yield timer


def group_lines(groups: Sequence[ChangeGroup]) -> Iterator[str]:
    """Yield the lines on groups of changes; of many, the worst and largest."""
    chosen = worst_of(groups)
    for group, shown in chosen:
        yield f"{group_heading(group)}"
        yield from (f"  {line}" for line in (group.link, *group.history_lines) if line)
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
