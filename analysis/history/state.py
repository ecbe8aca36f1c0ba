"""What was reported of a history up to last night, so that every revision is logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.detecting import detect_in
from hindmost.analysis.history.mail_record import MailRecord
from hindmost.analysis.history.merging import KeptSeries, merge, moved, same_past
from hindmost.analysis.readers.history import FailedRun, History, NightlySeries, SeriesName
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import Detection
from hindmost.models.changepoint.revisions import ReportedChange, compare_with_reported

FAILURES_KEPT_DAYS = 60.0
ONE_BY_ONE = 30
"""The last new nights that are added one at a time; those before are added at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryState:
    """Every series so far, with its reported changes and their log.

    Attributes
    ----------
    method : str
        Empty in a new state.
    settings : mapping
        Of the method.
    only_between : str or None
    series : mapping
        Name to series, verdicts and log.
    parents : mapping
        Timer to the timer that it is a part of.
    failures : tuple of FailedRun
        Of the last `FAILURES_KEPT_DAYS`.
    mailed : MailRecord
        What was mailed, and when.
    """

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    only_between: str | None = None
    series: Mapping[SeriesName, KeptSeries] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[FailedRun, ...] = ()
    mailed: MailRecord = field(default_factory=MailRecord)

    def follow(
        self,
        history: History,
        method: str,
        settings: Mapping[str, Any],
        only_between: str | None,
    ) -> Following:
        """Add what is new in a history, which has all nights or only the last ones.

        Raises
        ------
        UsageError
            The state was kept with another method or settings.
        """
        asked = (method, dict(settings), only_between)
        kept = (self.method, dict(self.settings), self.only_between)
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
        remarks += self.other_machines(set(new))
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
            only_between=only_between,
            remarks=tuple(remarks),
            kept={},
        )

    def other_machines(self, new: set[SeriesName]) -> list[str]:
        """Return a remark if series look like those of the state, except for the machine."""
        known = {(name.case, name.timer): name.machine for name in self.series}
        strange = sorted(
            name for name in new if name not in self.series and (name.case, name.timer) in known
        )
        if not strange:
            return []
        name = strange[0]
        return [
            f"{len(strange)} series are of the machine {name.machine!r}, but the state has the "
            f"same for {known[name.case, name.timer]!r}, such as {name.case}, {name.timer}. Both "
            "are kept. A machine may come from a folder's name: use the same folder every night."
        ]

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
    only_between: str | None
    remarks: tuple[str, ...]
    kept: dict[SeriesName, KeptSeries]

    def state(self) -> HistoryState:
        """Return the next state; a series that could not be judged is unchanged."""
        return HistoryState(
            method=self.method,
            settings=self.settings,
            only_between=self.only_between,
            series={
                name: kept
                for name, kept in {**self.before.series, **self.kept}.items()
                if name in self.kept or not name.is_ratio
            },
            parents=self.history.parents,
            failures=tuple(
                each
                for each in self.history.failures
                if each.time > self.history.failures[-1].time - FAILURES_KEPT_DAYS * SECONDS_A_DAY
            ),
            mailed=self.before.mailed,
        )


def follow_series(
    series: NightlySeries,
    kept: KeptSeries | None,
    method: str,
    settings: Mapping[str, Any],
    only_between: str | None,
) -> tuple[Detection, KeptSeries]:
    """Compare a series with what was reported of it.

    Changes that were confirmed stay unless the new nights refute them. New nights are added one at
    a time, so that the log says which of them made a difference.

    Parameters
    ----------
    series : NightlySeries
    kept : KeptSeries or None
        What the state has of it.
    method, settings, only_between
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
    size = series.times.size
    if kept is None or not same_past(kept.series, series):
        kept = None if kept is None else moved(kept, series)
        ends = [size]
    else:
        ends = list(range(kept.series.times.size + 1, size + 1))[-ONE_BY_ONE:]
    verdicts, log = (kept.verdicts, kept.log) if kept else ((), ())
    detection = None
    for end in ends:
        detection = detect_in(series, method, settings, only_between, end, confirmed_of(verdicts))
        now, events = compare_with_reported(verdicts, detection)
        verdicts, log = tuple(now), log + tuple(events)
    if detection is None:
        known = confirmed_of(verdicts)
        detection = detect_in(series, method, settings, only_between, size, known)
    return detection, KeptSeries(series=series, verdicts=verdicts, log=log)


def confirmed_of(verdicts: Sequence[ReportedChange]) -> list[int]:
    """Return the first observations of the changes that were confirmed."""
    return [each.index for each in verdicts if each.confirmed]


def judge_series(
    series: NightlySeries,
    kept: KeptSeries | None,
    *,
    follows: bool,
    method: str,
    settings: Mapping[str, Any],
    only_between: str | None,
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
            return follow_series(series, kept, method, settings, only_between)
        return detect_in(series, method, settings, only_between), None
    except UsageError:
        raise
    except DataError as error:
        return str(error), None


def method_words(method: str, settings: Mapping[str, Any], only_between: str | None) -> str:
    """Return a method with its settings, in words."""
    words = [f"{key} {value}" for key, value in sorted(settings.items())]
    return ", ".join([method, *words, *([f"only between {only_between}"] if only_between else [])])
