"""The study of a history: every series judged, and the changes of the last days."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hindmost.analysis.history.acknowledgements import Acknowledgement, about
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_labels, newest
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.state import HistoryState, judge_series
from hindmost.analysis.readers.history import History, SeriesName
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor
from hindmost.models.changepoint import least_change
from hindmost.models.changepoint.verdicts import (
    FAIL,
    PASS,
    SILENT_DAYS,
    UNKNOWN,
    VERDICTS,
    WARN,
    worst,
)

__all__ = ["FAIL", "PASS", "UNKNOWN", "WARN", "HistoryStudy", "JudgedSeries", "judge_history"]
LAST_DAYS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStudy:
    """A history, judged.

    Attributes
    ----------
    history : History
    judged : tuple of JudgedSeries
        In the order of the history's series; those that could not be judged are in ``refused``.
    method : str
        Of `hindmost.models.changepoint.METHODS`.
    settings : mapping
        Of the method.
    last_days : float
        Number of days before the newest night that the report covers.
    until : float
        The newest night: seconds since 1970, UTC; see `newest` for one that is dated wrongly.
    refused : mapping
        Name of a series to the reason why it cannot be judged.
    state : HistoryState or None
        The next state, to be saved, if one was given.
    remarks : tuple of str
        Remarks on the state, in addition to the history's warnings.
    """

    history: History
    judged: tuple[JudgedSeries, ...]
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    last_days: float
    until: float
    refused: Mapping[SeriesName, str] = field(default_factory=dict)
    state: HistoryState | None = None
    remarks: tuple[str, ...] = ()

    @property
    def since(self) -> float:
        """Changes after it are recent: seconds since 1970, UTC."""
        return self.until - self.last_days * SECONDS_A_DAY

    def status(self, since: float | None = None) -> str:
        """Return the worst verdict on all after a time; by default, on the last days.

        A failed run is at least "warn", because its case was not measured, and so is a machine that
        went silent. "unknown" if no series could be judged.
        """
        after = self.since if since is None else since
        badges = {each.status(after) for each in self.judged} or {UNKNOWN}
        warns = self.failed_cases(after) or self.silent_machines(after)
        return worst({*badges, *([WARN] if warns else [])})

    def silent_machines(self, since: float) -> dict[str, float]:
        """Return the machines without a result or a failed run after a time, and their last ones.

        Machines without any for `SILENT_DAYS` before that are left out.
        """
        last: dict[str, float] = {}
        for (machine, _), (_, time) in self.spans().items():
            last[machine] = max(last.get(machine, time), time)
        for failure in self.history.failures:
            if failure.machine in last:
                last[failure.machine] = max(last[failure.machine], failure.time)
        earliest = since - SILENT_DAYS * SECONDS_A_DAY
        return {machine: time for machine, time in last.items() if earliest < time <= since}

    def silent_cases(self, since: float) -> dict[tuple[str, str], float]:
        """Return the silent cases of machines that are not silent, and their last results.

        A case that failed after the time is not silent.
        """
        failed, machines = self.failed_cases(since), self.silent_machines(since)
        earliest = since - SILENT_DAYS * SECONDS_A_DAY
        return {
            case: time
            for case, (_, time) in self.spans().items()
            if earliest < time <= since and case not in failed and case[0] not in machines
        }

    def new_cases(self, since: float) -> dict[tuple[str, str], float]:
        """Return the cases that began after a time, and when, on machines that ran others before.

        A single timer that begins is no new case.
        """
        first = {case: time for case, (time, _) in self.spans().items()}
        known = {machine for (machine, _), time in first.items() if time <= since}
        return {case: time for case, time in first.items() if time > since and case[0] in known}

    def spans(self) -> dict[tuple[str, str], tuple[float, float]]:
        """Return the times of the first and the last result of each case of a machine."""
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for each in self.judged:
            times, case = each.series.times, (each.series.name.machine, each.series.name.case)
            first, last = found.get(case, (math.inf, -math.inf))
            found[case] = min(first, float(times[0])), max(last, float(times[-1]))
        return found

    def of_case(self, case: tuple[str, str]) -> list[JudgedSeries]:
        """Return the series of a case of a machine."""
        return [
            each
            for each in self.judged
            if (each.series.name.machine, each.series.name.case) == case
        ]

    def silent(self) -> tuple[JudgedSeries, ...]:
        """Return the series without a result in the last days."""
        return tuple(each for each in self.judged if each.is_silent(self.since))

    def unjudged(self) -> tuple[JudgedSeries, ...]:
        """Return the series with a result in the last days that cannot be judged yet."""
        return tuple(
            each
            for each in self.judged
            if (each.detection.too_short or each.is_unjudged(self.since))
            and not each.is_silent(self.since)
        )

    def ranked(self) -> tuple[JudgedSeries, ...]:
        """Return all series: the worst verdict first, then the newest change."""
        return tuple(
            sorted(
                self.judged,
                key=lambda each: (
                    VERDICTS.index(each.status(self.since)),
                    -max((change.time for change in each.detection.changes), default=0.0),
                    each.series.name,
                ),
            )
        )

    @property
    def least(self) -> float:
        """The smallest relative change that the method reports; 0 without a limit."""
        return least_change(self.method, self.settings)

    def failed_cases(self, since: float) -> Counter[tuple[str, str]]:
        """Return how many runs of a machine and case failed after a time."""
        return Counter(
            (each.machine, each.case) for each in self.history.failures if each.time > since
        )

    def by_case(self) -> dict[tuple[str, str], str]:
        """Return the worst verdict of every machine and case, as `status` does of all."""
        badges: dict[tuple[str, str], set[str]] = {
            case: {WARN} for case in self.failed_cases(self.since)
        }
        for each in self.judged:
            name = each.series.name
            badges.setdefault((name.machine, name.case), set()).add(each.status(self.since))
        return {case: worst(found) for case, found in badges.items()}


def judge_history(
    history: History,
    *,
    method: str = "robust",
    last_days: float = LAST_DAYS,
    state: HistoryState | None = None,
    acknowledged: Sequence[Acknowledgement] = (),
    executor: Executor | None = None,
    now: float = math.inf,
    **settings: Any,
) -> HistoryStudy:
    """Find the changes in every series of a history.

    Parameters
    ----------
    history : History
    method : str
        Of `hindmost.models.changepoint.METHODS`.
    last_days : float
        Number of days before the newest night that the report covers.
    state : HistoryState, optional
        What was reported up to last night, with its series; the new nights are added, and
        `HistoryStudy.state` is the next state.
    acknowledged : sequence of Acknowledgement
    executor : Executor, optional
        Judges the series; None: threads of this process.
    now : float
        Seconds since 1970, UTC: nights that are dated long after it do not count as the newest.
    **settings
        Of the method, as ``alpha``.

    Raises
    ------
    UsageError
        The method or a setting is unknown or out of range, or the state was kept with others.
    DataError
        There is no series to judge.
    """
    if not 0.0 < last_days < float("inf"):
        raise UsageError(f"last_days = {last_days} must be larger than 0.")
    following = None
    if state is not None:
        following = state.follow(history, method, settings)
        history = following.history
    if not history.series:
        raise DataError(f"{history.source} contains no series to judge: no run has a result.")
    follows = following is not None
    judge = partial(judge_series, follows=follows, method=method, settings=settings)
    known = {} if state is None else state.series
    given = [(series, known.get(series.name)) for series in history.series]
    # Compiled loops release the lock. The first series runs alone, as it may compile them.
    results = [judge(*given[0])]
    with nullcontext(executor) if executor else threads() as chosen:
        results += chosen.map(judge, *zip(*given[1:], strict=True)) if given[1:] else []
    judged, refused = [], {}
    for series, (detection, kept) in zip(history.series, results, strict=True):
        if following is not None and kept is not None:
            following.kept[series.name] = kept
        if isinstance(detection, str):
            refused[series.name] = detection
            continue
        judged.append(
            JudgedSeries(
                series=series,
                detection=detection,
                log=() if kept is None else kept.log,
                known=about(acknowledged, series.name),
                labels=date_labels(series.times),
            )
        )
    return HistoryStudy(
        history=history,
        judged=tuple(judged),
        method=method,
        settings=dict(settings),
        last_days=last_days,
        until=newest(history, now),
        refused=refused,
        state=None if following is None else following.state(),
        remarks=() if following is None else following.remarks,
    )


def threads() -> ThreadPoolExecutor:
    """Return a thread for each core that this process may use."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))
