"""What was reported of a history up to last night, so that every revision is logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY, days_of
from hindmost.analysis.history.mail_record import MailRecord
from hindmost.analysis.readers.history import FailedRun, History, NightlySeries, SeriesName
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import Detection, Event, detect
from hindmost.models.changepoint.revisions import ReportedChange, compare_with_reported
from hindmost.models.changepoint.verdicts import SILENT_DAYS


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
    settings : mapping
        Of the method.
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
    settings: Mapping[str, Any] = field(default_factory=dict)
    series: Mapping[SeriesName, KeptSeries] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[FailedRun, ...] = ()
    mailed: MailRecord = field(default_factory=MailRecord)

    def with_nights(
        self, history: History, method: str, settings: Mapping[str, Any]
    ) -> tuple[HistoryState, tuple[str, ...]]:
        """Add what is new in a history, which has all nights or only the last ones.

        Returns
        -------
        HistoryState
            With all failed runs of both.
        tuple of str
            Remarks on series whose past differs from the state.

        Raises
        ------
        UsageError
            The state was kept with another method or settings.
        """
        asked, kept = (method, dict(settings)), (self.method, dict(self.settings))
        if self.method and asked != kept:
            raise UsageError(
                f"The state was kept with {method_words(*kept)}, but this uses "
                f"{method_words(*asked)}. Use the same, or start another state file."
            )
        new = {series.name: series for series in history.series}
        series, remarks = {}, []
        for name in sorted({*new, *self.series}):
            before = self.series.get(name)
            merged = merge(None if before is None else before.series, new.get(name))
            if before is None:
                series[name] = KeptSeries(series=merged)
            elif same_past(before.series, merged):
                series[name] = replace(before, series=merged)
            else:
                series[name] = moved(before, merged)
                remarks.append(
                    f"{name}: observations in the state differ from those in the files; the "
                    "reported changes are compared with the files."
                )
        runs = {
            (each.time, each.machine, each.case): each
            for each in (*self.failures, *history.failures)
        }
        state = HistoryState(
            method=method,
            settings=dict(settings),
            series=series,
            parents={**self.parents, **history.parents},
            failures=tuple(runs[key] for key in sorted(runs)),
            mailed=self.mailed,
        )
        return state, tuple(remarks)

    def judged(self, series: Mapping[SeriesName, KeptSeries]) -> HistoryState:
        """Return the next state, with judged series and the failed runs of `SILENT_DAYS`."""
        failures = tuple(
            each
            for each in self.failures
            if each.time > self.failures[-1].time - SILENT_DAYS * SECONDS_A_DAY
        )
        return replace(self, series={**self.series, **series}, failures=failures)


def judge_series(
    kept: KeptSeries, *, method: str, settings: Mapping[str, Any]
) -> tuple[Detection | str, KeptSeries]:
    """Judge a series, and compare it with what was reported of it.

    Changes that were confirmed stay unless new nights refute them.

    Parameters
    ----------
    kept : KeptSeries
        All nights, and what was reported of some.
    method : str
    settings : mapping
        Of the method.

    Returns
    -------
    Detection or str
        Or why the series cannot be judged.
    KeptSeries
        As it is reported now, with the whole log.

    Raises
    ------
    UsageError
        There is no such method or setting.
    """
    series = kept.series
    try:
        detection = detect(
            series.values,
            times=series.times / SECONDS_A_DAY,
            nights=days_of(series.times),
            confirmed=[each.index for each in kept.verdicts if each.confirmed],
            smaller_is_better=series.smaller_is_better,
            method=method,
            **settings,
        )
    except DataError as error:
        return str(error), kept
    now, events = compare_with_reported(kept.verdicts, detection)
    return detection, replace(kept, verdicts=tuple(now), log=(*kept.log, *events))


def method_words(method: str, settings: Mapping[str, Any]) -> str:
    """Return a method with its settings, in words."""
    return ", ".join([method, *(f"{key} {value}" for key, value in sorted(settings.items()))])


def merge(kept: NightlySeries | None, given: NightlySeries | None) -> NightlySeries:
    """Return a series with all its nights.

    Files that begin with the state or before replace all its nights up to their last one; later
    nights of the state stay. Files that begin later add their nights to the state.
    """
    if kept is None or given is None:
        whole = given if given is not None else kept
        assert whole is not None
        return whole
    if not kept.times.size or (given.times.size and given.times[0] <= kept.times[0]):
        later = kept.times > given.times[-1]
        return merge(given, part(kept, later)) if later.any() else given
    there = set(zip(kept.times.tolist(), kept.values.tolist(), strict=True))
    pairs = zip(given.times.tolist(), given.values.tolist(), strict=True)
    new = [place for place, pair in enumerate(pairs) if pair not in there]
    times = np.concatenate([kept.times, given.times[new]])
    order = np.argsort(times, kind="stable")
    commits = (*kept.commits, *(given.commits[place] for place in new))
    parts = (*kept.commit_parts, *(given.commit_parts[place] for place in new))

    def joined(
        mine: NDArray[np.float64] | None, theirs: NDArray[np.float64] | None, unknown: float
    ) -> NDArray[np.float64] | None:
        if mine is None and theirs is None:
            return None
        first = np.full(kept.times.size, unknown) if mine is None else mine
        second = np.full(given.times.size, unknown) if theirs is None else theirs
        return frozen(np.concatenate([first, second[new]])[order])

    return replace(
        given,
        times=frozen(times[order]),
        values=frozen(np.concatenate([kept.values, given.values[new]])[order]),
        commits=tuple(commits[place] for place in order),
        commit_parts=tuple(parts[place] for place in order),
        spread=joined(kept.spread, given.spread, np.nan),
        freedom=joined(kept.freedom, given.freedom, np.inf),
    )


def part(series: NightlySeries, chosen: NDArray[np.bool_]) -> NightlySeries:
    """Return some nights of a series."""
    places = np.flatnonzero(chosen).tolist()
    return replace(
        series,
        times=frozen(series.times[chosen]),
        values=frozen(series.values[chosen]),
        commits=tuple(series.commits[place] for place in places),
        commit_parts=tuple(series.commit_parts[place] for place in places),
        spread=None if series.spread is None else frozen(series.spread[chosen]),
        freedom=None if series.freedom is None else frozen(series.freedom[chosen]),
    )


def frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array as read-only."""
    array.flags.writeable = False
    return array


def same_past(kept: NightlySeries, now: NightlySeries) -> bool:
    """Tell whether a series only grew at its end."""
    size = kept.times.size
    return np.array_equal(kept.times, now.times[:size]) and np.array_equal(
        kept.values, now.values[:size]
    )


def moved(kept: KeptSeries, now: NightlySeries) -> KeptSeries:
    """Return a series as it is now, with what was reported at the current places."""
    last = now.times.size - 1
    at = np.minimum(np.searchsorted(now.times, kept.series.times), last).tolist()
    return replace(
        kept,
        series=now,
        verdicts=tuple(
            replace(
                verdict,
                index=at[verdict.index],
                interval=(at[verdict.interval[0]], at[verdict.interval[1]]),
                since=at[verdict.since],
            )
            for verdict in kept.verdicts
        ),
        log=tuple(
            replace(
                event,
                at=at[event.at],
                index=at[event.index],
                was=None if event.was is None else at[event.was],
            )
            for event in kept.log
        ),
    )
