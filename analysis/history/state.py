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
from hindmost.models.changepoint.detection import SILENT_DAYS
from hindmost.models.changepoint.revisions import ReportedChange, compare_with_reported, places_of


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

    def with_nights(self, history: History, method: str) -> HistoryState:
        """Add a history, which has all nights or only the last ones, and all failed runs of both.

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
                series[given.name] = replace(before, series=merge(before.series, given))
            else:
                series[given.name] = KeptSeries(series=given)
        runs = {
            (each.time, each.machine, each.case, each.reason): each
            for each in (*self.failures, *history.failures)
        }
        return HistoryState(
            method=method,
            series={name: series[name] for name in sorted(series)},
            parents={**self.parents, **history.parents},
            failures=tuple(runs[key] for key in sorted(runs)),
            mailed=self.mailed,
        )

    def judged(self, series: Mapping[SeriesName, KeptSeries]) -> HistoryState:
        """Return the next state, with judged series and the failed runs of `SILENT_DAYS`."""
        failures = tuple(
            each
            for each in self.failures
            if each.time > self.failures[-1].time - SILENT_DAYS * SECONDS_A_DAY
        )
        return replace(self, series={**self.series, **series}, failures=failures)


def judge_series(kept: KeptSeries, *, method: str) -> tuple[Detection | str, KeptSeries]:
    """Judge a series, and compare it with what was reported of it.

    Changes that were confirmed stay unless new nights refute them.

    Parameters
    ----------
    kept : KeptSeries
        All nights, and what was reported of some.
    method : str

    Returns
    -------
    Detection or str
        Or why the series cannot be judged.
    KeptSeries
        As it is reported now, with the whole log.

    Raises
    ------
    UsageError
        There is no such method.
    """
    series = kept.series
    days = series.times / SECONDS_A_DAY
    confirmed = [
        place
        for each in kept.verdicts
        if each.confirmed
        for place in places_of(each, days.tolist())
    ]
    try:
        detection = detect(
            series.values,
            times=days,
            nights=days_of(series.times),
            confirmed=confirmed,
            smaller_is_better=series.smaller_is_better,
            method=method,
        )
    except DataError as error:
        return str(error), kept
    now, events = compare_with_reported(kept.verdicts, detection)
    return detection, replace(kept, verdicts=tuple(now), log=(*kept.log, *events))


def merge(kept: NightlySeries, given: NightlySeries) -> NightlySeries:
    """Return a series with the nights of files, and those of the state before and after them."""
    first = int(np.searchsorted(kept.times, given.times[0]))
    last = int(np.searchsorted(kept.times, given.times[-1], side="right"))

    def joined(old: Any, new: Any) -> Any:
        if isinstance(new, tuple):
            return old[:first] + new + old[last:]
        return frozen(np.concatenate([old[:first], new, old[last:]]))

    return replace(
        given,
        times=joined(kept.times, given.times),
        values=joined(kept.values, given.values),
        commits=joined(kept.commits, given.commits),
        commit_parts=joined(kept.commit_parts, given.commit_parts),
        spread=None,
        freedom=None,
    )


def frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array as read-only."""
    array.flags.writeable = False
    return array
