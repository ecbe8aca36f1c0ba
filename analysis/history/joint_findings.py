"""Joint findings: a step in many series of a machine on one night, found and told as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of
from hindmost.analysis.history.joint_memory import JointMemory
from hindmost.analysis.history.joint_reviews import panel_name, panel_series
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.terms import more, timer_name
from hindmost.models.changepoint.changes import WITHIN, more_and_less, relative
from hindmost.models.changepoint.joint import NOW, JointChange, find_joint_changes
from hindmost.models.changepoint.verdicts import PASS, WARN
from hindmost.models.significance import p_words
from hindmost.text import counted, percent, signed_percent

MOST_TIMERS = 3
"""Timers that a sentence names."""
MOST_FINDINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFinding:
    """A step in many series of a machine.

    Attributes
    ----------
    machine : str
    timers : tuple of str
        Those whose series show it together.
    time : float
        The first night of the new level: seconds since 1970, UTC.
    dates : (str, str)
        The first and the last date on which it may have begun.
    members : tuple of JudgedSeries
        The series that show it.
    own : tuple of JudgedSeries
        The series that have a change of their own there, members or not.
    measured : int
        Number of the series of these timers with results on both sides.
    effect : float
        Relative: the median over the members.
    pooled, pooled_interval : float, (float, float)
        Relative: the mean over all series of the first timer, and its interval.
    p_value : float
        Times the number of nights and of timers of the machine (Bonferroni).
    found : bool
        Whether the nights so far show it by themselves; else it is held, see `joint_held`.
    since : float or None
        When it was held for the first time: seconds since 1970, UTC. Only later nights that refute
        it can withdraw it from then on.
    now : float or None
        Relative: the last nights of the members, compared with the level before it.
    undone : bool
    known : Acknowledgement or None
        The acknowledgement that covers all members.
    commits : tuple of str
        Of the nights next to ``dates``, before and after, in a member's words; may be empty.
    """

    machine: str
    timers: tuple[str, ...]
    time: float
    dates: tuple[str, str]
    members: tuple[JudgedSeries, ...]
    own: tuple[JudgedSeries, ...]
    measured: int
    effect: float
    pooled: float
    pooled_interval: tuple[float, float]
    p_value: float
    found: bool
    since: float | None
    now: float | None
    undone: bool
    known: Acknowledgement | None
    commits: tuple[str, str]

    @property
    def date(self) -> str:
        """The first night of the new level."""
        return date_of(self.time)

    @property
    def unit(self) -> str:
        """The unit of the series."""
        return self.members[0].series.unit

    @property
    def worse(self) -> bool:
        """Whether it is for the worse."""
        return (self.effect > 0.0) == self.members[0].series.smaller_is_better

    @property
    def badge(self) -> str:
        """The verdict: "warn" for an open step for the worse, else "pass".

        It does not fail by itself: it may be the machine, and no single series shows how large it
        is there.
        """
        return WARN if self.worse and not self.undone and self.known is None else PASS

    def is_open(self, since: float) -> bool:
        """Tell whether it began before a time, is held, and is still for the worse."""
        return self.time <= since and self.since is not None and self.badge == WARN

    def is_news(self, since: float) -> bool:
        """Tell whether it is for the worse, and began or was held first after a time."""
        held = self.since is not None and self.since > since
        return self.badge == WARN and (self.time > since or held)

    def sentence(self) -> str:
        """Return it in words."""
        way = more_and_less(self.unit)[self.effect < 0.0]
        first, last = self.dates
        when = "" if first == last else f" ({first} to {last})"
        timers = ", ".join(map(timer_name, self.timers[:MOST_TIMERS]))
        of = "" if len(self.timers) == 1 else f" of {timer_name(self.timers[0])}"
        words = (
            f"{', '.join(part for part in (self.machine, timers) if part)}"
            f"{more(len(self.timers) - MOST_TIMERS)}: {percent(abs(self.effect))} {way} together "
            f"in {len(self.members)} of {counted(self.measured, 'series')} on {self.date}{when}; "
            f"{signed_percent(self.pooled, self.pooled_interval)} in the mean of all series{of}, "
            f"{p_words(self.p_value, 1)}"
        )
        if self.own:
            verb = "has a change of its" if len(self.own) == 1 else "have a change of their"
            words += f"; {len(self.own)} {verb} own there"
        words += self.state()
        if self.known is not None:
            return f"{words}; acknowledged: {self.known.reason}"
        return f"{words}; has recovered since" if self.worse and self.undone else words

    def state(self) -> str:
        """Return in words whether it is held, and what the last nights show."""
        if self.since is None:
            return "; not confirmed yet"
        words = f"; held since {date_of(self.since)}"
        if self.now is None:
            return words
        return f"{words}, the last {NOW} nights are {signed_percent(self.now)} from those before it"

    def to_json(self) -> dict[str, Any]:
        """Return it under the keys of the ``history`` contract."""
        own = {id(each) for each in self.own}
        return {
            "machine": self.machine,
            "timers": list(self.timers),
            "date": self.date,
            "dates": list(self.dates),
            "effect_percent": 100.0 * self.effect,
            "pooled_effect_percent": 100.0 * self.pooled,
            "pooled_interval_percent": [100.0 * end for end in self.pooled_interval],
            "p_value": self.p_value,
            "series": [
                {
                    "case": each.series.name.case,
                    "timer": each.series.name.timer,
                    "own_change": id(each) in own,
                }
                for each in self.members
            ],
            "measured": self.measured,
            "own_changes": len(self.own),
            "confirmed": self.since is not None,
            "held_since": None if self.since is None else date_of(self.since),
            "found": self.found,
            "now_percent": None if self.now is None else 100.0 * self.now,
            "recovered": self.undone,
            "known": None if self.known is None else self.known.reason,
            "badge": self.badge,
            "commits": list(self.commits),
        }


def joint_findings(
    judged: Sequence[JudgedSeries],
    acknowledged: Sequence[Acknowledgement] = (),
    memory: JointMemory | None = None,
) -> tuple[JointFinding, ...]:
    """Find the steps that many series share, and those that are held, the largest first.

    Series are pooled by machine and timer over all cases. Steps of several timers of a machine on
    the same nights, in the same direction, are one finding.
    """
    panels: dict[tuple[str, str], list[JudgedSeries]] = {}
    for each in judged:
        if not each.series.name.is_ratio and not each.detection.too_short:
            panels.setdefault(panel_name(each.series), []).append(each)
    machines = [machine for machine, _ in panels]
    found: dict[str, list[tuple[JointChange, list[JudgedSeries]]]] = {}
    for name, panel in panels.items():
        parts = [panel_series(each.series, each.detection) for each in panel]
        changes = find_joint_changes([part.rest for part in parts])
        reviewed = (memory or JointMemory()).panel(*name)
        rows = found.setdefault(name[0], [])
        rows += [(change, panel) for change in reviewed.all_of(parts, changes)]
    findings = []
    for machine, rows in found.items():
        rows.sort(key=lambda row: (row[0].p_value, row[0].night))
        while rows:
            leading = rows[0][0]
            together = [row for row in rows if is_same(row[0], leading)]
            rows[:] = [row for row in rows if not is_same(row[0], leading)]
            findings.append(merged(machine, together, machines.count(machine), acknowledged))
    return tuple(sorted(findings, key=lambda each: (-abs(each.effect), each.time)))


def is_same(change: JointChange, leading: JointChange) -> bool:
    """Tell whether two steps of different timers may be one."""
    (first, last), (begin, end) = change.interval, leading.interval
    near = first - WITHIN <= end and begin <= last + WITHIN
    return near and change.rises == leading.rises


def merged(
    machine: str,
    rows: Sequence[tuple[JointChange, list[JudgedSeries]]],
    panels: int,
    acknowledged: Sequence[Acknowledgement],
) -> JointFinding:
    """Return one finding of the steps of several timers; the first one leads."""
    leading = rows[0][0]
    members = tuple(panel[row] for change, panel in rows for row in change.members)
    days = tuple(date_of(night * SECONDS_A_DAY) for night in leading.interval)
    sinces = [change.since for change, _ in rows if change.since is not None]
    nows = [change.now for change, _ in rows if change.now is not None]
    return JointFinding(
        machine=machine,
        timers=tuple(dict.fromkeys(panel[0].series.name.timer for _, panel in rows)),
        time=leading.night * SECONDS_A_DAY,
        dates=(days[0], days[1]),
        members=members,
        own=tuple(panel[row] for change, panel in rows for row in change.own),
        measured=sum(change.measured for change, _ in rows),
        effect=relative(float(np.median([x for change, _ in rows for x in change.shifts]))),
        pooled=leading.effect,
        pooled_interval=leading.effect_interval,
        p_value=min(leading.p_value * panels, 1.0),
        found=any(change.found for change, _ in rows),
        since=min(sinces) * SECONDS_A_DAY if sinces else None,
        now=relative(float(np.median(nows))) if nows else None,
        undone=all(change.undone for change, _ in rows),
        known=acknowledgement_of(members, days, acknowledged),
        commits=commits_of(members, leading.interval),
    )


def acknowledgement_of(
    members: Sequence[JudgedSeries], days: Sequence[str], notes: Sequence[Acknowledgement]
) -> Acknowledgement | None:
    """Return the first acknowledgement that matches all members, within two nights of the days."""
    first, last = (
        (date.fromisoformat(day) + timedelta(way * WITHIN)).isoformat()
        for day, way in zip(days, (-1, 1), strict=True)
    )
    return next(
        (
            note
            for note in notes
            if note.covers(first, last) and all(note.concerns(each.series.name) for each in members)
        ),
        None,
    )


def commits_of(members: Sequence[JudgedSeries], interval: tuple[int, int]) -> tuple[str, str]:
    """Return the commits before and after the nights on which a step may have begun."""
    best = ("", "")
    shortest = np.inf
    for each in members:
        days = np.floor(each.series.times / SECONDS_A_DAY)
        before = int(np.searchsorted(days, interval[0])) - 1
        after = int(np.searchsorted(days, interval[1]))
        if before < 0 or after >= days.size or not each.series.commits[after]:
            continue
        if days[after] - days[before] < shortest:
            shortest = days[after] - days[before]
            best = (each.series.commits[before], each.series.commits[after])
    return best


def joint_lines(
    findings: Sequence[JointFinding], since: float, most: int = MOST_FINDINGS
) -> Iterator[str]:
    """Yield the joint findings after a time, the largest first."""
    recent = [each for each in findings if each.time > since]
    for each in recent[:most]:
        yield f"joint: {each.badge}  {each.sentence()}"
        if any(each.commits):
            yield f"        between {each.commits[0] or 'unknown commits'} and {each.commits[1]}"
    if len(recent) > most:
        yield f"joint:{more(len(recent) - most)}; --json lists all"


def open_joint_lines(
    findings: Sequence[JointFinding], since: float, most: int = MOST_FINDINGS
) -> Iterator[str]:
    """Yield the older joint findings for the worse that are held; they affect no verdict."""
    opened = [each for each in findings if each.is_open(since)]
    for each in opened[:most]:
        yield f"joint: open  {each.sentence()}"
    if len(opened) > most:
        yield f"joint:{more(len(opened) - most)} open; --json lists all"
