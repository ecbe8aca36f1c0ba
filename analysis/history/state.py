"""What was said of a history up to last night, so that no revision is silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hindmost.analysis.history.labels import SECONDS_A_DAY, observed
from hindmost.analysis.history.merging import KeptSeries, merge, moved, same_past
from hindmost.analysis.history.records import FailedRun, History, NightlySeries, SeriesName
from hindmost.errors import UsageError
from hindmost.models.changepoint import Detection, Event, detect
from hindmost.models.changepoint.events import compare_verdicts

FAILURES_KEPT_DAYS = 60.0
ONE_BY_ONE = 30
"""Nights that are fed one at a time; of more, those before are taken in at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryState:
    """Every series so far, with the verdicts on it and their log.

    Attributes
    ----------
    method : str
        Empty in a state that is new.
    settings : mapping
        Of the method.
    only_between : str or None
    series : mapping
        Name to series, verdicts and log.
    parents : mapping
        Timer to the timer that it is a part of.
    failures : tuple of FailedRun
        Of the last `FAILURES_KEPT_DAYS`.
    """

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    only_between: str | None = None
    series: Mapping[SeriesName, KeptSeries] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[FailedRun, ...] = ()

    def follow(
        self,
        history: History,
        method: str,
        settings: Mapping[str, Any],
        only_between: str | None,
    ) -> Following:
        """Take in what is new in a history: all its nights, or the last ones only.

        Raises
        ------
        UsageError
            The state was kept by another method, or with other settings.
        """
        asked = (method, dict(settings), only_between)
        kept = (self.method, dict(self.settings), self.only_between)
        if self.method and asked != kept:
            raise UsageError(
                f"The state was kept by {told(*kept)}, and this is {told(*asked)}: their verdicts "
                "do not follow each other. Ask for the same, or begin another state file."
            )
        new = {series.name: series for series in history.series}
        merged = {
            name: merge(self.series[name].series if name in self.series else None, new.get(name))
            for name in sorted({*new, *self.series})
        }
        remarks = [
            f"{name}: the state holds other observations before the newest than the files do; "
            "its verdicts are held against those of the files."
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
        """Say if series look like those of the state, but for the machine that they are of."""
        known = {(name.case, name.timer): name.machine for name in self.series}
        strange = sorted(
            name for name in new if name not in self.series and (name.case, name.timer) in known
        )
        if not strange:
            return []
        name = strange[0]
        return [
            f"{len(strange)} series are of the machine {name.machine!r}, and the state has the "
            f"same of {known[name.case, name.timer]!r}, as {name.case}, {name.timer}: both are "
            "kept. A machine may come from the name of a folder: name the same one every night."
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
        Series whose past is no longer what it was.
    kept : dict
        Filled by `judge`.
    """

    before: HistoryState
    history: History
    method: str
    settings: dict[str, Any]
    only_between: str | None
    remarks: tuple[str, ...]
    kept: dict[SeriesName, KeptSeries]

    def judge(self, series: NightlySeries) -> tuple[Detection, tuple[Event, ...]]:
        """Hold a series against what was told of it, as `hindmost.models.changepoint.Watch` does.

        New nights are fed one at a time, so that the log says which of them made a difference.

        Returns
        -------
        Detection
            Of all nights.
        tuple of Event
            The whole log.

        Raises
        ------
        DataError
            The series is not what it should be.
        """
        size = series.times.size
        kept = self.before.series.get(series.name)
        if kept is None or not same_past(kept.series, series):
            kept = None if kept is None else moved(kept, series)
            ends = [size]
        else:
            ends = list(range(kept.series.times.size + 1, size + 1))[-ONE_BY_ONE:]
        verdicts, log = (kept.verdicts, kept.log) if kept else ((), ())
        detection = None
        for end in ends:
            detection = self.detect(series, end)
            now, events = compare_verdicts(verdicts, detection)
            verdicts, log = tuple(now), log + tuple(events)
        self.kept[series.name] = KeptSeries(series=series, verdicts=verdicts, log=log)
        return detection or self.detect(series, size), log

    def detect(self, series: NightlySeries, end: int) -> Detection:
        """Do one pass over the first observations of a series."""
        labels = observed(series, self.only_between)
        return detect(
            series.values[:end],
            method=self.method,
            **{name: each[:end] for name, each in labels.items()},
            **self.settings,
        )

    def state(self) -> HistoryState:
        """Return the next state; a series that could not be judged stays as it was."""
        return HistoryState(
            method=self.method,
            settings=self.settings,
            only_between=self.only_between,
            series={**self.before.series, **self.kept},
            parents=self.history.parents,
            failures=tuple(
                each
                for each in self.history.failures
                if each.time > self.history.failures[-1].time - FAILURES_KEPT_DAYS * SECONDS_A_DAY
            ),
        )


def told(method: str, settings: Mapping[str, Any], only_between: str | None) -> str:
    """Say how verdicts are come by."""
    words = [f"{key} {value}" for key, value in sorted(settings.items())]
    return ", ".join([method, *words, *([f"only between {only_between}"] if only_between else [])])
