"""What a method finds: changes, regimes, outlier runs and trends, and their verdict in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.models.significance import p_words

Labels = Sequence[Any]
PASS, WARN, FAIL = "pass", "warn", "fail"
RECENT = 10.0
UNDONE = 0.5
"""A slowdown is undone when the last level lies below this share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A step from one level to another.

    Attributes
    ----------
    index : int
        The first observation of the new level.
    time : float
        In the unit of the times that were given, or the index.
    interval : (int, int)
        The first observation of the new level lies in it, at ``level``.
    level : float
        Of the intervals.
    before, after : float, seconds
        Levels on both sides, as medians of lognormal noise.
    effect : float
        Relative: 0.1 for 10 % slower.
    effect_interval : (float, float)
    p_value : float
        Of the test of both levels at this place, which was looked for: see ``p_anywhere``.
    p_anywhere : float
        The same, times the number of places that there were (Bonferroni).
    seen : int
        How many of the last passes in a row have it, up to ``needed``; a change that is more than
        15 observations old is taken for one that was seen before.
    needed : int
        Passes that confirm it.
    """

    index: int
    time: float
    interval: tuple[int, int]
    level: float
    before: float
    after: float
    effect: float
    effect_interval: tuple[float, float]
    p_value: float
    p_anywhere: float
    seen: int
    needed: int

    @property
    def confirmed(self) -> bool:
        """Whether enough passes in a row have it."""
        return self.seen >= self.needed

    @property
    def verdict(self) -> str:
        """What it is: "step"."""
        return "step"

    def explain(self) -> str:
        """Return it in words."""
        factor = max(self.after, self.before) / min(self.after, self.before)
        low, high = (100.0 * end for end in self.effect_interval)
        first, last = self.interval
        where = f"at observation {first}" if first == last else f"in observations {first} to {last}"
        state = "confirmed" if self.confirmed else f"seen {self.seen} of {self.needed} times"
        return (
            f"{factor:.3g}x {'slower' if self.effect > 0 else 'faster'} from observation "
            f"{self.index} on: {self.before:.4g} s to {self.after:.4g} s, "
            f"{100.0 * self.effect:+.1f} % ({low:+.1f} to {high:+.1f} %); {p_words(self.p_value)}; "
            f"the change lies {where} ({100.0 * self.level:g} %); {state}."
        )

    def to_json(self, labels: Labels) -> dict[str, Any]:
        """Return it under the keys of the ``history`` contract; labels are those of all nights."""
        return {
            "date": labels[self.index],
            "dates": [labels[place] for place in self.interval],
            "before": self.before,
            "after": self.after,
            "effect_percent": 100.0 * self.effect,
            "effect_interval_percent": [100.0 * end for end in self.effect_interval],
            "p_value": self.p_value,
            "p_anywhere": self.p_anywhere,
            "verdict": self.verdict,
            "index": self.index,
            "confirmed": self.confirmed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Observations between two changes.

    Attributes
    ----------
    start, stop : int
        The stop is not in it.
    mean : float, seconds
        The level; of a trend, that in its middle.
    interval : (float, float), seconds
        Of the mean.
    n : int
        Observations that are no outliers.
    deviation : float
        Relative standard deviation of the noise.
    freedom : float
        Degrees of freedom of Student's law that the interval is of.
    trend : bool
        Whether it is a straight line.
    switching : bool
        Whether it switches between two levels again and again: the mean is that of both.
    """

    start: int
    stop: int
    mean: float
    interval: tuple[float, float]
    n: int
    deviation: float
    freedom: float
    trend: bool = False
    switching: bool = False

    def to_json(self, labels: Labels) -> dict[str, Any]:
        """Return its figures."""
        return {
            "dates": [labels[self.start], labels[self.stop - 1]],
            "start": self.start,
            "stop": self.stop,
            "mean": self.mean,
            "interval": list(self.interval),
            "observations": self.n,
            "deviation": self.deviation,
            "trend": self.trend,
            "switching": self.switching,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierRun:
    """Nights off a level that they come back to.

    Attributes
    ----------
    start, stop : int
        The stop is not in it.
    effect : float
        Relative to the level around it.
    """

    start: int
    stop: int
    effect: float

    def explain(self) -> str:
        """Return it in words."""
        nights = self.stop - self.start
        many = f"Observations {self.start} to {self.stop - 1}"
        return (
            f"{f'Observation {self.start}' if nights == 1 else many} "
            f"{'lies' if nights == 1 else 'lie'} {100.0 * self.effect:+.0f} % off the level around."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A drift along a straight line of the logarithm.

    Attributes
    ----------
    start, stop : int
        The stop is not in it.
    effect : float
        Relative, from its first to its last observation.
    effect_interval : (float, float)
    p_value : float
    """

    start: int
    stop: int
    effect: float
    effect_interval: tuple[float, float]
    p_value: float

    def explain(self) -> str:
        """Return it in words."""
        low, high = (100.0 * end for end in self.effect_interval)
        return (
            f"Drifts by {100.0 * self.effect:+.1f} % ({low:+.1f} to {high:+.1f} %) from "
            f"observation {self.start} to {self.stop - 1}."
        )

    def to_json(self, labels: Labels) -> dict[str, Any]:
        """Return its figures."""
        return {
            "dates": [labels[self.start], labels[self.stop - 1]],
            "effect_percent": 100.0 * self.effect,
            "effect_interval_percent": [100.0 * end for end in self.effect_interval],
            "p_value": self.p_value,
            "verdict": "trend",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What a method says of a series.

    Attributes
    ----------
    method : str
    observations : int
    times : tuple of float
        Those given, or the indices.
    changes : tuple of Change
    regimes : tuple of Regime
    outliers : tuple of OutlierRun
    trends : tuple of Trend
    suspects : tuple of int
        Places that may become changes: seen, but by too few passes (the report's method).
    correlation : float
        AR(1) coefficient of the noise.
    too_short : int
        0, or the observations that the method needs where there are fewer.
    """

    method: str
    observations: int
    times: tuple[float, ...]
    changes: tuple[Change, ...] = ()
    regimes: tuple[Regime, ...] = ()
    outliers: tuple[OutlierRun, ...] = ()
    trends: tuple[Trend, ...] = ()
    suspects: tuple[int, ...] = ()
    correlation: float = 0.0
    too_short: int = 0

    def recent(self, last: float = RECENT) -> tuple[Change, ...]:
        """Return the changes of the last days (of the times, or observations), newest first."""
        since = self.times[-1] - last
        return tuple(change for change in reversed(self.changes) if change.time > since)

    def status(self, last: float = RECENT) -> str:
        """Return "fail" for a confirmed slowdown in the last days, "warn" for one seen, or "pass".

        A slowdown that later changes have undone by more than half fails no longer.
        """
        slower = [
            change
            for change in self.recent(last)
            if change.effect > 0.0
            and self.changes[-1].after > change.before * (1.0 + UNDONE * change.effect)
        ]
        if any(change.confirmed for change in slower):
            return FAIL
        since = self.times[-1] - last
        suspected = any(self.times[place] > since for place in self.suspects)
        return WARN if slower or suspected else PASS

    def explain(self) -> str:
        """Return all findings in words, one a line."""
        if self.too_short:
            return (
                f"Too short to tell: {self.observations} observations, and at least "
                f"{self.too_short} are needed."
            )
        lines = [
            *(change.explain() for change in self.changes),
            *(trend.explain() for trend in self.trends),
            *(
                f"Observations {each.start} to {each.stop - 1} switch between two levels."
                for each in self.regimes
                if each.switching
            ),
            *(run.explain() for run in self.outliers),
        ]
        if not self.changes and not self.trends:
            lines.insert(0, f"No change in {self.observations} observations.")
        return "\n".join(lines)

    def to_json(self, labels: Labels | None = None) -> dict[str, Any]:
        """Return the findings under the keys of the ``history`` contract.

        Parameters
        ----------
        labels : sequence, shape (observation,), optional
            What to call the observations, such as ISO dates; the times without it.
        """
        names = list(self.times) if labels is None else list(labels)
        return {
            "method": self.method,
            "observations": self.observations,
            "changes": [change.to_json(names) for change in self.changes],
            "outliers": [
                names[place] for run in self.outliers for place in range(run.start, run.stop)
            ],
            "trend": self.trends[-1].to_json(names) if self.trends else None,
            "trends": [trend.to_json(names) for trend in self.trends],
            "regimes": [regime.to_json(names) for regime in self.regimes],
            "too_short": self.too_short,
            "status": self.status(),
        }


def relative(log_difference: float) -> float:
    """Return the relative change of a difference of logarithms."""
    return math.expm1(min(log_difference, 700.0))
