"""What was reported and mailed of a history up to last night, so that every revision is logged.

Configurations of one program are different cases of a history, as in a folder with a study. Where
one takes the place of another, both are one series, in which the change of input or machine is
known by its night. It does

- if only what a run does not choose differs (machine, line of the loop, number of iterations), the
  two have no day in common, and the older one comes in no order or misses the night;
- if its input differs: only the latter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, Literal

import numpy as np

from hindmost.analysis.history.dates import SECONDS_A_DAY, date_of, days_of, next_due
from hindmost.analysis.readers.history import (
    FailedRun,
    History,
    NightlySeries,
    SeriesName,
    Time,
    joined,
)
from hindmost.analysis.runs.configuration import grouped
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import Detection, Event, detect
from hindmost.models.changepoint.detection import RECENT, SILENT_DAYS, VERDICTS, WARN
from hindmost.models.changepoint.revisions import (
    ReportedChange,
    compare_with_reported,
    pair,
    places_of,
)
from hindmost.records import RecordError
from hindmost.text import choose

DIGEST_DAYS = 7
ItemKind = Literal["change", "drift", "failure", "silence"]
CHANGE: Final = "change"
DRIFT: Final = "drift"
FAILURE: Final = "failure"
SILENCE: Final = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedItem:
    """Something that was mailed, or is to be mailed.

    Attributes
    ----------
    kind : str
        What was found.
    name : SeriesName
        With empty parts where the kind has none.
    first, last : float
        Its place: seconds since 1970, UTC.
    rises : bool
        Whether the values rise.
    badge : str
        The verdict when it was mailed.
    mailed : float
        When it was mailed last: seconds since 1970, UTC.
    """

    kind: ItemKind
    name: SeriesName
    first: Time
    last: Time
    rises: bool = False
    badge: str = WARN
    mailed: Time

    def __post_init__(self) -> None:
        if self.badge not in VERDICTS:
            raise RecordError(choose(VERDICTS, self.badge), "badge", found=self.badge)

    def is_same(self, other: MailedItem) -> bool:
        """Tell whether two items are the same finding, which may have moved a little."""
        mine, theirs = ((each.kind, each.name, each.rises) for each in (self, other))
        return mine == theirs and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRecord:
    """What was mailed so far.

    Attributes
    ----------
    digest : float or None
        When the last digest was mailed, seconds since 1970, UTC; None before the first mail (which
        is a digest).
    items : tuple of MailedItem
    """

    digest: Time | None = None
    items: tuple[MailedItem, ...] = ()


def is_digest_due(last: float | None, now: float) -> bool:
    """Tell whether a digest is due: 7 days after the last one, by dates in UTC.

    Dates, not hours, so that a mail that leaves some minutes earlier than a week ago is a digest. A
    last digest in the future is a clock error and is ignored.
    """
    if last is None:
        return True
    days = (date.fromisoformat(date_of(now)) - date.fromisoformat(date_of(last))).days
    return days >= DIGEST_DAYS or days < 0


def taken(left: list[MailedItem], item: MailedItem) -> MailedItem | None:
    """Remove and return the nearest item that is the same finding."""
    same = [each for each in left if each.is_same(item)]
    if not same:
        return None
    nearest = min(same, key=lambda each: abs(each.first - item.first) + abs(each.last - item.last))
    left.remove(nearest)
    return nearest


CaseName = tuple[str, str]
"""Machine and case."""
FALSE_SHARE = 0.05
"""Share of the changes confirmed in a night's last days that are expected to be false, at most."""


def successors(series: Iterable[NightlySeries]) -> dict[CaseName, CaseName]:
    """Return the case that takes the place of another one, for all that were succeeded."""
    cases: dict[CaseName, NightlySeries] = {}  # by their longest series
    for each in series:
        if each.circumstances and each.circumstances[-1].question:
            known = cases.get(each.name.place)
            if known is None or len(known.times) < len(each.times):
                cases[each.name.place] = each
    found: dict[CaseName, CaseName] = {}
    in_order = sorted(cases.values(), key=lambda each: float(each.times[-1]))
    for alike in grouped(in_order, lambda each: each.circumstances[-1].question).values():
        while len(alike) > 1:
            now = alike.pop()
            before = next((each for each in reversed(alike) if succeeds(now, each)), None)
            if before is None:
                continue
            alike.remove(before)
            place = now.name.place
            found |= {name: place for name, to in found.items() if to == before.name.place}
            found[before.name.place] = place
            alike.append(joined([before, now], now))
    return found


def succeeds(now: NightlySeries, before: NightlySeries) -> bool:
    """Tell whether a case takes the place of another one, whose last night is earlier."""
    days, earlier = (np.floor(each.times / SECONDS_A_DAY) for each in (now, before))
    if np.isin(days, earlier).any():
        return False
    due = next_due(before.times)
    missed = np.floor(due / SECONDS_A_DAY) <= days[now.times > before.times[-1]][0]
    if now.circumstances[-1].inputs == before.circumstances[-1].inputs:
        return bool(missed or np.isinf(due))
    return bool(missed and now.times[0] > before.times[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSeries:
    """A series, and what was reported of it.

    Attributes
    ----------
    series : NightlySeries
    verdicts : tuple of ReportedChange
        As they were last reported.
    log : tuple of Event
        How they came about.
    """

    series: NightlySeries
    verdicts: tuple[ReportedChange, ...] = ()
    log: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryState:
    """Every series so far, with its reported changes and their log.

    Attributes
    ----------
    method : str
        Empty in a new state.
    series : mapping
        Name to series, verdicts and log.
    parents : mapping
        Timer to the timer that it is a part of.
    failures : tuple of FailedRun
        Of the last `SILENT_DAYS`.
    mailed : MailRecord
        What was mailed, and when.
    """

    method: str = ""
    series: Mapping[SeriesName, KeptSeries] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[FailedRun, ...] = ()
    mailed: MailRecord = field(default_factory=MailRecord)

    def with_nights(
        self,
        history: History,
        method: str,
        now: float = math.inf,
        renamed: Mapping[str, str] | None = None,
    ) -> HistoryState:
        """Add a history, which has all nights or only the last ones, and all failed runs of both.

        Parameters
        ----------
        history : History
        method : str
        now : float
            Seconds since 1970, UTC: what is dated after it replaces nothing before it.
        renamed : mapping, optional
            Old name of a case to its new one.

        Raises
        ------
        UsageError
            The state was kept with another method.
        """
        if self.method not in ("", method):
            raise UsageError(
                f"The state was kept with --method {self.method}, but this uses {method}. Use the "
                "same, or start another state file."
            )
        series = dict(self.series)
        for given in history.series:
            if given.name in series:
                before = series[given.name]
                series[given.name] = replace(before, series=merged(before.series, given, now))
            else:
                series[given.name] = KeptSeries(series=given)
        later = successors([each.series for each in series.values()])
        for machine, case in {name.place for name in series}:
            if case in (renamed or {}):
                later[machine, case] = (machine, (renamed or {})[case])
        for name in [name for name in series if name.place in later]:
            machine, case = later[name.place]
            there = replace(name, machine=machine, case=case)
            before = series.pop(name)
            if there in series:
                after = series[there]
                series[there] = KeptSeries(
                    series=joined([before.series, after.series], after.series),
                    verdicts=(*before.verdicts, *after.verdicts),
                    log=(*before.log, *after.log),
                )
            else:
                series[there] = replace(before, series=replace(before.series, name=there))
        runs = {}
        for each in (*self.failures, *history.failures):
            place = each.machine, each.case
            machine, case = later.get(place, place)
            failed = replace(each, machine=machine, case=case)
            runs[each.time, machine, case, each.reason] = failed
        return HistoryState(
            method=method,
            series={name: series[name] for name in sorted(series)},
            parents={**self.parents, **history.parents},
            failures=tuple(runs[key] for key in sorted(runs)),
            mailed=self.mailed,
        )

    def judged(self, series: Mapping[SeriesName, KeptSeries], until: float) -> HistoryState:
        """Return the next state, with judged series and the failed runs of `SILENT_DAYS`.

        Parameters
        ----------
        series : mapping
        until : float
            The newest night: seconds since 1970, UTC; see `dates.newest` for one dated wrongly.
        """
        failures = tuple(
            failure
            for failure in self.failures
            if failure.time > until - SILENT_DAYS * SECONDS_A_DAY
        )
        return replace(self, series={**self.series, **series}, failures=failures)


def judge_series(kept: KeptSeries, *, method: str) -> Detection | str:
    """Judge a series; return what was found, or why the series cannot be judged.

    Changes that were confirmed stay unless new nights refute them.

    Parameters
    ----------
    kept : KeptSeries
        All nights, and what was reported of some.
    method : str

    Raises
    ------
    UsageError
        There is no such method.
    """
    series = kept.series
    confirmed = [
        place
        for verdict in kept.verdicts
        if verdict.confirmed
        for place in places_of(verdict, series.times.tolist())
    ]
    try:
        return detect(
            series.values,
            times=series.times,
            day=SECONDS_A_DAY,
            nights=days_of(series.times),
            confirmed=confirmed,
            smaller_is_better=series.smaller_is_better,
            method=method,
        )
    except DataError as error:
        return str(error)


def reported(kept: KeptSeries, detection: Detection) -> KeptSeries:
    """Return a series as it is reported now, with the whole log."""
    now, events = compare_with_reported(kept.verdicts, detection)
    return replace(kept, verdicts=tuple(now), log=(*kept.log, *events))


def without_chance(
    judged: Sequence[tuple[KeptSeries, Detection]], now: float
) -> list[tuple[KeptSeries, Detection]]:
    """Mark the recent changes that chance may explain, as so many series are judged together.

    Of the changes of the last `RECENT` days that stay confirmed, at most `FALSE_SHARE` are expected
    to be false (Benjamini and Hochberg, JRSS B 57 (1995), over all series; the p-value of a change
    is that anywhere in its series). What was confirmed before stays.

    Parameters
    ----------
    judged : sequence of (KeptSeries, Detection)
    now : float
        The newest night: seconds since 1970, UTC.
    """
    recent = []
    for kept, found in judged:
        before = pair(kept.verdicts, found)
        recent += [
            change
            for c, change in enumerate(found.changes)
            if change.time > now - RECENT * SECONDS_A_DAY
            and not (c in before and kept.verdicts[before[c]].confirmed)
        ]
    tests = max(len(judged), len(recent))
    limit = 0.0
    for rank, p_value in enumerate(sorted(each.p_anywhere for each in recent), start=1):
        if p_value <= FALSE_SHARE * rank / tests:
            limit = p_value
    doubtful = {id(change) for change in recent if change.p_anywhere > limit}

    def marked(found: Detection) -> Detection:
        changes = tuple(
            replace(change, by_chance=True) if id(change) in doubtful else change
            for change in found.changes
        )
        return replace(found, changes=changes)

    return [(kept, marked(found)) for kept, found in judged]


def merged(kept: NightlySeries, given: NightlySeries, now: float) -> NightlySeries:
    """Return a series with the nights of files, and those of the state before and after them.

    Nights that are dated after ``now`` replace only such nights: a wrong date deletes nothing.
    """
    parts = []
    for later in (False, True):
        old, new = (each.at(np.flatnonzero((each.times > now) == later)) for each in (kept, given))
        if new.times.size:
            outside = (old.times < new.times[0]) | (old.times > new.times[-1])
            old = old.at(np.flatnonzero(outside))
        parts += [old, new]
    return joined(parts, given)
