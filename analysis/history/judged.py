"""One series and what is said of it: which changes fail, warn, pass, or are known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.history.labels import SECONDS_A_DAY
from hindmost.analysis.history.records import NightlySeries
from hindmost.models.changepoint import Change, Detection, Event, Trend

PASS, WARN, FAIL = "pass", "warn", "fail"
BADGES = (FAIL, WARN, PASS)
"""Verdicts, the worst first."""
UNDONE = 0.5
"""A slowdown is undone when the last level has come back by more than this share of it."""
DRIFT = 0.05
"""A series that drifts up to now warns where it is worse by more than this share, for certain."""
WITHIN = 2
"""Observations that a change may have moved since it was noted as known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A series and what is said of it.

    Attributes
    ----------
    series : NightlySeries
    detection : Detection
        Its indices are those of the series; its times are days since 1970, UTC.
    log : tuple of Event
        How the verdicts came, revisions and their reasons among them; empty if no state is kept.
    known : tuple of Acknowledgement
        Changes that a person has noted as known.
    labels : tuple of str, one an observation
        Dates, as ``2020-02-26``; with the time of the day where a day has several runs.
    """

    series: NightlySeries
    detection: Detection
    log: tuple[Event, ...] = ()
    known: tuple[Acknowledgement, ...] = ()
    labels: tuple[str, ...]

    def is_worse(self, change: Change) -> bool:
        """Tell whether a change is a slowdown, or a loss where more is better."""
        return (change.effect > 0.0) == self.series.smaller_is_better

    def is_undone(self, change: Change) -> bool:
        """Tell whether later changes took back more than half of a change."""
        now = self.detection.changes[-1].after
        return (now - change.before) / (change.after - change.before) <= UNDONE

    def acknowledgement(self, change: Change) -> Acknowledgement | None:
        """Return the note that says that a change is known."""
        return next((note for note in self.known if self.meant(note) == change), None)

    def meant(self, note: Acknowledgement) -> Change | None:
        """Return the change that a note is about: of those that may lie there, the nearest."""
        noted = date.fromisoformat(note.date)
        last = len(self.labels) - 1
        may = [
            change
            for change in self.detection.changes
            if note.covers(
                self.labels[max(min(change.interval[0], change.index) - WITHIN, 0)],
                self.labels[min(max(change.interval[1], change.index) + WITHIN, last)],
            )
        ]
        return min(
            may,
            key=lambda change: abs(date.fromisoformat(self.labels[change.index][:10]) - noted),
            default=None,
        )

    def badge(self, change: Change) -> str:
        """Return the verdict on a change.

        "fail" for a confirmed slowdown, "warn" for one that is seen but not yet confirmed, "pass"
        for all others: those for the better, those undone since, and those known.
        """
        if not self.is_worse(change) or self.is_undone(change) or self.acknowledgement(change):
            return PASS
        return FAIL if change.confirmed else WARN

    def recent(self, since: float) -> tuple[Change, ...]:
        """Return the changes after a time (seconds since 1970, UTC), newest first."""
        day = since / SECONDS_A_DAY
        return tuple(change for change in reversed(self.detection.changes) if change.time > day)

    def drift(self, since: float) -> Trend | None:
        """Return the drift that goes on after a time (seconds since 1970, UTC).

        None if there is none, or if its interval holds 0: such a drift is not told.
        """
        trends, times = self.detection.trends, self.detection.times
        if not trends or times[-1] <= since / SECONDS_A_DAY:
            return None
        low, high = trends[-1].effect_interval
        goes_on = trends[-1].stop == self.detection.observations
        return trends[-1] if goes_on and not low <= 0.0 <= high else None

    def drifts_badly(self, since: float) -> bool:
        """Tell whether a drift goes on whose whole interval is worse than `DRIFT`.

        One in whose dates a note lies, which is about no change, is known.
        """
        trend = self.drift(since)
        if trend is None:
            return False
        low, high = trend.effect_interval
        # As of a loss in what should be large: the share by which it would have to be made up.
        worse = low if self.series.smaller_is_better else -high / (1.0 + high)
        if worse <= DRIFT:
            return False
        first, last = self.labels[trend.start], self.labels[trend.stop - 1]
        return not any(note.covers(first, last) and self.meant(note) is None for note in self.known)

    def is_suspected(self, since: float) -> bool:
        """Tell whether the method suspects a change after a time (seconds since 1970, UTC)."""
        day = since / SECONDS_A_DAY
        return any(self.detection.times[place] > day for place in self.detection.suspects)

    def status(self, since: float) -> str:
        """Return the worst verdict on what is after a time (seconds since 1970, UTC).

        That of its changes; "warn" for a change that is suspected, and for a drift for the worse.
        """
        badges = {self.badge(change) for change in self.recent(since)}
        if self.is_suspected(since) or self.drifts_badly(since):
            badges.add(WARN)
        return worst(badges)

    def to_json(self, source: str, since: float) -> dict[str, Any]:
        """Return it under the keys of the ``history`` contract."""
        found = self.detection.to_json(self.labels)
        for record, change in zip(found["changes"], self.detection.changes, strict=True):
            note = self.acknowledgement(change)
            record["badge"] = self.badge(change)
            record["known"] = None if note is None else note.reason
            record["commits"] = self.commits_of(change)
        return {
            "file": source,
            "machine": self.series.name.machine,
            "case": self.series.name.case,
            "timer": self.series.name.timer,
            "unit": self.series.unit,
            "smaller_is_better": self.series.smaller_is_better,
            **found,
            "status": self.status(since),
            "log": [event.to_json() for event in self.log],
        }

    def commits_of(self, change: Change) -> list[str]:
        """Return the commits of the last observation before a change and of the first after it.

        They are those at the ends of its interval: the change lies between them.
        """
        first, last = change.interval
        return [self.series.commits[max(first - 1, 0)], self.series.commits[last]]


def worst(badges: set[str]) -> str:
    """Return the worst of some verdicts; "pass" of none."""
    return next((badge for badge in BADGES if badge in badges), PASS)
