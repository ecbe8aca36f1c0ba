"""How one more night revises what was reported: seen, confirmed, moved, resized or withdrawn."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from msgspec import Meta

from hindmost.models.changepoint.changes import WITHIN, ChangePoint
from hindmost.models.changepoint.detection import Detection
from hindmost.text import number, p_words, percent, signed_percent

EventKind = Literal["seen", "confirmed", "moved", "resized", "withdrawn"]
SEEN: Final = "seen"
CONFIRMED: Final = "confirmed"
MOVED: Final = "moved"
RESIZED: Final = "resized"
WITHDRAWN: Final = "withdrawn"

Effect = Annotated[float, Meta(ge=-1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedChange:
    """A change as it was last reported.

    Attributes
    ----------
    time : float
        Of the first observation of the new level.
    interval : (float, float)
        Times between which the new level begins.
    effect : float
        Relative.
    effect_interval : (float, float)
    confirmed : bool
    """

    time: float
    interval: tuple[float, float]
    effect: Effect
    effect_interval: tuple[Effect, Effect]
    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The effect of one observation on what was reported.

    Attributes
    ----------
    kind : str
        "seen", "confirmed", "moved", "resized" or "withdrawn".
    time : float
        Of the observation that caused it.
    changed : float
        Time of the first observation of the new level, now or last.
    effect : float
        Relative, now or last.
    was : float or None
        The same time of a change that moved, before.
    reason : str
        In words; for a revision, why.
    """

    kind: EventKind
    time: float
    changed: float
    effect: Effect
    was: float | None = None
    reason: str

    @property
    def revises(self) -> bool:
        """Whether it corrects something that was reported before."""
        return self.kind in (MOVED, RESIZED, WITHDRAWN)


def places_of(verdict: ReportedChange, times: Sequence[float]) -> range:
    """Return the observations at which a reported change may begin now: runs may share a time."""
    first = min(bisect_left(times, verdict.time), len(times) - 1)
    return range(first, max(bisect_right(times, verdict.time), first + 1))


def pair(verdicts: Sequence[ReportedChange], detection: Detection) -> dict[int, int]:
    """Pair changes with the reported changes that they continue, the nearest first.

    Two are the same if they have the same direction, and are at most 2 observations apart or lie in
    each other's intervals.

    Returns
    -------
    dict
        Position of a change to that of the reported change.
    """
    near = []
    for v, verdict in enumerate(verdicts):
        places, (begin, end) = places_of(verdict, detection.times), verdict.interval
        for c, change in enumerate(detection.changes):
            first, last = change.interval
            apart = min(abs(change.index - place) for place in places)
            inside = begin <= change.time <= end and last >= places[0] and first <= places[-1]
            if change.effect * verdict.effect > 0.0 and (apart <= WITHIN or inside):
                near.append((apart, c, v))
    paired: dict[int, int] = {}
    for _, c, v in sorted(near):
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
    times = detection.times
    paired = pair(verdicts, detection)
    now, events = [], []
    for c, change in enumerate(detection.changes):
        old = verdicts[paired[c]] if c in paired else None
        now.append(
            ReportedChange(
                time=change.time,
                interval=(times[change.interval[0]], times[change.interval[1]]),
                effect=change.effect,
                effect_interval=change.effect_interval,
                confirmed=change.confirmed,
            )
        )
        events += [
            Event(
                kind=kind,
                time=times[-1],
                changed=change.time,
                effect=change.effect,
                was=old.time if old and kind == MOVED else None,
                reason=reason,
            )
            for kind, reason in differences(old, change)
        ]
    events += [
        Event(
            kind=WITHDRAWN,
            time=times[-1],
            changed=old.time,
            effect=old.effect,
            reason=why_withdrawn(places_of(old, times)[0], detection),
        )
        for v, old in enumerate(verdicts)
        if v not in paired.values()
    ]
    return now, events


def differences(old: ReportedChange | None, change: ChangePoint) -> list[tuple[EventKind, str]]:
    """Return how a change differs from what was reported, and why."""
    found: list[tuple[EventKind, str]] = []
    if old is None:
        words = f"{p_words(change.p_anywhere)}, {number(change.before)} to {number(change.after)}"
        found.append((SEEN, words))
    elif change.time != old.time:
        first, last = change.interval
        found.append((MOVED, f"with the new observations it lies in {first} to {last}"))
    if old and not old.effect_interval[0] <= change.effect <= old.effect_interval[1]:
        found.append(
            (
                RESIZED,
                f"it was reported as {signed_percent(old.effect, old.effect_interval)}, which the "
                "new observations contradict",
            )
        )
    if change.confirmed and not (old and old.confirmed):
        found.append((CONFIRMED, f"found in {change.seen} consecutive passes"))
    return found


def why_withdrawn(place: int, detection: Detection) -> str:
    """Return why a change that was reported at an observation is withdrawn."""
    for run in detection.outliers:
        if run.start - WITHIN <= place <= run.stop + WITHIN:
            return (
                "the values returned to the previous level: observations "
                f"{run.start} to {run.stop - 1} are now an outlier run"
            )
    for trend in detection.trends:
        if trend.start <= place < trend.stop:
            return (
                f"a straight line from observation {trend.start} to {trend.stop - 1} fits as well "
                "with fewer parameters: now a trend"
            )
    regime = next(r for r in detection.regimes if r.start <= place < r.stop)
    return (
        f"observations {regime.start} to {regime.stop - 1} are now one regime, at "
        f"{number(regime.mean)} with {percent(regime.deviation)} noise"
    )
