"""How one more night revises what was reported: seen, confirmed, moved, resized or withdrawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from msgspec import Meta

from hindmost.models.changepoint.changes import WITHIN, ChangePoint
from hindmost.models.changepoint.detection import Detection
from hindmost.models.significance import p_words
from hindmost.text import percent, signed_percent

EventKind = Literal["seen", "confirmed", "moved", "resized", "withdrawn"]
SEEN: Final = "seen"
CONFIRMED: Final = "confirmed"
MOVED: Final = "moved"
RESIZED: Final = "resized"
WITHDRAWN: Final = "withdrawn"

Place = Annotated[int, Meta(ge=0, description="the place of an observation in its series")]
Effect = Annotated[float, Meta(ge=-1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedChange:
    """A change as it was last reported.

    Attributes
    ----------
    index : int
        The first observation of the new level.
    interval : (int, int)
    effect : float
        Relative.
    effect_interval : (float, float)
    confirmed : bool
    since : int
        The observation at which it was first seen.
    """

    index: Place
    interval: tuple[Place, Place]
    effect: Effect
    effect_interval: tuple[Effect, Effect]
    confirmed: bool
    since: Place

    @classmethod
    def of(cls, change: ChangePoint, since: int) -> ReportedChange:
        """Return what is reported of a change."""
        return cls(
            index=change.index,
            interval=change.interval,
            effect=change.effect,
            effect_interval=change.effect_interval,
            confirmed=change.confirmed,
            since=since,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The effect of one observation on what was reported.

    Attributes
    ----------
    kind : str
        "seen", "confirmed", "moved", "resized" or "withdrawn".
    at : int
        The observation that caused it.
    time : float
        Of that observation.
    index : int
        The place of the change, now or last.
    effect : float
        Relative, now or last.
    was : int or None
        Where a change that moved was before.
    reason : str
        In words; for a revision, why.
    """

    kind: EventKind
    at: Place
    time: float
    index: Place
    effect: Effect
    was: Place | None = None
    reason: str

    @property
    def revises(self) -> bool:
        """Whether it corrects something that was reported before."""
        return self.kind in (MOVED, RESIZED, WITHDRAWN)

    def explain(self) -> str:
        """Return it in words."""
        what = f"{signed_percent(self.effect)} at observation {self.index}"
        return f"Observation {self.at}: change of {what} {self.kind}: {self.reason}."


def pair(verdicts: Sequence[ReportedChange], changes: Sequence[ChangePoint]) -> dict[int, int]:
    """Pair changes with the reported changes that they continue, the nearest first.

    Two are the same if they have the same direction, and are at most 2 observations apart or lie in
    each other's intervals.

    Returns
    -------
    dict
        Position of a change to that of the reported change.
    """
    near = sorted(
        (abs(change.index - verdict.index), c, v)
        for c, change in enumerate(changes)
        for v, verdict in enumerate(verdicts)
        if change.effect * verdict.effect > 0.0
        and (
            abs(change.index - verdict.index) <= WITHIN
            or (
                change.interval[0] <= verdict.index <= change.interval[1]
                and verdict.interval[0] <= change.index <= verdict.interval[1]
            )
        )
    )
    paired: dict[int, int] = {}
    for _, c, v in near:
        if c not in paired and v not in paired.values():
            paired[c] = v
    return paired


def compare_with_reported(
    verdicts: Sequence[ReportedChange], detection: Detection
) -> tuple[list[ReportedChange], list[Event]]:
    """Compare what was reported with what is found now.

    Parameters
    ----------
    verdicts : sequence of ReportedChange
    detection : Detection
        Of all observations so far.

    Returns
    -------
    list of ReportedChange
        As they are reported now.
    list of Event
        All differences.
    """
    at = detection.observations - 1
    time = detection.times[-1]
    paired = pair(verdicts, detection.changes)
    now, events = [], []
    for c, change in enumerate(detection.changes):
        old = verdicts[paired[c]] if c in paired else None
        now.append(ReportedChange.of(change, old.since if old else at))
        for kind, reason in differences(old, change):
            events.append(
                Event(
                    kind=kind,
                    at=at,
                    time=time,
                    index=change.index,
                    effect=change.effect,
                    was=old.index if old and kind == MOVED else None,
                    reason=reason,
                )
            )
    for v, old in enumerate(verdicts):
        if v not in paired.values():
            events.append(
                Event(
                    kind=WITHDRAWN,
                    at=at,
                    time=time,
                    index=old.index,
                    effect=old.effect,
                    reason=why_withdrawn(old, detection),
                )
            )
    return now, events


def differences(old: ReportedChange | None, change: ChangePoint) -> list[tuple[EventKind, str]]:
    """Return how a change differs from what was reported, and why."""
    if old is None:
        words = f"{p_words(change.p_value)}, {change.before:.4g} to {change.after:.4g}"
        return [(SEEN, words), *(confirmation(change) if change.confirmed else ())]
    found: list[tuple[EventKind, str]] = []
    if change.index != old.index:
        found.append(
            (
                MOVED,
                f"it was reported at observation {old.index}; with the new observations it lies in "
                f"{change.interval[0]} to {change.interval[1]}",
            )
        )
    low, high = old.effect_interval
    if not low <= change.effect <= high:
        found.append(
            (
                RESIZED,
                f"it was reported as {signed_percent(old.effect, old.effect_interval)}, which the "
                "new observations contradict",
            )
        )
    if change.confirmed and not old.confirmed:
        found += confirmation(change)
    return found


def confirmation(change: ChangePoint) -> list[tuple[EventKind, str]]:
    """Return the event that confirms a change, and why."""
    return [(CONFIRMED, f"found in {change.seen} consecutive passes")]


def why_withdrawn(old: ReportedChange, detection: Detection) -> str:
    """Return why a reported change is withdrawn."""
    for run in detection.outliers:
        if run.start - WITHIN <= old.index <= run.stop + WITHIN:
            return (
                "the values returned to the previous level: observations "
                f"{run.start} to {run.stop - 1} are now an outlier run"
            )
    for trend in detection.trends:
        if trend.start <= old.index < trend.stop:
            return (
                f"a straight line from observation {trend.start} to {trend.stop - 1} fits as well "
                "with fewer parameters: now a trend"
            )
    regime = next(r for r in detection.regimes if r.start <= old.index < r.stop)
    return (
        f"observations {regime.start} to {regime.stop - 1} are now one regime, at "
        f"{regime.mean:.4g} with {percent(regime.deviation)} noise"
    )
