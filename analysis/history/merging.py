"""Merging the series of a state with those in tonight's files."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.history import NightlySeries
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.revisions import ReportedChange


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
