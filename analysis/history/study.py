"""The study of a history: every series judged, and the changes of the last days."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from hindmost.analysis.history.acknowledgements import Acknowledgement, about
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_labels, newest
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.state import HistoryState, judge_series
from hindmost.analysis.readers.gather_history import select
from hindmost.analysis.readers.history import History, SeriesName
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor
from hindmost.models.changepoint import default_settings, least_change
from hindmost.models.changepoint.detection import (
    FAIL,
    PASS,
    RECENT,
    SILENT_DAYS,
    UNKNOWN,
    VERDICTS,
    WARN,
    worst,
)

__all__ = ["FAIL", "PASS", "UNKNOWN", "WARN", "HistoryStudy", "JudgedSeries", "judge_history"]


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
    last_days : float
        Number of days before the newest night that the report covers.
    until : float
        The newest night: seconds since 1970, UTC; see `newest` for one that is dated wrongly.
    refused : mapping
        Name of a series to the reason why it cannot be judged.
    state : HistoryState or None
        The next state, to be saved, if one was given.
    """

    history: History
    judged: tuple[JudgedSeries, ...]
    method: str
    last_days: float
    until: float
    refused: Mapping[SeriesName, str] = field(default_factory=dict)
    state: HistoryState | None = None

    @property
    def since(self) -> float:
        """Changes after it are recent: seconds since 1970, UTC."""
        return self.until - self.last_days * SECONDS_A_DAY

    def status(self) -> str:
        """Return the worst verdict on all in the last days.

        A failed run is at least "warn", because its case was not measured, and so is a machine that
        went silent. "unknown" if no series could be judged.
        """
        badges = self.by_case().values() or [UNKNOWN]
        return worst([*badges, *([WARN] if self.silent_machines() else [])])

    def silent_machines(self) -> dict[str, float]:
        """Return the machines without a result or a failed run in the last days, and their last.

        Machines without any for `SILENT_DAYS` before that are left out.
        """
        last: dict[str, float] = {}
        for (machine, _), (_, time) in self.spans().items():
            last[machine] = max(last.get(machine, time), time)
        for failure in self.history.failures:
            if failure.machine in last:
                last[failure.machine] = max(last[failure.machine], failure.time)
        return {machine: time for machine, time in last.items() if self.went_silent(time)}

    def went_silent(self, last: float) -> bool:
        """Tell whether a last result is older than the last days, but not given up."""
        return self.since - SILENT_DAYS * SECONDS_A_DAY < last <= self.since

    def silent_cases(self) -> dict[tuple[str, str], float]:
        """Return the silent cases of machines that are not silent, and their last results.

        A case that failed in the last days is not silent.
        """
        failed, machines = self.failed_cases(), self.silent_machines()
        return {
            case: time
            for case, (_, time) in self.spans().items()
            if self.went_silent(time) and case not in failed and case[0] not in machines
        }

    def new_cases(self) -> dict[tuple[str, str], float]:
        """Return the cases that began in the last days, on machines that ran others before.

        A single timer that begins is no new case.
        """
        first = {case: time for case, (time, _) in self.spans().items()}
        known = {machine for (machine, _), time in first.items() if time <= self.since}
        return {
            case: time for case, time in first.items() if time > self.since and case[0] in known
        }

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
        return least_change(self.method)

    @property
    def level(self) -> float:
        """The probability of the method's intervals."""
        return float(default_settings(self.method)["level"])

    def failed_cases(self) -> Counter[tuple[str, str]]:
        """Return how many runs of a machine and case failed in the last days."""
        return Counter(
            (each.machine, each.case) for each in self.history.failures if each.time > self.since
        )

    def by_case(self) -> dict[tuple[str, str], str]:
        """Return the worst verdict of every machine and case, as `status` does of all."""
        badges: dict[tuple[str, str], set[str]] = {case: {WARN} for case in self.failed_cases()}
        for each in self.judged:
            name = each.series.name
            badges.setdefault((name.machine, name.case), set()).add(each.status(self.since))
        return {case: worst(found) for case, found in badges.items()}


def judge_history(
    history: History,
    *,
    method: str = "robust",
    last_days: float = RECENT,
    state: HistoryState | None = None,
    acknowledged: Sequence[Acknowledgement] = (),
    executor: Executor | None = None,
    now: float = math.inf,
    **only: str | None,
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
    **only
        Judge these only, as ``case``; see `hindmost.analysis.readers.gather_history.select`. The
        next state has the nights of all.

    Raises
    ------
    UsageError
        There is no such method or series, or the state was kept with another one.
    DataError
        There is no series to judge.
    """
    if not 0.0 < last_days < float("inf"):
        raise UsageError(f"last_days = {last_days} must be larger than 0.")
    whole = (state or HistoryState()).with_nights(history, method)
    history = replace(
        history,
        series=tuple(each.series for each in whole.series.values()),
        parents=whole.parents,
        failures=whole.failures,
    )
    history = select(history, **only)
    given = [whole.series[each.name] for each in history.series]
    if not given:
        raise DataError(f"{history.source} contains no series to judge: no run has a result.")
    judge = partial(judge_series, method=method)
    # Compiled loops release the lock. The first series runs alone, as it may compile them.
    results = [judge(given[0])]
    with nullcontext(executor) if executor else threads() as chosen:
        results += chosen.map(judge, given[1:])
    judged, refused = [], {}
    for detection, kept in results:
        series = kept.series
        if isinstance(detection, str):
            refused[series.name] = detection
            continue
        judged.append(
            JudgedSeries(
                series=series,
                detection=detection,
                log=() if state is None else kept.log,
                known=about(acknowledged, series.name),
                labels=date_labels(series.times),
            )
        )
    return HistoryStudy(
        history=history,
        judged=tuple(judged),
        method=method,
        last_days=last_days,
        until=newest(history, now),
        refused=refused,
        state=state and whole.judged({kept.series.name: kept for _, kept in results}),
    )


def threads() -> ThreadPoolExecutor:
    """Return a thread for each core that this process may use."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))
