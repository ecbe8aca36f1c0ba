"""The forms of scaling experiments."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from hindmost.analysis.runs.finding import Finding
from hindmost.json_forms.finding import Interval, Text
from hindmost.models.pmnf.noise import Noise


class Misfit(TypedDict):
    """Where a model is off, by what share, and by how many standard errors."""

    at: list[float]
    off: float
    standard_errors: float


class Scores(TypedDict):
    """How well a model fits."""

    smape: float
    adjusted_r2: float
    misfit: Misfit | None


class Term(TypedDict):
    """A coefficient, and for each parameter the exponents of it and of its logarithm."""

    coefficient: float
    exponents: dict[str, tuple[float, float]]


class Model(TypedDict):
    """A function of the parameters; without expression if points are too few for one."""

    range: Any
    expression: Text
    constant: NotRequired[float]
    terms: list[Term]
    scores: Scores | None
    points: NotRequired[int]
    provisional: NotRequired[bool]


class BehaviourChange(TypedDict):
    """Where the behaviour changes."""

    range: Interval
    likely: Interval
    parameter: str


class Source(TypedDict):
    """What a prediction comes from, and its weight."""

    source: str
    weight: float


class RunnerUp(TypedDict):
    """An alternative function, and by how much its criterion is worse."""

    expression: str
    behind: float


class Kernel(TypedDict):
    """One metric of one kernel, modelled."""

    kernel: str
    metric: str
    unit: str
    segmented: bool
    verdict: str
    change: Interval | None
    changes: list[BehaviourChange]
    segments: list[Model]
    whole: Model
    scores: Scores | None
    predicted: float
    interval: Interval
    prediction_from: list[Source]
    model_predicts: float
    disagreement: Text
    share: float
    growth: float
    noise: Noise
    windows: dict[str, Any] | None
    runners_up: list[RunnerUp]
    explanation: str
    doubts: list[str]
    advice: str


class WorseGrowth(TypedDict):
    """A kernel that grows worse than expected."""

    kernel: str
    metric: str
    expected: str
    found: str
    parameters: list[str]
    expected_growth: float
    growth: float
    growth_at_least: float
    text: str


class Scale(TypedDict):
    """What ``hindmost scale --json`` prints."""

    version: int
    source: str
    parameters: list[str]
    method: str
    space: str
    target: dict[str, float]
    largest: dict[str, float]
    level: float
    models: list[Kernel]
    held_out: list[dict[str, Any]]
    findings: list[WorseGrowth]
    warnings: list[str]
    run_findings: list[Finding]
