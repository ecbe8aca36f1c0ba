"""What was reported of a history up to last night, so that every revision is logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    def follow(
        self,
        history: History,
        method: str,
        settings: Mapping[str, Any],
    ) -> Following:
        """Add what is new in a history, which has all nights or only the last ones.

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
        merged = {
            name: merge(self.series[name].series if name in self.series else None, new.get(name))
            for name in sorted({*new, *self.series})
        }
        remarks = [
            f"{name}: observations in the state differ from those in the files; the reported "
            "changes are compared with the files."
            for name, kept_series in self.series.items()
            if not same_past(kept_series.series, merged[name])
        ]
        return Following(
            before=self,
            history=replace(
                history,
                series=tuple(merged.values()),
                parents={**self.parents, **history.parents},
                failures=self.with_failures(history.failures),
            ),
            method=method,
            settings=dict(settings),
            remarks=tuple(remarks),
            kept={},
        )

    def with_failures(self, new: tuple[FailedRun, ...]) -> tuple[FailedRun, ...]:
        """Return failed runs, each once, in the order of time."""
        runs = {(each.time, each.machine, each.case): each for each in (*self.failures, *new)}
        return tuple(run for _, run in sorted(runs.items(), key=lambda item: item[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A state on its way to the next one.

    Attributes
    ----------
    before : HistoryState
    history : History
        With the nights that only the state holds.
    remarks : tuple of str
        On series whose past differs from the state.
    kept : dict
        Filled as series are judged, see `follow_series`.
    """

    before: HistoryState
    history: History
    method: str
    settings: dict[str, Any]
    remarks: tuple[str, ...]
    kept: dict[SeriesName, KeptSeries]

    def state(self) -> HistoryState:
        """Return the next state; a series that could not be judged is unchanged."""
        return HistoryState(
            method=self.method,
            settings=self.settings,
            series={**self.before.series, **self.kept},
            parents=self.history.parents,
            failures=tuple(
                each
                for each in self.history.failures
                if each.time > self.history.failures[-1].time - SILENT_DAYS * SECONDS_A_DAY
            ),
            mailed=self.before.mailed,
        )


def follow_series(
    series: NightlySeries,
    kept: KeptSeries | None,
    method: str,
    settings: Mapping[str, Any],
) -> tuple[Detection, KeptSeries]:
    """Compare a series with what was reported of it.

    Changes that were confirmed stay unless the new nights refute them.

    Parameters
    ----------
    series : NightlySeries
    kept : KeptSeries or None
        What the state has of it.
    method, settings
        See `detect_in`.

    Returns
    -------
    Detection
        Of all nights.
    KeptSeries
        For the next state, with the whole log.

    Raises
    ------
    DataError
        The series is invalid.
    """
    if kept is not None and not same_past(kept.series, series):
        kept = moved(kept, series)
    verdicts, log = (kept.verdicts, kept.log) if kept else ((), ())
    confirmed = [each.index for each in verdicts if each.confirmed]
    detection = detect_in(series, method, settings, confirmed)
    now, events = compare_with_reported(verdicts, detection)
    return detection, KeptSeries(series=series, verdicts=tuple(now), log=(*log, *events))


def judge_series(
    series: NightlySeries,
    kept: KeptSeries | None,
    *,
    follows: bool,
    method: str,
    settings: Mapping[str, Any],
) -> tuple[Detection | str, KeptSeries | None]:
    """Judge a series; with a state, compare it with what that has of it.

    Returns
    -------
    Detection or str
        Or why the series cannot be judged.
    KeptSeries or None
        For the next state.
    """
    try:
        if follows:
            return follow_series(series, kept, method, settings)
        return detect_in(series, method, settings), None
    except UsageError:
        raise
    except DataError as error:
        return str(error), None


def method_words(method: str, settings: Mapping[str, Any]) -> str:
    """Return a method with its settings, in words."""
    return ", ".join([method, *(f"{key} {value}" for key, value in sorted(settings.items()))])


def detect_in(
    series: NightlySeries,
    method: str,
    settings: Mapping[str, Any],
    confirmed: Sequence[int] = (),
) -> Detection:
    """Do one pass of a method over a series.

    Parameters
    ----------
    series : NightlySeries
    method : str
    settings : mapping
        Of the method.
    confirmed : sequence of int
        First observations of the changes that were confirmed before.

    Raises
    ------
    UsageError
        There is no such method or setting.
    DataError
        The series is invalid.
    """
    return detect(
        series.values,
        times=series.times / SECONDS_A_DAY,
        nights=days_of(series.times),
        confirmed=list(confirmed),
        smaller_is_better=series.smaller_is_better,
        method=method,
        **settings,
    )


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
    """Return what was reported, with the current places of its observations."""
    last = now.times.size - 1
    at = np.minimum(np.searchsorted(now.times, kept.series.times), last).tolist()
    return replace(
        kept,
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
