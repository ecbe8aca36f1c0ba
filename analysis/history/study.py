"""A history and what is said of it: every series judged, and the changes of the last days."""

from __future__ import annotations

import html
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hindmost.analysis.history.acknowledgements import Acknowledgement, about
from hindmost.analysis.history.judged import (
    BADGES,
    FAIL,
    PASS,
    WARN,
    Judged,
    worst,
)
from hindmost.analysis.history.labels import SECONDS_A_DAY, date_labels, observed
from hindmost.analysis.history.records import History, NightlySeries, SeriesName
from hindmost.analysis.history.state import HistoryState
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import Detection, Event, detect
from hindmost.models.significance import p_number

__all__ = ["FAIL", "PASS", "WARN", "HistoryStudy", "Judged", "judge_history"]
LAST_DAYS = 10.0
SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStudy:
    """A history, judged.

    Attributes
    ----------
    history : History
    judged : tuple of Judged
        In the order of the history's series; those that could not be judged are in ``refused``.
    method : str
        Of `hindmost.models.changepoint.METHODS`.
    settings : mapping
        Of the method.
    last_days : float
        How many days before the newest night are told of.
    until : float
        The newest night: seconds since 1970, UTC.
    refused : mapping
        Name of a series to the reason why it could not be judged.
    state : HistoryState or None
        To be saved and given to the next judgement, if one was given to this.
    remarks : tuple of str
        What a person should know of the state, beside the history's warnings.
    """

    history: History
    judged: tuple[Judged, ...]
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

        A run that failed is at least "warn": its case was not measured.
        """
        after = self.since if since is None else since
        badges = {each.status(after) for each in self.judged}
        return worst({*badges, *([WARN] if self.failed_cases(after) else [])})

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

    def _repr_html_(self) -> str:
        """Show the recent changes in a notebook."""
        rows = [(each, change) for each in self.judged for change in each.recent(self.since)]
        rows.sort(key=lambda row: (BADGES.index(row[0].badge(row[1])), -abs(row[1].effect)))
        cells = [
            (
                each.badge(change),
                each.labels[change.index],
                str(each.series.name),
                f"{change.before:.4g} → {change.after:.4g} {each.series.unit}",
                f"{100.0 * change.effect:+.1f} %",
                p_number(change.p_value),
            )
            for each, change in rows[:SHOWN]
        ]
        head = ("verdict", "date", "series", "level", "effect", "p")
        more = f"; {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        return (
            f"<table><caption>{len(self.judged)} series: {self.status()}; {len(rows)} changes in "
            f"the last {self.last_days:g} days{more}</caption>"
            f"{table_row(head, 'th')}{''.join(table_row(row, 'td') for row in cells)}</table>"
        )


def table_row(cells: tuple[str, ...], tag: str) -> str:
    """Return a row of an HTML table."""
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def judge_history(
    history: History,
    *,
    method: str = "robust",
    last_days: float = LAST_DAYS,
    only_between: str | None = None,
    state: HistoryState | None = None,
    acknowledged: Sequence[Acknowledgement] = (),
    **settings: Any,
) -> HistoryStudy:
    """Find the changes in every series of a history.

    Parameters
    ----------
    history : History
    method : str
        Of `hindmost.models.changepoint.METHODS`.
    last_days : float
        How many days before the newest night are told of.
    only_between : {"days", "commits"}, optional
        Where a change may lie.
    state : HistoryState, optional
        What was said up to last night; it holds series of its own, and takes in the new nights:
        `HistoryStudy.state` is the next one.
    acknowledged : sequence of Acknowledgement
    **settings
        Of the method, as ``alpha``.

    Raises
    ------
    UsageError
        There is no such method or setting, it is out of range, or the state was kept by others.
    DataError
        There is no series to judge.
    """
    if not 0.0 < last_days < float("inf"):
        raise UsageError(f"last_days = {last_days} must be larger than 0.")
    following = None
    if state is not None:
        following = state.follow(history, method, settings, only_between)
        history = following.history
    if not history.series:
        raise DataError(f"{history.source} holds no series to judge: no run gave a time.")

    def judge(series: NightlySeries) -> tuple[Detection | str, tuple[Event, ...]]:
        try:
            if following is not None:
                return following.judge(series)
            return (
                detect(series.values, method=method, **observed(series, only_between), **settings),
                (),
            )
        except UsageError:
            raise
        except DataError as error:
            return str(error), ()

    # The compiled loops let other threads run; the first series alone, as they may be compiled.
    results = [judge(history.series[0])]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        results += threads.map(judge, history.series[1:])
    judged, refused = [], {}
    for series, (detection, log) in zip(history.series, results, strict=True):
        if isinstance(detection, str):
            refused[series.name] = detection
            continue
        judged.append(
            Judged(
                series=series,
                detection=detection,
                log=log,
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
        until=newest(history),
        refused=refused,
        state=None if following is None else following.state(),
        remarks=() if following is None else following.remarks,
    )


def newest(history: History) -> float:
    """Return the time of the newest night, failed ones among them: seconds since 1970, UTC."""
    times = [float(series.times[-1]) for series in history.series if series.times.size]
    return max([*times, *(failure.time for failure in history.failures)])
