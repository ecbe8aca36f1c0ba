"""The findings in a series: changes, regimes, outlier runs, small shifts and trends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.models.inference import MAX_LOG
from hindmost.text import number, p_words, signed_percent

OF_TIMES, OF_OTHERS = ("slower", "faster"), ("larger", "smaller")
WITHIN = 2
"""Observations by which a change may move from one pass to the next and still be the same."""


def more_and_less(unit: str) -> tuple[str, str]:
    """Return the words for a value that rose and for one that fell.

    Parameters
    ----------
    unit : str
        Of the values: ``s`` for times, empty where it is unknown.
    """
    return OF_TIMES if unit == "s" else OF_OTHERS


def relative(log_difference: float) -> float:
    """Return the relative change that a difference of logarithms stands for."""
    return math.expm1(min(log_difference, MAX_LOG))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A relative difference of two levels: 0.1 for +10 %.

    Attributes
    ----------
    before, after : float, seconds
        Levels on both sides of a step, or at both ends of a drift, as medians of lognormal noise.
    effect : float
        Relative.
    effect_interval : (float, float)
    p_value : float
        Of the test at this place.
    p_anywhere : float
        The same, times the number of places that were searched for it (Bonferroni): what is
        printed.
    """

    before: float
    after: float
    effect: float
    effect_interval: tuple[float, float]
    p_value: float
    p_anywhere: float = 1.0

    @property
    def effect_percent(self) -> float:
        """The effect in percent."""
        return 100.0 * self.effect

    @property
    def effect_interval_percent(self) -> tuple[float, float]:
        """The ends of its interval in percent."""
        low, high = self.effect_interval
        return 100.0 * low, 100.0 * high


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint(Effect):
    """A step from one level to another, as `robust.method.change_of` finds it.

    Attributes
    ----------
    index : int
        The first observation of the new level.
    time : float
        In the unit of the times that were given, or the index.
    interval : (int, int)
        Contains the first observation of the new level with probability ``level``.
    level : float
        Probability of the intervals.
    seen : int
        Number of the last consecutive passes that find it, up to ``needed``; older changes count as
        confirmed.
    needed : int
        Number of passes that confirm it.
    by_chance : bool
        Whether so many series are judged together that one of them may show it by chance.
    """

    index: int
    time: float
    interval: tuple[int, int]
    level: float
    seen: int
    needed: int
    by_chance: bool = False

    JSON = (
        "before after effect_percent effect_interval_percent p_value p_anywhere verdict index "
        "confirmed by_chance"
    )

    @property
    def confirmed(self) -> bool:
        """Whether enough consecutive passes find it, and chance does not explain it."""
        return self.seen >= self.needed and not self.by_chance

    @property
    def last(self) -> int:
        """The observation with which it is complete: the first of the new level."""
        return self.index

    def explain(self) -> str:
        """Return it in words."""
        first, last = self.interval
        state = "confirmed" if self.confirmed else self.progress
        return (
            f"{signed_percent(self.effect, self.effect_interval)} from observation {self.index} "
            f"({first} to {last}) on: {number(self.before)} to {number(self.after)}; "
            f"{p_words(self.p_anywhere)}; {state}."
        )

    @property
    def progress(self) -> str:
        """What it still lacks to be confirmed, in words."""
        if self.by_chance:
            return "among so many series, one may show this by chance"
        return f"found on {self.seen} of {self.needed} consecutive nights"

    @property
    def verdict(self) -> str:
        """The kind of change: "step"."""
        return "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump(ChangePoint):
    """The newest observations far from the level, too few to tell a step from outliers.

    ``seen`` and ``needed`` count nights.

    Attributes
    ----------
    precedents : int
        Earlier runs of outliers as far off, in the same direction: these returned to the level.
    """

    precedents: int

    JSON = f"{ChangePoint.JSON} nights=seen needed"

    @property
    def confirmed(self) -> bool:
        """Never: it may still be an outlier."""
        return False

    @property
    def progress(self) -> str:
        """What it still lacks to be confirmed, in words."""
        words = f"on {self.seen} of {self.needed} nights"
        if self.precedents:
            runs = "run" if self.precedents == 1 else "runs"
            words = f"{words}; {self.precedents} earlier {runs} as far off returned"
        return words

    @property
    def verdict(self) -> str:
        """The kind of change: "jump"."""
        return "jump"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Observations between two changes.

    Attributes
    ----------
    start, stop : int
        The stop is not in it.
    mean : float, seconds
        The level; for a trend, that in its middle.
    interval : (float, float), seconds
        Of the mean.
    n : int
        Observations that the level is estimated from: without outliers, and without those almost as
        far off.
    deviation : float
        Relative standard deviation of the noise.
    freedom : float
        Degrees of freedom of Student's law in the interval.
    trend : bool
        Whether it is a straight line.
    switching : bool
        Whether it switches between two levels again and again; the mean is that of both.
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

    JSON = "start stop mean interval observations=n deviation trend switching"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierRun:
    """Observations that leave the level and return to it.

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
        effect = signed_percent(self.effect, decimals=0)
        return f"Outliers: observations {self.start} to {self.stop - 1}, {effect} off the level."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend(Effect):
    """A drift along a straight line of the logarithm, from its first to its last observation.

    Attributes
    ----------
    start, stop : int
        The stop is not in it.
    """

    start: int
    stop: int

    JSON = "before after effect_percent effect_interval_percent p_value p_anywhere verdict"

    @property
    def index(self) -> int:
        """Its first observation."""
        return self.start

    @property
    def last(self) -> int:
        """Its last observation."""
        return self.stop - 1

    @property
    def interval(self) -> tuple[int, int]:
        """Its first and its last observation."""
        return self.start, self.stop - 1

    @property
    def verdict(self) -> str:
        """What it is called."""
        return "trend"

    def explain(self) -> str:
        """Return it in words."""
        return (
            f"Drifts by {signed_percent(self.effect, self.effect_interval)} from "
            f"observation {self.start} to {self.stop - 1}."
        )


Finding = ChangePoint | Trend
"""A step or a drift: what has a verdict."""
