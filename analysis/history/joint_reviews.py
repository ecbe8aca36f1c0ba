"""Reading the panels of a history again as they grew, so that joint changes stay found.

Without a state, the last `READ_AGAIN` days are read again; with one, those since the last reading.
Every machine's timers are read on the same days, whatever nights a history begins and ends with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.detecting import detect_in
from hindmost.analysis.history.joint_memory import JointMemory, PanelMemory
from hindmost.analysis.history.merging import KeptSeries
from hindmost.analysis.history.state import judge_series
from hindmost.analysis.readers.history import NightlySeries
from hindmost.errors import DataError
from hindmost.models.changepoint import Detection
from hindmost.models.changepoint.joint import FEWEST_SERIES, find_joint_changes, leftover
from hindmost.models.changepoint.joint_held import REVIEW, PanelSeries, ReviewedPanel

READ_AGAIN = 30
"""Last days that are read again, at most: each takes most of a pass over all series."""
PanelName = tuple[str, str]
"""A machine and a timer: all cases of both are a panel."""
Reading = Mapping[PanelName, Sequence[PanelSeries]]
"""The panels of a history up to a night."""


def panel_name(series: NightlySeries) -> PanelName:
    """Return the panel of a series."""
    return series.name.machine, series.name.timer


def day_numbers(series: NightlySeries) -> NDArray[np.int64]:
    """Return the days of a series' observations since 1970, int64, shape (observation,)."""
    days: NDArray[np.int64] = np.floor(series.times / SECONDS_A_DAY).astype(np.int64)
    return days


def panels_of(every: Sequence[NightlySeries]) -> dict[PanelName, list[NightlySeries]]:
    """Return the panels that have enough series for a joint change."""
    panels: dict[PanelName, list[NightlySeries]] = {}
    for series in every:
        if not series.name.is_ratio:
            panels.setdefault(panel_name(series), []).append(series)
    return {name: panel for name, panel in panels.items() if len(panel) >= FEWEST_SERIES}


def review_days(memory: JointMemory, every: Sequence[NightlySeries]) -> tuple[int, ...]:
    """Return the days that are to be read again: days since 1970, ascending.

    A day is read when there are results of a later one, so that it is complete.
    """
    ends = [int(day_numbers(series)[-1]) for series in every if series.times.size]
    if not ends:
        return ()
    begun = max(ends) - READ_AGAIN
    first = begun if memory.reviewed is None else max(begun, memory.reviewed + 1)
    return tuple(day for day in range(first, max(ends)) if day % REVIEW == 0)


def panel_series(series: NightlySeries, detection: Detection) -> PanelSeries:
    """Return the first observations of a series, those that were searched, for its panel."""
    logs = np.log(series.values[: detection.observations])
    nights = day_numbers(series)[: detection.observations]
    return PanelSeries(
        name=series.name.case,
        nights=nights,
        logs=logs,
        rest=leftover(logs, nights, detection),
    )


def read_again(
    series: NightlySeries,
    days: Sequence[int],
    method: str,
    settings: Mapping[str, Any],
    only_between: str | None,
    odds: NDArray[np.float64] | None = None,
) -> tuple[PanelSeries | None, ...]:
    """Return a series as it was on some days; None where it was too short to judge.

    Parameters
    ----------
    series : NightlySeries
    days : sequence of int
        Days since 1970.
    method, settings, only_between, odds
        See `detect_in`.
    """
    read: list[PanelSeries | None] = []
    for stop in np.searchsorted(day_numbers(series), days, side="right").tolist():
        try:
            found = detect_in(series, method, settings, only_between, stop, odds) if stop else None
        except DataError:
            found = None
        read.append(None if found is None or found.too_short else panel_series(series, found))
    return tuple(read)


def judge_and_read_again(
    series: NightlySeries,
    kept: KeptSeries | None,
    odds: NDArray[np.float64] | None,
    days: Sequence[int],
    *,
    follows: bool,
    method: str,
    settings: Mapping[str, Any],
    only_between: str | None,
) -> tuple[Detection | str, KeptSeries | None, tuple[PanelSeries | None, ...]]:
    """Judge a series as `judge_series` does, and return it as it was on some days too."""
    detection, now = judge_series(
        series,
        kept,
        odds,
        follows=follows,
        method=method,
        settings=settings,
        only_between=only_between,
    )
    # Afterwards, in the same process: what the method found in the first nights is remembered.
    return detection, now, read_again(series, days, method, settings, only_between, odds)


def readings_of(
    every: Sequence[NightlySeries], read: Sequence[Sequence[PanelSeries | None]], days: int
) -> list[Reading]:
    """Return the panels of so many days; ``read`` has these days of every series, or none."""
    readings: list[dict[PanelName, list[PanelSeries]]] = [{} for _ in range(days)]
    for series, own in zip(every, read, strict=True):
        for reading, part in zip(readings, own, strict=False):
            if part is not None:
                reading.setdefault(panel_name(series), []).append(part)
    return list(readings)


def review(memory: JointMemory, days: Sequence[int], readings: Sequence[Reading]) -> JointMemory:
    """Return what is held after some readings.

    Parameters
    ----------
    memory : JointMemory
        Before them.
    days : sequence of int
        Days since 1970.
    readings : sequence of Reading
        Of each of these days.
    """
    reviewed: dict[PanelName, ReviewedPanel] = {
        (each.machine, each.timer): ReviewedPanel(held=each.held, withdrawn=each.withdrawn)
        for each in memory.panels
    }
    for day, reading in zip(days, readings, strict=True):
        for name in {**reviewed, **reading}:
            panel = reading.get(name, ())
            if panel:
                found = find_joint_changes([each.rest for each in panel])
                before = reviewed.get(name, ReviewedPanel())
                reviewed[name] = before.review(panel, found, day)
    return JointMemory(
        reviewed=days[-1] if days else memory.reviewed,
        panels=tuple(
            PanelMemory(machine=machine, timer=timer, held=each.held, withdrawn=each.withdrawn)
            for (machine, timer), each in sorted(reviewed.items())
            if each.held or each.withdrawn
        ),
    )
