"""What one night more does to verdicts: seen, confirmed, moved, resized, withdrawn; and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.models.changepoint.results import Change, Detection
from hindmost.models.significance import p_words

SEEN, CONFIRMED, MOVED, RESIZED, WITHDRAWN = "seen", "confirmed", "moved", "resized", "withdrawn"
KINDS = (SEEN, CONFIRMED, MOVED, RESIZED, WITHDRAWN)
WITHIN = 2
"""Observations that a verdict may move and still be the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A change as it was last told.

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
        The observation that it was first seen at.
    """

    index: int
    interval: tuple[int, int]
    effect: float
    effect_interval: tuple[float, float]
    confirmed: bool
    since: int

    @classmethod
    def of(cls, change: Change, since: int) -> Verdict:
        """Return what is told of a change."""
        return cls(
            index=change.index,
            interval=change.interval,
            effect=change.effect,
            effect_interval=change.effect_interval,
            confirmed=change.confirmed,
            since=since,
        )

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Verdict:
        """Read what `to_json` wrote."""
        return cls(
            **{
                **record,
                "interval": tuple(record["interval"]),
                "effect_interval": tuple(record["effect_interval"]),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {  # asdict copies every value, and a history has thousands of verdicts
            "index": self.index,
            "interval": list(self.interval),
            "effect": self.effect,
            "effect_interval": list(self.effect_interval),
            "confirmed": self.confirmed,
            "since": self.since,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one observation changed.

    Attributes
    ----------
    kind : str
        "seen", "confirmed", "moved", "resized" or "withdrawn".
    at : int
        The observation that made it so.
    time : float
        Of that observation.
    index : int
        The change, where it is now, or was last.
    effect : float
        Relative, as it is now, or was last.
    was : int or None
        Where a change that moved was before.
    reason : str
        In words; for a revision, why.
    """

    kind: str
    at: int
    time: float
    index: int
    effect: float
    was: int | None = None
    reason: str

    @property
    def revises(self) -> bool:
        """Whether something told before holds no longer."""
        return self.kind in (MOVED, RESIZED, WITHDRAWN)

    def explain(self) -> str:
        """Return it in words."""
        what = f"{100.0 * self.effect:+.1f} % at observation {self.index}"
        return f"Observation {self.at}: change of {what} {self.kind}; {self.reason}."

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "kind": self.kind,
            "at": self.at,
            "time": self.time,
            "index": self.index,
            "effect": self.effect,
            "was": self.was,
            "reason": self.reason,
        }


def pair(verdicts: Sequence[Verdict], changes: Sequence[Change]) -> dict[int, int]:
    """Find the verdicts that changes go on with, the nearest first.

    They are the same when they are 2 observations apart or less, or each lies in the other's
    interval, and go in the same direction.

    Returns
    -------
    dict
        From the place of a change to that of its verdict.
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


def compare_verdicts(
    verdicts: Sequence[Verdict], detection: Detection
) -> tuple[list[Verdict], list[Event]]:
    """Hold what was told against what is found now.

    Parameters
    ----------
    verdicts : sequence of Verdict
    detection : Detection
        Of all observations so far.

    Returns
    -------
    list of Verdict
        As they are now.
    list of Event
        All differences.
    """
    at = detection.observations - 1
    time = detection.times[-1]
    paired = pair(verdicts, detection.changes)
    now, events = [], []
    for c, change in enumerate(detection.changes):
        old = verdicts[paired[c]] if c in paired else None
        now.append(Verdict.of(change, old.since if old else at))
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


def differences(old: Verdict | None, change: Change) -> list[tuple[str, str]]:
    """Tell in what a change differs from its verdict, and why."""
    if old is None:
        found = [(SEEN, f"{p_words(change.p_value)}, {change.before:.4g} to {change.after:.4g}")]
        return [*found, *confirmation(change)] if change.confirmed else found
    told = []
    if change.index != old.index:
        told.append(
            (
                MOVED,
                f"it was told to begin at observation {old.index}, and with those since it lies in "
                f"{change.interval[0]} to {change.interval[1]}",
            )
        )
    low, high = old.effect_interval
    if not low <= change.effect <= high:
        told.append(
            (
                RESIZED,
                f"it was told to be {100.0 * old.effect:+.1f} % ({100.0 * low:+.1f} to "
                f"{100.0 * high:+.1f} %), and the observations since lie elsewhere",
            )
        )
    if change.confirmed and not old.confirmed:
        told += confirmation(change)
    return told


def confirmation(change: Change) -> list[tuple[str, str]]:
    """Say by what a change is confirmed."""
    return [(CONFIRMED, f"{change.seen} passes in a row have it")]


def why_withdrawn(old: Verdict, detection: Detection) -> str:
    """Say why a verdict holds no longer."""
    for run in detection.outliers:
        if run.start - WITHIN <= old.index <= run.stop + WITHIN:
            return (
                "the times came back to the level before: observations "
                f"{run.start} to {run.stop - 1} are an outlier run now"
            )
    for trend in detection.trends:
        if trend.start <= old.index < trend.stop:
            return (
                f"a straight line from observation {trend.start} to {trend.stop - 1} says the same "
                "with fewer numbers: a trend now"
            )
    for change in detection.changes:
        first, last = sorted((old.index, change.index))
        if last - first <= max(old.interval[1] - old.interval[0], 5 * WITHIN):
            return (
                f"the change at observation {change.index} ({100.0 * change.effect:+.1f} %) "
                "explains the same observations better now"
            )
    regime = next(r for r in detection.regimes if r.start <= old.index < r.stop)
    if regime.switching:
        return (
            f"observations {regime.start} to {regime.stop - 1} switch between two levels again and "
            "again: one regime now, with two modes"
        )
    return (
        f"the observations since lie on both levels: {regime.start} to {regime.stop - 1} are one "
        f"regime now, of {regime.mean:.4g} with {100.0 * regime.deviation:.1f} % of noise"
    )
