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
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.commit_ranges import LocalGit
from hindmost.analysis.history.dates import SECONDS_A_DAY, date_labels, newest, next_due
from hindmost.analysis.history.judged_series import Acknowledgement, JudgedSeries, about
from hindmost.analysis.history.state import (
    HistoryState,
    judge_series,
    reported,
    without_chance,
)
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

T = TypeVar("T")
GATES = ("open", "confirmed", "new")

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
    now : float
        When it is judged: seconds since 1970, UTC; infinite if that does not matter.
    refused : mapping
        Name of a series to the reason why it cannot be judged.
    state : HistoryState or None
        The next state, to be saved, if one was given.
    git : LocalGit or None
        The local repository of what was measured.
    """

    history: History
    judged: tuple[JudgedSeries, ...]
    method: str
    last_days: float
    until: float
    now: float = math.inf
    refused: Mapping[SeriesName, str] = field(default_factory=dict)
    state: HistoryState | None = None
    git: LocalGit | None = None

    @property
    def since(self) -> float:
        """Changes after it are recent: seconds since 1970, UTC."""
        return self.until - self.last_days * SECONDS_A_DAY

    def status(self) -> str:
        """Return the worst verdict on all in the last days.

        A failed run is at least "warn", because its case was not measured, and so is a machine or
        case that fell silent. "unknown" if no series could be judged.
        """
        badges = self.by_case().values() or [UNKNOWN]
        return worst([*badges, *([WARN] if self.silent_machines() else [])])

    def fails(self, on: str) -> bool:
        """Tell whether a gate is closed.

        Parameters
        ----------
        on : str
            Of `GATES`: "new" closes it for all that fails or warns, "confirmed" for what fails, and
            "open" also for older changes that would, until they are undone or acknowledged.
        """
        status = self.status()
        if on == "open" and any(
            each.verdict_on(one) == FAIL
            for each in self.judged
            for one in each.open_before(self.since)
        ):
            return True
        return status == FAIL or (on == "new" and status == WARN)

    def silent_machines(self) -> dict[str, float]:
        """Return the machines without a result or a failed run that was due, and their last.

        Those whose results come in no order are silent after the last days. Machines without any
        for `SILENT_DAYS` before the last days are left out.
        """
        times: dict[str, list[NDArray[np.float64]]] = {}
        for (machine, _), found in self.results().items():
            times.setdefault(machine, []).append(found)
        return self.silent_of({name: np.concatenate(found) for name, found in times.items()})

    def silent_cases(self) -> dict[tuple[str, str], float]:
        """Return the silent cases of machines that are not silent, and their last results."""
        machines = self.silent_machines()
        return self.silent_of(
            {case: found for case, found in self.results().items() if case[0] not in machines}
        )

    def silent_of(self, times: Mapping[T, NDArray[np.float64]]) -> dict[T, float]:
        """Return which of some moments of results and failed runs went silent, and their last."""
        # An old folder is read as it was then; the clock counts where the nights go on.
        at = self.now if self.now - self.until < 3.0 * SECONDS_A_DAY else self.until
        given_up = self.since - SILENT_DAYS * SECONDS_A_DAY
        silent = {}
        for name, found in times.items():
            known = found[found <= self.until]
            last = float(known.max(initial=-math.inf))
            # Dates without a time of day: the day has to be over.
            over = at if (known % SECONDS_A_DAY).any() else max(at - SECONDS_A_DAY, self.until)
            if given_up < last and (last <= self.since or next_due(known) <= max(over, self.until)):
                silent[name] = last
        return silent

    def results(self) -> dict[tuple[str, str], NDArray[np.float64]]:
        """Return when each case of a machine had a result, or failed after one."""
        times: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
        for each in self.judged:
            times.setdefault(each.series.name.place, []).append(each.series.times)
        for failure in self.history.failures:
            if (case := (failure.machine, failure.case)) in times:
                times[case].append(np.array([failure.time]))
        return {case: np.concatenate(found) for case, found in times.items()}

    def new_cases(self) -> dict[tuple[str, str], float]:
        """Return the cases that began in the last days, on machines that ran others before.

        A single timer that begins is no new case.
        """
        first = {case: float(times.min()) for case, times in self.results().items()}
        known = {machine for (machine, _), time in first.items() if time <= self.since}
        return {
            case: time for case, time in first.items() if time > self.since and case[0] in known
        }

    def of_case(self, case: tuple[str, str]) -> list[JudgedSeries]:
        """Return the series of a case of a machine."""
        return [each for each in self.judged if each.series.name.place == case]

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
            (failure.machine, failure.case)
            for failure in self.history.failures
            if self.since < failure.time <= self.until
        )

    def by_case(self) -> dict[tuple[str, str], str]:
        """Return the worst verdict of every machine and case, as `status` does of all."""
        badges: dict[tuple[str, str], set[str]] = {case: {WARN} for case in self.failed_cases()}
        for each in self.judged:
            badges.setdefault(each.series.name.place, set()).add(each.status(self.since))
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
    renamed: Mapping[str, str] | None = None,
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
    renamed : mapping, optional
        Old name of a case to its new one; both are one series.
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
    whole = (state or HistoryState()).with_nights(history, method, now + SECONDS_A_DAY, renamed)
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
    threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    with nullcontext(executor) if executor else threads as chosen:
        results += chosen.map(judge, given[1:])
    until, both = newest(history, now), list(zip(given, results, strict=True))
    found = without_chance(
        [(kept, each) for kept, each in both if not isinstance(each, str)], until
    )
    next_kept = {kept.series.name: reported(kept, each) for kept, each in found}
    study = HistoryStudy(
        history=history,
        judged=tuple(
            JudgedSeries(
                series=kept.series,
                detection=each,
                log=() if state is None else next_kept[kept.series.name].log,
                known=about(acknowledged, kept.series.name),
                labels=date_labels(kept.series.times),
            )
            for kept, each in found
        ),
        method=method,
        last_days=last_days,
        until=until,
        now=now,
        refused={kept.series.name: each for kept, each in both if isinstance(each, str)},
        state=state and whole.judged(next_kept, until),
    )
    machines, cases = study.silent_machines(), study.silent_cases()
    return replace(
        study,
        judged=tuple(
            replace(each, fell_silent=place[0] in machines or place in cases)
            for each in study.judged
            for place in [each.series.name.place]
        ),
    )
