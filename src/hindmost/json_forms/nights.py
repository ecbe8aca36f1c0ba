"""The forms of nightly results and comparisons."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hindmost.analysis.runs.finding import Finding
from hindmost.json_forms.finding import Interval, Text


class Change(TypedDict):
    """A step; dates are those between which it happened."""

    date: str
    dates: tuple[str, str]
    before: float
    after: float
    effect_percent: float
    effect_interval_percent: Interval
    p_value: float
    p_anywhere: float
    verdict: str
    index: int
    confirmed: bool


class JudgedChange(Change):
    """A change with its verdict, acknowledgement and commits."""

    badge: str
    open: bool
    known: Text
    commits: list[str]


class OpenChange(TypedDict):
    """An old slowdown or drift that neither recovered nor was acknowledged."""

    machine: str
    case: str
    timer: str
    date: str
    dates: tuple[str, str]
    before: float
    after: float
    effect_percent: float
    effect_interval_percent: Interval
    p_value: float
    p_anywhere: NotRequired[float]
    verdict: str
    index: NotRequired[int]
    confirmed: NotRequired[bool]
    badge: str


class Regime(TypedDict):
    """Observations between two changes."""

    dates: tuple[str, str]
    start: int
    stop: int
    mean: float
    interval: Interval
    observations: int
    deviation: float
    trend: bool
    switching: bool


class Drift(TypedDict):
    """A trend along a straight line of the logarithm."""

    dates: tuple[str, str]
    effect_percent: float
    effect_interval_percent: Interval
    p_value: float
    verdict: str


class Series(TypedDict):
    """A series of nightly results with what was found in it."""

    file: str
    machine: str
    case: str
    timer: str
    unit: str
    smaller_is_better: bool
    method: str
    observations: int
    changes: list[JudgedChange]
    outliers: list[str]
    trend: Drift | None
    trends: list[Drift]
    regimes: list[Regime]
    level_now: float
    too_short: int
    status: str
    last: str
    nights: int
    log: list[dict[str, Any]]


class Refused(TypedDict):
    """A series that cannot be judged, and why."""

    machine: str
    case: str
    timer: str
    reason: str


class SilentCase(TypedDict):
    """A case without recent results."""

    machine: str
    case: str
    last: str


class Failure(TypedDict):
    """A failed run."""

    date: str
    machine: str
    case: str
    reason: str
    file: str


class History(TypedDict):
    """What ``hindmost history --json`` prints."""

    version: int
    method: str
    status: str
    since: str
    until: str
    least_change_percent: float
    settings: dict[str, Any]
    open: list[OpenChange]
    silent_cases: list[SilentCase]
    silent_machines: dict[str, str]
    series: list[Series]
    refused: list[Refused]
    failures: list[Failure]
    parents: dict[str, str]
    warnings: list[str]


class SeriesName(TypedDict):
    """Machine, case and timer."""

    machine: str
    case: str
    timer: str


class RatioChange(TypedDict):
    """A change of a ratio."""

    date: str
    dates: tuple[str, str]
    before: float
    after: float
    p_value: float
    confirmed: bool


class ComparedSeries(SeriesName):
    """The ratio of the first to the second time of a series."""

    second: SeriesName
    unit: str
    smaller_is_better: bool
    observations: tuple[int, int]
    paired_by: str
    ratio: float
    interval: Interval | None
    level: float
    p_value: float
    p_adjusted: float
    significant: bool
    correlation: float
    words: str
    since: Text
    drift: dict[str, float] | None
    ratio_changes: list[RatioChange]
    outliers: list[str]


class Compare(TypedDict):
    """What ``hindmost compare --json`` prints."""

    version: int
    first: str
    second: str
    level: float
    summary: str
    series: list[ComparedSeries]
    only_first: list[str]
    only_second: list[str]
    other_units: list[str]
    beyond: list[str]
    unconfirmed: list[str]
    not_judged: list[str]
    findings: list[Finding]
