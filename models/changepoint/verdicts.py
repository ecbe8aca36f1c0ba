"""The verdict on a series: the one set of rules for the Python API, the command, pages and mails.

A change fails if it is for the worse, confirmed, not undone since and not acknowledged; it warns
while it is not confirmed. A drift warns where it is for the worse by more than `DRIFT` for certain.
Whether a rise is for the worse depends on the series: on times it is, on rates it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hindmost.models.changepoint.changes import ChangePoint, Trend
from hindmost.models.changepoint.detection import RECENT, Detection

PASS, WARN, FAIL, UNKNOWN = "pass", "warn", "fail", "unknown"
VERDICTS = (FAIL, WARN, PASS, UNKNOWN)
"""The worst first; "unknown" where nothing could be judged."""
DRIFT = 0.05
"""A drift warns where the series is worse by more than this share, for certain."""
LONG_RUN = 7
"""Outliers in a row that are too many for a disturbance: they have no level."""
KNOWN = 2.0 / 3.0
"""Share of the results of a level that must not be outliers, for it to be known."""
SILENT_DAYS = 60.0
"""Days without a result after which a series counts as given up; until then it went silent."""


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; "pass" if there are none."""
    return min(verdicts, key=VERDICTS.index, default=PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The verdicts on the findings in a series.

    Times (``since``) are in the unit of `times`. A subclass with acknowledgements, or with another
    unit of time, overrides `is_known`, `is_known_drift`, `times` and `DAY`.

    Attributes
    ----------
    detection : Detection
    """

    DAY: ClassVar[float] = 1.0
    """A day in the unit of the times."""

    detection: Detection

    @property
    def times(self) -> Sequence[float]:
        """When the observations were made, ascending."""
        return self.detection.times

    @property
    def smaller_is_better(self) -> bool:
        """Whether a rise is for the worse."""
        return self.detection.smaller_is_better

    def is_known(self, change: ChangePoint) -> bool:
        """Tell whether a person has acknowledged a change."""
        return False

    def is_known_drift(self, trend: Trend) -> bool:
        """Tell whether a person has acknowledged a drift."""
        return False

    # Changes

    def is_worse(self, change: ChangePoint) -> bool:
        """Tell whether a change is for the worse: a rise where smaller is better, else a fall."""
        return (change.effect > 0.0) == self.smaller_is_better

    def is_undone(self, change: ChangePoint) -> bool:
        """Tell whether later changes, or a drift, recovered half of a change or more."""
        return self.detection.is_undone(change)

    def verdict_on(self, change: ChangePoint) -> str:
        """Return the verdict on a change.

        "fail" for a confirmed change for the worse, "warn" for one that is not yet confirmed,
        "pass" for all others: those for the better, those undone since, and those acknowledged.
        """
        if not self.is_worse(change) or self.is_undone(change) or self.is_known(change):
            return PASS
        return FAIL if change.confirmed else WARN

    def is_open(self, change: ChangePoint) -> bool:
        """Tell whether a change is for the worse, not undone and not acknowledged."""
        return self.verdict_on(change) != PASS

    def recent(self, since: float) -> tuple[ChangePoint, ...]:
        """Return the changes after a time, the newest first.

        A slowdown that was mostly undone after it, soon after it began, but not to the level
        before, belongs to them: without it, a spike would hide the slowdown that it leaves.
        """
        changes = self.detection.changes
        first = sum(self.times[change.index] <= since for change in changes)
        if 0 < first < len(changes):
            before, after = changes[first - 1], changes[first]
            soon = self.times[after.index] - self.times[before.index] <= RECENT * self.DAY
            if soon and not self.is_worse(after) and self.is_open(before):
                first -= 1
        return tuple(reversed(changes[first:]))

    def open_before(self, since: float) -> tuple[ChangePoint, ...]:
        """Return the open changes up to a time, the newest first; none of a series given up."""
        if self.was_given_up(since):
            return ()
        return tuple(
            change
            for change in reversed(self.detection.changes)
            if self.times[change.index] <= since
            and self.is_open(change)
            and change not in self.recent(since)
        )

    def is_suspected(self, since: float) -> bool:
        """Tell whether the method suspects a change after a time."""
        return any(self.times[place] > since for place in self.detection.suspects)

    # Drifts

    def drift(self, since: float) -> Trend | None:
        """Return the drift that goes on after a time; None if there is none."""
        trends = self.detection.trends
        if not trends or self.is_silent(since):
            return None
        return trends[-1] if trends[-1].stop == self.detection.observations else None

    def is_bad(self, trend: Trend) -> bool:
        """Tell whether a drift is for the worse by more than `DRIFT` in its whole interval."""
        low, high = trend.effect_interval
        # A loss where more is better counts as the share by which it would have to be made up.
        worse = low if self.smaller_is_better else -high / (1.0 + high)
        return worse > DRIFT

    def drifts_badly(self, since: float) -> bool:
        """Tell whether a drift for the worse goes on that nobody has acknowledged."""
        trend = self.drift(since)
        return trend is not None and self.is_bad(trend) and not self.is_known_drift(trend)

    def ended_drifts(self) -> tuple[Trend, ...]:
        """Return the drifts for the worse that have ended, and are neither undone nor known."""
        return tuple(
            trend
            for trend in self.detection.trends
            if trend.stop < self.detection.observations
            and self.is_bad(trend)
            and not self.detection.is_drift_undone(trend)
            and not self.is_known_drift(trend)
        )

    def recent_drifts(self, since: float) -> tuple[Trend, ...]:
        """Return the drifts for the worse that ended after a time, the newest first."""
        return tuple(
            trend for trend in reversed(self.ended_drifts()) if self.times[trend.stop - 1] > since
        )

    def open_drifts(self, since: float) -> tuple[Trend, ...]:
        """Return those that ended up to a time, the newest first; none of a series given up."""
        if self.was_given_up(since):
            return ()
        return tuple(
            trend for trend in reversed(self.ended_drifts()) if self.times[trend.stop - 1] <= since
        )

    # The series

    def is_silent(self, since: float) -> bool:
        """Tell whether there is no result after a time."""
        return bool(self.times[-1] <= since)

    def was_given_up(self, since: float) -> bool:
        """Tell whether a series had no result for `SILENT_DAYS` before a time either."""
        return self.is_silent(since - SILENT_DAYS * self.DAY)

    def is_unjudged(self, since: float) -> bool:
        """Tell whether the level after a time is unknown, because too many results are outliers."""
        found = self.detection
        return any(
            run.stop - run.start >= LONG_RUN and self.times[run.stop - 1] > since
            for run in found.outliers
        ) or any(
            each.n < KNOWN * (each.stop - each.start) and self.times[each.stop - 1] > since
            for each in found.regimes
        )

    def status(self, since: float) -> str:
        """Return the worst verdict on what happened after a time.

        The verdicts on its changes; "warn" for a suspected change and for a drift for the worse;
        "unknown" for a series that is too short to judge, has no result after that time, or whose
        last observations cannot be judged.
        """
        if self.detection.too_short or self.is_silent(since):
            return UNKNOWN
        verdicts = {self.verdict_on(change) for change in self.recent(since)}
        if self.is_suspected(since) or self.drifts_badly(since) or self.recent_drifts(since):
            verdicts.add(WARN)
        verdict = worst(verdicts)
        return UNKNOWN if verdict == PASS and self.is_unjudged(since) else verdict
