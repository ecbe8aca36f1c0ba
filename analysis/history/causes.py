"""Changes grouped by what may have caused them: a night, its commits, and a hierarchy of timers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hindmost.analysis.history.judged import BADGES, Judged, worst
from hindmost.analysis.history.parts import Part, largest_parts
from hindmost.analysis.history.study import HistoryStudy
from hindmost.models.changepoint import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A change of a series, with the changes of its parts.

    Attributes
    ----------
    judged : Judged
    change : Change
    parts : tuple of Part
        Where most of it lies: each is a part of the one before.
    within : tuple of Finding
        Changes of the timers below it, of the same case and cause.
    """

    judged: Judged
    change: Change
    parts: tuple[Part, ...] = ()
    within: tuple[Finding, ...] = ()

    @property
    def badge(self) -> str:
        """The verdict on it, and on those within."""
        return worst({self.judged.badge(self.change), *(each.badge for each in self.within)})

    @property
    def date(self) -> str:
        """The first observation of the new level."""
        return self.judged.labels[self.change.index]

    @property
    def dates(self) -> tuple[str, str]:
        """The first and the last observation that may be the first of the new level."""
        first, last = self.change.interval
        return self.judged.labels[first], self.judged.labels[last]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Changes that may have the same cause.

    Attributes
    ----------
    leading : Finding
        The one whose date is known best: it gives the date and the commits.
    findings : tuple of Finding
        Of the timers that are highest in the hierarchy; the worst and largest first.
    """

    leading: Finding
    findings: tuple[Finding, ...]

    @property
    def badge(self) -> str:
        """The worst verdict."""
        return worst({finding.badge for finding in self.findings})

    @property
    def commits(self) -> str:
        """What to look at, in words."""
        return commit_range(self.leading.judged, self.leading.change)


def group_changes(study: HistoryStudy, since: float | None = None) -> tuple[Cause, ...]:
    """Group the changes after a time (seconds since 1970, UTC), the newest first.

    Two changes may have the same cause if one's date lies in the other's interval of dates, and
    they are of one machine or next to the same commits. The one whose date is known best gathers
    the others.
    """
    after = study.since if since is None else since
    left = [
        Finding(judged=judged, change=change)
        for judged in study.judged
        for change in judged.recent(after)
    ]
    left.sort(key=lambda each: (span(each), each.change.p_value, each.judged.series.name))
    families = families_of(study.judged)
    causes = []
    while left:
        leading = left[0]
        members = [each for each in left if each is leading or belongs(each, leading)]
        taken = {id(each) for each in members}
        left = [each for each in left if id(each) not in taken]
        findings = [
            finding for case in by_case(members) for finding in nested(case, study, families)
        ]
        findings.sort(key=weight)
        causes.append(Cause(leading=leading, findings=tuple(findings)))
    causes.sort(key=lambda cause: (cause.leading.date, -BADGES.index(cause.badge)), reverse=True)
    return tuple(causes)


def span(finding: Finding) -> float:
    """Return the days of a finding's interval of dates."""
    first, last = finding.change.interval
    times = finding.judged.detection.times
    return times[last] - times[max(first - 1, 0)]


def weight(finding: Finding) -> tuple[int, float]:
    """Order findings: the worst first, and of those the largest."""
    return BADGES.index(finding.badge), -abs(finding.change.effect)


def belongs(finding: Finding, leading: Finding) -> bool:
    """Tell whether a finding may have the cause of another one."""
    mine, theirs = (each.judged.series for each in (finding, leading))
    elsewhere = mine.name.machine != theirs.name.machine
    if elsewhere and not commits_of(finding) & commits_of(leading):
        return False
    return lies_in(finding, leading) or lies_in(leading, finding)


def commits_of(finding: Finding) -> set[str]:
    """Return the commits that a change may have begun with."""
    first, last = finding.change.interval
    return {text for text in finding.judged.series.commits[first : last + 1] if text}


def lies_in(finding: Finding, other: Finding) -> bool:
    """Tell whether a finding's day is among those of another one."""
    first, last = other.dates
    return first[:10] <= finding.date[:10] <= last[:10]


def families_of(judged: Iterable[Judged]) -> dict[tuple[str, str], dict[str, Judged]]:
    """Return the series of every machine and case by timer."""
    families: dict[tuple[str, str], dict[str, Judged]] = {}
    for each in judged:
        name = each.series.name
        families.setdefault((name.machine, name.case), {})[name.timer] = each
    return families


def by_case(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Split findings by machine and case."""
    cases: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        name = finding.judged.series.name
        cases.setdefault((name.machine, name.case), []).append(finding)
    return list(cases.values())


def nested(
    case: list[Finding],
    study: HistoryStudy,
    families: Mapping[tuple[str, str], Mapping[str, Judged]],
) -> list[Finding]:
    """Put changes of one case below those of the timers that they are a part of.

    A part that went the other way than the whole stands for itself.
    """
    parents = study.history.parents
    of_timer: dict[str, Finding] = {}
    for finding in case:
        of_timer.setdefault(finding.judged.series.name.timer, finding)
    below: dict[int, list[Finding]] = {}
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

    def whole(finding: Finding) -> Finding:
        name = finding.judged.series.name
        inside = sorted((whole(each) for each in below.get(id(finding), ())), key=weight)
        return Finding(
            judged=finding.judged,
            change=finding.change,
            parts=largest_parts(
                finding.judged, finding.change, families[name.machine, name.case], parents
            ),
            within=tuple(inside),
        )

    return [whole(root) for root in roots]


def ancestors(timer: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yield the timers that a timer is a part of, the nearest first; a ring of them ends."""
    seen = {timer}
    while (timer := parents.get(timer, "")) and timer not in seen:
        seen.add(timer)
        yield timer


def commit_range(judged: Judged, change: Change) -> str:
    """Say between which commits a change lies: empty where none are known.

    The first is that of the last observation that has the old level for certain, the second that of
    the first observation that has the new one.
    """
    first, last = change.interval
    parts = judged.series.commit_parts
    before, after = parts[max(first - 1, 0)], parts[last]
    if not after and not before:
        return ""
    if before == after:
        return f"the same commits before and after ({judged.series.commits[last]})"
    told = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "unknown"), after.get(name, "unknown")
        told.append(f"{name} {new}".strip() if old == new else f"{name} {old}..{new}".strip())
    return ", ".join(told)
